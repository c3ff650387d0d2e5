//! The gateway's own tools, called without a protocol in between.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use planwright::config::{Config, ConfigSource, Origin};
use planwright::core::{Catalog, Schema, Value};
use planwright::engine::backend::Simulated;
use planwright::engine::{Backends, RunStatus};
use planwright::mcp::gateway::{ClientId, GatewayClient, Host, HostCall, TaskRequest};
use planwright::mcp::{Caller, ConnectOptions, ServersConfig, UpstreamError, Upstreams};
use planwright::stored::StoredRun;
use planwright_serve::{GatewaySettings, PlanHost};
use planwright_store::{LeaseHolder, RunState, Store};
use serde_json::json;

use super::continued::{approve, endless};

/// A host over simulated tools, with a store of its own.
pub(super) struct Scene {
    pub(super) host: Arc<PlanHost>,
    pub(super) store: Store,
    _folder: tempfile::TempDir,
}

impl Scene {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(super) fn with(change: impl FnOnce(&mut GatewaySettings)) -> Self {
        Self::governed("", change)
    }

    pub(super) fn governed(config: &str, change: impl FnOnce(&mut GatewaySettings)) -> Self {
        Self::before(ServersConfig::default(), config, change)
    }

    /// A host before servers that are not started.
    pub(super) fn before(
        behind: ServersConfig,
        config: &str,
        change: impl FnOnce(&mut GatewaySettings),
    ) -> Self {
        let source = ConfigSource::read(Origin::User, "planwright.toml", config).unwrap();
        let script = Value::from(json!({"tools": {
            "echo": {"approval": false, "echo": true},
            "pay": {"approval": true, "returns": {"paid": true}},
            "broken": {"approval": false, "fails": {"code": "no", "message": "it cannot be done"}},
            "long": {"approval": false, "returns": {"text": "x".repeat(40_000)}},
            "never": {"approval": false, "sleep_ms": 600_000, "returns": 1},
        }}));
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("runs.db")).unwrap();
        let holder = LeaseHolder::this_process("here", now());
        let mut settings = GatewaySettings::new(Config::of(&[source]), holder, now);
        settings.own = simulated(&script);
        settings.store = Some(store.clone());
        change(&mut settings);
        let upstreams = Upstreams::new(behind, ConnectOptions::default());
        Self {
            host: PlanHost::new(settings, upstreams),
            store,
            _folder: folder,
        }
    }

    /// Returns the result of a tool for `client`, after checking it against the output schema of the tool.
    pub(super) async fn call(
        &self,
        client: &str,
        tool: &str,
        arguments: serde_json::Value,
    ) -> serde_json::Value {
        let result = self.start(client, tool, arguments).await.unwrap();
        self.fits(client, tool, &result).await;
        serde_json::Value::from(&result)
    }

    pub(super) fn start(
        &self,
        client: &str,
        tool: &str,
        arguments: serde_json::Value,
    ) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        self.start_as(named(client), tool, arguments)
    }

    pub(super) fn start_as(
        &self,
        client: GatewayClient,
        tool: &str,
        arguments: serde_json::Value,
    ) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        Arc::clone(&self.host).call(HostCall {
            name: tool.to_owned(),
            arguments: arguments.into(),
            client,
            caller: Arc::new(AbsentCaller),
            progress_token: None,
        })
    }

    /// Structured content fits its schema, and the text says the same; for an error it says it in fewer words.
    async fn fits(&self, client: &str, tool: &str, result: &Value) {
        let tools = Arc::clone(&self.host).tools(named(client)).await;
        let entry = tools
            .iter()
            .find(|entry| entry.get("name").and_then(Value::as_text) == Some(tool))
            .unwrap();
        if let Some(schema) = entry.get("outputSchema") {
            let schema = Schema::from_value(schema.clone());
            let structured = result.get("structuredContent").unwrap();
            let violations = schema.validate(structured);
            assert!(
                violations.is_empty(),
                "{violations:?}\n{}",
                structured.to_json()
            );
        }
    }

    pub(super) async fn execute(&self, client: &str, plan: serde_json::Value) -> serde_json::Value {
        self.call(client, "execute_plan", json!({"plan": plan}))
            .await
    }
}

