//! A page over a store of its own, with simulated tools.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use planwright::Planwright;
use planwright::core::check::Policy;
use planwright::core::{Catalog, Value as PlanValue};
use planwright::engine::backend::Simulated;
use planwright::engine::{Backends, RunId, RunOptions, SecretValues};
use planwright::format::ToolSourcesV1;
use planwright::planner::dates::{Now, Zone};
use planwright::service::{RunSpec, RunStorage, Tools};
use planwright::store::{LeaseHolder, Store};
use planwright::stored::{NewStoredRun, StoredRun};
use planwright_testkit::http_wire::{HttpRequest, HttpResponse};
use planwright_web::{
    Access, OpenRevert, OpenTools, Page, PageSettings, PageToken, PageTools, ToolsError,
    ToolsGuard, ViewAnswer, ViewRequest,
};
use serde_json::{Value, json};

/// The script of the tools: one that reads, and one that asks first.
const SCRIPT: &str = r#"{"tools": {
    "bank.balance": {
        "input_schema": {"type": "object", "properties": {"of": {"type": "string"}}},
        "output_schema": {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]},
        "returns": {"amount": 12}
    },
    "bank.pay": {
        "description": "Sends money.",
        "approval": true,
        "annotations": {"destructiveHint": true},
        "input_schema": {"type": "object", "properties": {"to": {"type": "string"}, "amount": {"type": "integer"}}, "required": ["to", "amount"]},
        "returns": "paid"
    },
    "bank.fail": {"fails": {"message": "<script>alert(1)</script>"}}
}}"#;

/// A plan whose last step waits for a person.
pub(crate) const PAY: &str = r#"{"name": "rent", "steps": [
    {"id": "balance", "tool": "bank.balance", "args": {"of": "ada"}},
    {"id": "pay", "tool": "bank.pay", "args": {"to": "bob", "amount": "${balance.amount}"}}
]}"#;

/// A page that is served.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) service: Planwright,
    pub(crate) address: SocketAddr,
    pub(crate) page: Page,
    pub(crate) token: String,
    pub(crate) opened: Arc<OpenedTools>,
    session: Session,
    runtime: tokio::runtime::Runtime,
    folder: tempfile::TempDir,
}

impl World {
    /// A page for the owner, who has a session.
    pub(crate) fn new() -> Self {
        let token = PageToken::random().unwrap();
        let text = token.as_str().to_owned();
        Self::with_access(Access::Owner(token), &text)
    }

    /// A page for the parties of `access`; the session is that of `token`.
    pub(crate) fn with_access(access: Access, token: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("runs.db")).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let service = service(SCRIPT).with_store(&store);
        let opened = Arc::<OpenedTools>::default();
        let settings = PageSettings {
            service: service.clone(),
            store: store.clone(),
            requires_passphrase: false,
            tools: Arc::new(ScriptTools(store.clone(), Arc::clone(&opened))),
            person: Some("ada".to_owned()),
            now,
            code_page: |name| (name == "PW0201").then_some("# A code\n\nIts meaning."),
            mark_flow: Arc::new(|_, _, _| {}),
            today: Arc::new(|| Now::at(Duration::from_secs(1_760_000_000), &Zone::utc())),
        };
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"));
        let listener = listener.unwrap();
        let address = listener.local_addr().unwrap();
        let page = Page::new(settings, access, address.port());
        runtime.spawn(page.watch());
        let router = page.router();
        runtime.spawn(async move { axum::serve(listener, router).await });
        let mut world = Self {
            store,
            service,
            address,
            page,
            token: token.to_owned(),
            opened,
            session: Session::default(),
            runtime,
            folder,
        };
        world.session = world.log_in(token);
        world
    }

    /// Exchanges a token for a session.
    pub(crate) fn log_in(&self, token: &str) -> Session {
        let response = self
            .request("session", &json!({"token": token}))
            .header("origin", &self.origin())
            .send();
        assert_eq!(response.status(), 200);
        let cookie = response.header("set-cookie").unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let (_, body) = answered(response);
        let key = body["key"].as_str().unwrap().to_owned();
        Session { cookie, key }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A write without a session and without an origin.
    pub(crate) fn request(&self, path: &str, body: &Value) -> HttpRequest {
        HttpRequest::post(&format!("{}/api/{path}", self.origin()), body)
    }

    /// A read without a session.
    pub(crate) fn read(&self, path: &str) -> HttpRequest {
        HttpRequest::get(&format!("{}/api/{path}", self.origin()))
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Opens the stream of events at `path`, with the session.
    pub(crate) fn events(&self, path: &str) -> HttpResponse {
        self.session.sign(self.read(path)).send()
    }

    /// Reads with the session.
    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        self.get_as(&self.session, path)
    }

    pub(crate) fn get_as(&self, session: &Session, path: &str) -> (u16, Value) {
        answered(session.sign(self.read(path)).send())
    }

    /// Writes with the session.
    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.post_as(&self.session, path, body)
    }

    pub(crate) fn post_as(&self, session: &Session, path: &str, body: &Value) -> (u16, Value) {
        let request = self.request(path, body).header("origin", &self.origin());
        answered(session.sign(request).send())
    }

    /// Changes the file of the store as no process of Planwright does.
    pub(crate) fn sql(&self, statement: &str) {
        let script = "import sqlite3, sys\nstore = sqlite3.connect(sys.argv[1])\nassert store.execute(sys.argv[2]).rowcount == 1\nstore.commit()";
        let store = self.folder.path().join("runs.db");
        let mut python = std::process::Command::new("python3");
        let changed = python.args(["-c", script]).arg(store).arg(statement);
        assert!(changed.status().unwrap().success());
    }

    /// Ends the runs of the page.
    pub(crate) fn drain(&self) {
        self.runtime.block_on(self.page.drain(Duration::ZERO));
    }

    /// Runs a plan to its end, for `client`.
    pub(crate) fn run(&self, plan: &str, id: &str, client: Option<&str>) -> RunId {
        let id: RunId = id.parse().unwrap();
        let loaded = planwright::loaded_plan::LoadedPlan::new("plan", planwright::parse(plan));
        let (checked, loaded) = self.service.check_loaded(loaded);
        let checked = checked.unwrap_or_else(|| panic!("{}", loaded.diagnostics));
        let run = NewStoredRun {
            client: client.map(str::to_owned),
            ..loaded.new_run(ToolSourcesV1::default(), now())
        };
        let spec = RunSpec {
            id: id.clone(),
            storage: RunStorage::New {
                store: self.store.clone(),
                holder: LeaseHolder::this_process("", now()),
                run: Box::new(run),
            },
            ..RunSpec::new(checked)
        };
        self.runtime.block_on(async {
            self.service.launch(spec).unwrap().finish().await;
        });
        id
    }

    /// Reads as a view of a client does.
    pub(crate) fn read_as_view(
        &self,
        run: Option<&str>,
        path: &str,
        body: Option<Value>,
    ) -> ViewAnswer {
        let request = ViewRequest {
            run: run.map(str::to_owned),
            path: path.to_owned(),
            body,
        };
        self.runtime.block_on(self.page.read(None, request))
    }

    /// The open call of a run, as the inbox shows it.
    pub(crate) fn question(&self, run: &str) -> Value {
        let (status, inbox) = self.get("inbox");
        assert_eq!(status, 200);
        let questions = inbox["questions"].as_array().unwrap();
        let question = questions.iter().find(|question| question["run"] == run);
        question.unwrap().clone()
    }
}