/// Returns the simulated tools of `script`, and the backends that answer for them.
pub(super) fn simulated(script: &Value) -> (Catalog, Backends) {
    let simulated = Simulated::from_script(script).unwrap();
    let catalog: Catalog = simulated.tools().cloned().collect();
    let servers = simulated.servers();
    let simulated = Arc::new(simulated);
    let mut backends = Backends::new();
    for server in servers {
        backends.add(server, Arc::clone(&simulated) as _);
    }
    (catalog, backends)
}

/// A clock that advances by a second each time it is read.
pub(super) fn now() -> SystemTime {
    static SECONDS: AtomicU64 = AtomicU64::new(1);
    SystemTime::UNIX_EPOCH + Duration::from_secs(SECONDS.fetch_add(1, Ordering::Relaxed))
}

pub(super) fn named(client: &str) -> GatewayClient {
    GatewayClient::new(ClientId::new(client))
}

/// A client that ignores notifications and requests.
struct AbsentCaller;

impl Caller for AbsentCaller {
    fn notify(&self, _: &str, _: Value) {}

    fn ask(&self, _: &str, _: Value) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        Box::pin(async { Err(UpstreamError::new(0, "the caller is gone")) })
    }

    fn meta(&self) -> Value {
        Value::Null
    }
}

/// A client that records notifications.
#[derive(Default)]
struct Listener(Mutex<Vec<Value>>);

impl Caller for Listener {
    fn notify(&self, _: &str, params: Value) {
        self.0.lock().unwrap().push(params);
    }

    fn ask(&self, method: &str, params: Value) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        AbsentCaller.ask(method, params)
    }

    fn meta(&self) -> Value {
        AbsentCaller.meta()
    }
}

pub(super) fn text(result: &serde_json::Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

pub(super) fn run_of(result: &serde_json::Value) -> &str {
    result["structuredContent"]["run"].as_str().unwrap()
}

fn echo() -> serde_json::Value {
    json!({"steps": [{"id": "said", "tool": "echo", "args": {"word": "hello"}}], "output": ["said"]})
}

#[tokio::test]
async fn a_plan_gives_what_it_selects_and_nothing_else() {
    let scene = Scene::new();
    let result = scene.execute("a", echo()).await;
    assert_eq!(result["isError"], false);
    let structured = &result["structuredContent"];
    assert_eq!(
        *structured,
        json!({"status": "succeeded", "run": run_of(&result), "output": {"said": {"word": "hello"}}})
    );
    assert_eq!(text(&result), structured.to_string());
}

#[tokio::test]
async fn plans_are_read_as_models_write_them() {
    let scene = Scene::new();
    let as_text = json!({"plan": echo().to_string(), "inputs": "{}"});
    let result = scene.call("a", "execute_plan", as_text).await;
    assert_eq!(result["structuredContent"]["status"], "succeeded");
    for (arguments, expected) in [
        (json!({}), "the argument `plan` is missing"),
        (
            json!({"plan": echo(), "input": {}}),
            "has no argument `input`",
        ),
        (json!({"plan": echo(), "inputs": 3}), "must be an object"),
    ] {
        let result = scene.call("a", "execute_plan", arguments).await;
        assert_eq!(result["isError"], true);
        assert!(text(&result).contains(expected), "{result}");
    }
}

#[tokio::test]
async fn a_rejected_plan_names_places_and_ways_out_in_few_words() {
    let scene = Scene::new();
    let plan = json!({"steps": [
        {"id": "a", "tool": "ecko", "args": {}},
        {"id": "b", "tool": "echo", "args": {"x": "${c.y}"}},
    ]});
    let result = scene.execute("a", plan).await;
    assert_eq!(result["isError"], true);
    insta::assert_snapshot!(text(&result), @"
    the plan was rejected; nothing was called
    PW0201 at /steps/0/tool: there is no tool `ecko` (did you mean `echo`?)
    PW0204 at /steps/1/args/x: `${c.y}` refers to the step `c`, which is not in the plan (the steps are `a`, `b`)
    ");
    let stored = scene.store.runs(&planwright_store::RunFilter::default());
    assert!(stored.unwrap().is_empty());
}

#[tokio::test]
async fn a_partial_failure_says_what_is_done_and_how_to_go_on() {
    let scene = Scene::new();
    let plan = |tool: &str| {
        json!({"steps": [
            {"id": "first", "tool": "echo", "args": {"n": 1}},
            {"id": "second", "tool": tool, "args": {"n": "${first.n}"}},
            {"id": "third", "tool": "echo", "args": {"n": "${second.n}"}},
        ], "output": ["first", "third"]})
    };
    let failed = scene.execute("a", plan("broken")).await;
    let structured = &failed["structuredContent"];
    assert_eq!(structured["status"], "failed");
    assert_eq!(structured["output"], json!({"first": {"n": 1}}));
    assert_eq!(structured["done"], json!(["first"]));
    assert_eq!(
        structured["errors"],
        json!([{"step": "second", "tool": "broken", "kind": "tool", "message": "it cannot be done"}])
    );
    assert_eq!(
        structured["skipped"],
        json!([{"step": "third", "because": "`second` has not succeeded"}])
    );
    let run = run_of(&failed).to_owned();
    assert_eq!(
        scene.call("a", "get_run", json!({"run": run})).await,
        failed
    );
    let patched = json!({"run": run, "plan": plan("echo")});
    let resumed = scene.call("a", "resume_plan", patched).await;
    assert_eq!(
        resumed["structuredContent"]["status"], "succeeded",
        "{resumed}"
    );
    assert_eq!(run_of(&resumed), run);
    let stored = StoredRun::read(&scene.store, &run).unwrap();
    let calls = stored
        .replayed(&run.parse().unwrap())
        .unwrap()
        .summary
        .calls;
    let of_first = calls.iter().filter(|call| call.at.step.as_str() == "first");
    assert_eq!(of_first.count(), 1);
}

#[tokio::test]
async fn a_new_plan_says_which_results_it_makes_stale() {
    let scene = Scene::new();
    let plan = |first: u64, tool: &str| {
        json!({"steps": [
            {"id": "first", "tool": "echo", "args": {"n": first}},
            {"id": "second", "tool": "echo", "args": {"n": "${first.n}"}},
            {"id": "third", "tool": tool, "args": {"n": "${second.n}"}},
        ], "output": ["second", "third"]})
    };
    let failed = scene.execute("a", plan(1, "broken")).await;
    let run = run_of(&failed).to_owned();
    let listener = Arc::new(Listener::default());
    let result = Arc::clone(&scene.host).call(HostCall {
        name: "resume_plan".to_owned(),
        arguments: json!({"run": run, "plan": plan(2, "broken")}).into(),
        client: named("a"),
        caller: Arc::clone(&listener) as Arc<dyn Caller>,
        progress_token: Some(Value::from(1_u64)),
    });
    let resumed = serde_json::Value::from(&result.await.unwrap());
    let because = "its result was computed from `first`, which the new plan changes";
    assert_eq!(
        resumed["structuredContent"]["rerun"],
        json!([{"step": "second", "because": because}])
    );
    assert_eq!(
        resumed["structuredContent"]["output"]["second"],
        json!({"n": 2})
    );
    let first = listener.0.lock().unwrap().first().cloned().unwrap();
    let message = first.get("message").and_then(Value::as_text).unwrap();
    assert_eq!(message, format!("`second` is run again: {because}"));
    let keep = json!({"run": run, "plan": plan(3, "echo"), "keep": ["second"]});
    let stored = scene.call("a", "resume_plan", keep).await;
    assert_eq!(stored["structuredContent"]["rerun"], json!(null));
    assert_eq!(
        stored["structuredContent"]["output"],
        json!({"second": {"n": 2}, "third": {"n": 2}})
    );
}

#[tokio::test]
async fn later_plans_refer_to_results_of_earlier_ones() {
    let scene = Scene::new();
    let run = run_of(&scene.execute("a", echo()).await).to_owned();
    let word = format!("${{runs.{run}.said.word}}");
    let plan = json!({"steps": [{"id": "again", "tool": "echo", "args": {"word": word}}], "output": ["again"]});
    let result = scene.execute("a", plan.clone()).await;
    assert_eq!(
        result["structuredContent"]["output"],
        json!({"again": {"word": "hello"}})
    );
    let later = run_of(&result).to_owned();
    assert_eq!(
        scene.call("a", "get_run", json!({"run": later})).await,
        result
    );

    // Without an `output`, the result has the outputs of the plan's own steps, not those of the earlier run.
    let all = json!({"steps": [{"id": "again", "tool": "echo", "args": {"word": format!("${{runs.{run}.said.word}}")}}]});
    let result = scene.execute("a", all).await;
    assert_eq!(
        result["structuredContent"]["output"],
        json!({"again": {"word": "hello"}})
    );

    // The steps that a failed plan reports as done are its own, too.
    let failing = json!({"steps": [
        {"id": "again", "value": format!("${{runs.{run}.said.word}}")},
        {"id": "broken", "tool": "broken", "after": ["again"]}
    ]});
    let result = scene.execute("a", failing).await;
    assert_eq!(result["structuredContent"]["done"], json!(["again"]));
    let later = json!({"run": run_of(&result)});
    assert_eq!(scene.call("a", "get_run", later).await, result);

    // So is its progress.
    let listener = Arc::new(Listener::default());
    let call = HostCall {
        name: "execute_plan".to_owned(),
        arguments: json!({"plan": plan}).into(),
        client: named("a"),
        caller: Arc::clone(&listener) as _,
        progress_token: Some(Value::from(7_u64)),
    };
    Arc::clone(&scene.host).call(call).await.unwrap();
    let heard: Vec<serde_json::Value> = listener.0.lock().unwrap().iter().map(Into::into).collect();
    assert_eq!(
        heard,
        [
            json!({"progressToken": 7, "progress": 1, "total": 1, "message": "again (echo) succeeded"})
        ]
    );

    let strangers = scene.execute("b", plan).await;
    assert_eq!(
        strangers["structuredContent"]["status"], "rejected",
        "{strangers}"
    );
    assert!(!strangers.to_string().contains("hello"));
}

#[tokio::test]
async fn results_are_there_for_a_while_and_up_to_a_size() {
    let forgetful = |settings: &mut GatewaySettings| settings.store = None;
    for (config, change, expected) in [
        (
            "recall_for = '0s'",
            (|_| {}) as fn(&mut GatewaySettings),
            "cannot refer to results",
        ),
        ("recall_for = '10ms'", |_| {}, "ended more than 10ms ago"),
        ("recall_for = '10ms'", forgetful, "ended more than 10ms ago"),
        ("recall_bytes = 3", |_| {}, "more than 3 bytes"),
    ] {
        let scene = Scene::governed(&format!("[serve]\n{config}\n"), change);
        let run = run_of(&scene.execute("a", echo()).await).to_owned();
        let word = format!("${{runs.{run}.said.word}}");
        let plan = json!({"steps": [{"id": "again", "tool": "echo", "args": {"word": word}}]});
        let result = scene.execute("a", plan).await;
        assert_eq!(result["isError"], true);
        assert!(text(&result).contains(expected), "{result}");
    }
}

#[tokio::test]
async fn a_plan_becomes_a_task_after_the_time_that_is_set() {
    let scene = Scene::governed("[serve]\ntask_after = '1ms'\n", |_| {});
    let plan = json!({"steps": [{"id": "never", "tool": "never", "args": {}}]});
    let mut client = named("a");
    client.capabilities = Value::from(json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}));
    let call = scene.start_as(client, "execute_plan", json!({"plan": plan}));
    let result = serde_json::Value::from(call.await.unwrap());
    assert_eq!(result["resultType"], "task", "{result}");
}