/// The secrets of a session.
#[derive(Clone, Default)]
pub(crate) struct Session {
    pub(crate) cookie: String,
    pub(crate) key: String,
}

impl Session {
    pub(crate) fn sign(&self, request: HttpRequest) -> HttpRequest {
        request
            .header("cookie", &self.cookie)
            .header("planwright-session", &self.key)
    }
}

/// The status and the JSON of a response.
pub(crate) fn answered(response: HttpResponse) -> (u16, Value) {
    let status = response.status();
    let text = response.text();
    let value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}"));
    (status, value)
}

/// The history of the tools that were opened.
#[derive(Default)]
pub(crate) struct OpenedTools {
    /// The number of times that servers were asked for their lists.
    pub(crate) fresh_lists: AtomicUsize,
    /// The number of tools that were closed.
    pub(crate) closed: AtomicUsize,
}

/// Tools whose end is counted.
struct CountedGuard(Arc<OpenedTools>);

impl ToolsGuard for CountedGuard {
    fn close(&self) -> BoxFuture<'_, ()> {
        self.0.closed.fetch_add(1, Ordering::Relaxed);
        ready(()).boxed()
    }
}

/// The tools of a script.
struct ScriptTools(Store, Arc<OpenedTools>);

impl ScriptTools {
    fn opened(&self, script: &str) -> OpenTools {
        OpenTools {
            service: service(script).with_store(&self.0),
            sources: ToolSourcesV1::default(),
            options: RunOptions::default(),
            external_values: Arc::new(|_| Ok(SecretValues::new())),
            guard: Arc::new(CountedGuard(Arc::clone(&self.1))),
        }
    }
}

impl PageTools for ScriptTools {
    fn list(&self, is_fresh: bool) -> BoxFuture<'_, Result<OpenTools, ToolsError>> {
        self.1
            .fresh_lists
            .fetch_add(usize::from(is_fresh), Ordering::Relaxed);
        ready(Ok(self.opened(SCRIPT))).boxed()
    }

    fn open(&self, _: BTreeSet<String>) -> BoxFuture<'_, Result<OpenTools, ToolsError>> {
        ready(Ok(self.opened(SCRIPT))).boxed()
    }

    fn simulate(&self, script: PlanValue) -> BoxFuture<'_, Result<OpenTools, ToolsError>> {
        ready(Ok(self.opened(&script.to_json()))).boxed()
    }

    fn of_run<'a>(&'a self, _: &'a StoredRun) -> BoxFuture<'a, Result<OpenTools, ToolsError>> {
        ready(Ok(self.opened(SCRIPT))).boxed()
    }

    fn revert<'a>(
        &'a self,
        run: &'a RunId,
        _: &'a StoredRun,
    ) -> BoxFuture<'a, Result<OpenRevert, ToolsError>> {
        async move {
            let tools = self.opened(SCRIPT);
            let prepared = tools.service.prepare_revert(run.as_str(), None).await;
            let prepared = prepared.map_err(|error| ToolsError::new(error.to_string()))?;
            let (revert, plan) = prepared.into_parts();
            Ok(OpenRevert {
                revert,
                plan,
                tools,
            })
        }
        .boxed()
    }

    fn can_run(&self) -> bool {
        true
    }
}

fn service(script: &str) -> Planwright {
    let script = PlanValue::from_json(script).unwrap();
    let simulated = Arc::new(Simulated::from_script(&script).unwrap());
    let mut catalog = Catalog::new();
    let mut backends = Backends::new();
    for tool in simulated.tools() {
        catalog.add(tool.clone());
    }
    for server in simulated.servers() {
        backends.add(server, Arc::clone(&simulated) as _);
    }
    Planwright::over(Tools {
        catalog: Arc::new(catalog),
        backend: Arc::new(backends),
        policy: Policy::new(),
    })
}

#[expect(clippy::disallowed_methods, reason = "a run begins now")]
fn now() -> SystemTime {
    SystemTime::now()
}