#[tokio::test]
async fn tools_are_listed_as_far_as_the_tokens_that_are_set_go() {
    for (config, is_listed) in [("", true), ("[serve]\nlisting_tokens = 1\n", false)] {
        let scene = Scene::governed(config, |_| {});
        let tools = Arc::clone(&scene.host).tools(named("a")).await;
        let tools = serde_json::Value::from(Value::from(tools));
        let description = tools[0]["description"].as_str().unwrap();
        assert_eq!(
            description.contains("simulated.broken"),
            is_listed,
            "{description}"
        );
    }
}

#[tokio::test]
async fn one_client_knows_nothing_of_another() {
    let scene = Scene::new();
    let run = run_of(&scene.execute("a", echo()).await).to_owned();
    for client in ["b", "local"] {
        for tool in ["get_run", "resume_plan"] {
            let result = scene.call(client, tool, json!({"run": run})).await;
            assert_eq!(text(&result), format!("there is no run `{run}`"));
        }
        let address = format!("planwright://runs/{run}/output");
        let read = Arc::clone(&scene.host).read(named(client), address).await;
        assert!(read.unwrap().is_err());
        let request = TaskRequest::Get { id: run.clone() };
        let task = Arc::clone(&scene.host).task(named(client), request).await;
        assert_eq!(
            task.unwrap_err().message,
            format!("there is no run `{run}`")
        );
    }
    let start = &run[..4];
    let result = scene.call("a", "get_run", json!({"run": start})).await;
    assert_eq!(text(&result), format!("there is no run `{start}`"));
}

#[tokio::test]
async fn an_imported_run_belongs_to_no_client() {
    let pay = json!({"steps": [{"id": "pay", "tool": "pay"}]});
    for client in ["a", "local"] {
        let here = Scene::new();
        let run = run_of(&here.execute(client, pay.clone()).await).to_owned();
        let there = Scene::new();
        there
            .store
            .import(&here.store.export(&run).unwrap())
            .unwrap();
        for (who, said) in [("local", "was imported"), ("a", "there is no run")] {
            for tool in ["get_run", "resume_plan"] {
                let result = there.call(who, tool, json!({"run": run})).await;
                assert_eq!(result["isError"], true, "{result}");
                assert!(text(&result).contains(said), "{result}");
            }
        }
        let recalled = json!({"steps": [{"id": "b", "tool": "echo", "args": {"x": format!("${{runs.{run}.pay}}")}}]});
        let result = there.execute("local", recalled).await;
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(there.store.run(&run).unwrap().calls, 0);
    }
}

#[tokio::test]
async fn a_result_that_is_too_large_is_a_resource() {
    let scene = Scene::with(|settings| settings.answer_bytes = 100);
    let plan = json!({"steps": [{"id": "long", "tool": "long", "args": {}}], "output": ["long"]});
    let result = scene.execute("a", plan).await;
    let trimmed = &result["structuredContent"]["output"]["long"]["$trimmed"];
    assert_eq!(trimmed["bytes"], 40_011);
    assert!(result.to_string().len() < 2000, "{result}");
    let link = &result["content"][1];
    assert_eq!(link["type"], "resource_link");
    let address = link["uri"].as_str().unwrap();
    let steps = format!("planwright://runs/{}/steps/long", run_of(&result));
    for (address, expected) in [
        (address, "{\"long\":{\"text\":\"xxx"),
        (&steps, "{\"text\":\"xxx"),
    ] {
        let read = Arc::clone(&scene.host)
            .read(named("a"), address.to_owned())
            .await;
        let read = serde_json::Value::from(read.unwrap().unwrap());
        let whole = read["contents"][0]["text"].as_str().unwrap();
        assert!(whole.len() > 40_000 && whole.starts_with(expected));
    }
}

#[tokio::test]
async fn an_answer_is_bounded_as_a_whole() {
    let scene = Scene::new();
    let steps: Vec<_> = (0..200)
        .map(|n| json!({"id": format!("s{n}"), "tool": "echo", "args": {"text": "x".repeat(15_000)}}))
        .collect();
    let ids: Vec<_> = (0..200).map(|n| format!("s{n}")).collect();
    for output in [Some(ids), None] {
        let mut plan = json!({"steps": steps});
        if let Some(ids) = &output {
            plan["output"] = json!(ids);
        }
        let answer = scene
            .call("ada", "execute_plan", json!({"plan": plan}))
            .await;
        let size = answer.to_string().len();
        assert!(size < 300_000, "{size}");
        let structured = &answer["structuredContent"];
        let last = &structured["output"]["s199"]["$trimmed"];
        assert_eq!(last["bytes"], 15_011, "{last}");
        let run = structured["run"].as_str().unwrap();
        if output.is_none() {
            assert_eq!(
                last["resource"],
                format!("planwright://runs/{run}/steps/s199")
            );
            assert!(structured["note"].as_str().unwrap().contains("no `output`"));
        }
    }
}

#[tokio::test]
async fn a_decision_without_a_client_is_made_elsewhere() {
    let scene = Scene::new();
    let plan =
        json!({"steps": [{"id": "pay", "tool": "pay", "args": {"to": "bob"}}], "output": ["pay"]});
    let waiting = scene.execute("a", plan).await;
    let structured = &waiting["structuredContent"];
    assert_eq!(waiting["isError"], false);
    assert_eq!(structured["status"], "waiting");
    assert_eq!(
        structured["waiting"],
        json!([{"step": "pay", "tool": "pay", "args": {"to": "bob"}}])
    );
    let run = run_of(&waiting).to_owned();
    // The model is not handed a command that approves.
    let next = structured["next"].as_str().unwrap();
    assert!(next.contains("a person has to decide"), "{next}");
    assert!(!waiting.to_string().contains("planwright approve"));
    approve(&scene.store, &run);
    let resumed = scene.call("a", "resume_plan", json!({"run": run})).await;
    assert_eq!(
        resumed["structuredContent"]["output"],
        json!({"pay": {"paid": true}})
    );
}

#[tokio::test]
async fn a_call_that_is_given_up_ends_its_run() {
    let scene = Scene::new();
    let (call, run) = endless(&scene, "a").await;
    drop(call);
    loop {
        let stored = StoredRun::read(&scene.store, run.as_str()).unwrap();
        if let Some(status) = stored.status() {
            assert_eq!(status.as_str(), "cancelled");
            break;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_while_its_run_is_written_leaves_none_open() {
    let scene = Scene::new();
    let plan = json!({"steps": [{"id": "never", "tool": "never", "args": {}}]});
    // However far it has come.
    for polls in 0..40 {
        let call = scene.start("a", "execute_plan", json!({"plan": plan}));
        let mut call = Box::pin(call);
        for _ in 0..polls {
            assert!(futures::poll!(&mut call).is_pending());
            tokio::task::yield_now().await;
        }
        drop(call);
    }
    let filter = planwright_store::RunFilter::default();
    let ended = async {
        loop {
            let runs = scene.store.runs(&filter).unwrap();
            let cancelled = RunState::Ended(RunStatus::Cancelled);
            if !runs.is_empty() && runs.iter().all(|run| run.state == cancelled) {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_mins(1), ended).await;
    assert!(ended.is_ok(), "{:?}", scene.store.runs(&filter));
}

#[tokio::test]
async fn one_client_has_so_many_plans_under_way() {
    let scene = Scene::with(|settings| settings.plans_at_once = 1);
    let plan = json!({"steps": [{"id": "never", "tool": "never", "args": {}}]});
    let mut call = Box::pin(scene.start("a", "execute_plan", json!({"plan": plan})));
    let filter = planwright_store::RunFilter::default();
    loop {
        assert!(futures::poll!(&mut call).is_pending());
        if scene
            .store
            .runs(&filter)
            .unwrap()
            .iter()
            .any(|run| run.calls == 1)
        {
            break;
        }
        tokio::task::yield_now().await;
    }
    let refused = scene.execute("a", echo()).await;
    assert!(
        text(&refused).contains("this client has reached the maximum of plans in progress (1)"),
        "{refused}"
    );
    let other = scene.execute("b", echo()).await;
    assert_eq!(other["structuredContent"]["status"], "succeeded");
}

#[tokio::test]
async fn plans_of_one_client_write_so_much_together() {
    let scene = Scene::with(|settings| {
        settings.options.guards.written_bytes = Some(1000.into());
    });
    let never = || {
        let text = "a".repeat(900);
        json!({"steps": [
            {"id": "text", "value": text},
            {"id": "never", "tool": "never", "args": {}, "after": ["text"]}
        ]})
    };
    let filter = planwright_store::RunFilter::default();
    let mut calls = Vec::new();
    // Four times as much as one plan may write, and a little more.
    for number in 1..=5 {
        let arguments = json!({"plan": never()});
        calls.push(Box::pin(scene.start("a", "execute_plan", arguments)));
        loop {
            for call in &mut calls {
                assert!(futures::poll!(call).is_pending());
            }
            let runs = scene.store.runs(&filter).unwrap();
            if runs.iter().filter(|run| run.calls == 1).count() == number {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    let refused = scene.execute("a", echo()).await;
    assert!(
        text(&refused).contains("have written 4530 bytes of values, more than the 4000"),
        "{refused}"
    );
    let other = scene.execute("b", echo()).await;
    assert_eq!(other["structuredContent"]["status"], "succeeded");
}

#[tokio::test]
async fn a_failure_always_has_its_error() {
    let plan = json!({"steps": [{
        "id": "all", "tool": "echo", "for_each": [1, 2, 3, 4], "args": {"text": "a".repeat(200)}
    }]});
    let mut failures = 0;
    for limit in (100..3000).step_by(100) {
        let scene = Scene::with(|settings| {
            settings.options.guards.written_bytes = Some(limit.into());
        });
        let result = scene.execute("a", plan.clone()).await;
        let structured = &result["structuredContent"];
        if structured["status"] == "failed" {
            failures += 1;
            let errors = structured["errors"].as_array();
            assert!(errors.is_some_and(|errors| !errors.is_empty()), "{result}");
        }
    }
    assert!(failures > 3);
}

#[tokio::test]
async fn stages_hold_for_plans_and_calls() {
    let config = r#"
        [stages.look]
        tools = ["simulated.echo"]
        next = ["pay"]
        [stages.pay]
        tools = ["simulated.pay"]
        next = ["look"]
    "#;
    let scene = Scene::governed(config, |_| {});
    let pay = json!({"steps": [{"id": "pay", "tool": "pay", "args": {}}]});
    let refused = scene.execute("a", pay.clone()).await;
    assert!(
        text(&refused).contains("move to the stage `pay` first"),
        "{refused}"
    );
    let found = scene.call("a", "search_tools", json!({})).await;
    assert_eq!(
        found["structuredContent"]["tools"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let moved = scene
        .call("a", "move_to_stage", json!({"stage": "pay"}))
        .await;
    assert_eq!(moved["isError"], false, "{moved}");
    let waits = scene.execute("a", pay.clone()).await;
    assert_eq!(waits["structuredContent"]["status"], "waiting");
    let others = scene.execute("b", pay).await;
    assert_eq!(others["structuredContent"]["status"], "rejected");
}

#[tokio::test]
async fn a_plan_that_is_only_checked_calls_nothing() {
    let scene = Scene::new();
    let plan = json!({"steps": [
        {"id": "pay", "tool": "pay", "args": {}},
        {"id": "said", "tool": "echo", "args": {"x": "${pay.paid}"}},
    ]});
    let sound = scene.call("a", "check_plan", json!({"plan": plan})).await;
    assert_eq!(
        sound["structuredContent"],
        json!({"status": "sound", "steps": [
            {"step": "pay", "tool": "pay", "approval": true},
            {"step": "said", "tool": "echo", "after": ["pay"]},
        ]})
    );
    let stored = scene.store.runs(&planwright_store::RunFilter::default());
    assert!(stored.unwrap().is_empty());
}
