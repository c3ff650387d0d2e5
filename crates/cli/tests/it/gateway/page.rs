//! The page of runs on the gateway's own port: each client sees and decides its own runs, and those of no other.

use planwright_testkit::fake_server;
use planwright_testkit::http_wire::{HttpRequest, HttpResponse};
use planwright_testkit::listening::HttpServerProcess;
use serde_json::{Value, json};

use super::serve::Behind;

/// A gateway with the page, before a server with a tool that needs an approval.
struct Scene {
    behind: Behind,
    listening: HttpServerProcess,
    tokens: Vec<String>,
}

impl Scene {
    fn new(clients: &[&str]) -> Self {
        let script = json!({"tools": [
            {"name": "echo", "annotations": {"readOnlyHint": true}},
            {"name": "wait", "annotations": {"readOnlyHint": true}, "does": {"delay_ms": 300}},
            {"name": "remove", "annotations": {"destructiveHint": true}},
        ]});
        let script = script.to_string();
        let behind = Behind::new(&[("fake", fake_server::program(), &[&script])]);
        let tokens = clients.iter().map(|client| behind.token(client)).collect();
        let listening = behind.listening(&["--ui"]);
        Self {
            behind,
            listening,
            tokens,
        }
    }

    fn origin(&self) -> &str {
        self.listening.url().trim_end_matches("/mcp")
    }

    /// Runs a plan that waits for an approval, as the client with this number. Returns the id of its run.
    fn run(&self, client: usize) -> String {
        let steps = json!([
            {"id": "said", "tool": "fake.echo", "args": {"word": "hello"}},
            {"id": "gone", "tool": "fake.remove", "args": {"word": "${said.word ?? 'x'}"}},
        ]);
        let params = json!({"name": "execute_plan", "arguments": {"plan": {"steps": steps}}});
        let request = message(self.listening.url(), "tools/call", params);
        let request = match self.tokens.get(client) {
            Some(token) => request.header("authorization", &format!("Bearer {token}")),
            None => request,
        };
        let answer = request.send().answer();
        let run = &answer["result"]["structuredContent"]["run"];
        run.as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .to_owned()
    }

    fn post(&self, path: &str, body: &Value) -> HttpRequest {
        HttpRequest::post(&format!("{}/api/{path}", self.origin()), body)
            .header("origin", self.origin())
    }

    fn read(&self, path: &str) -> HttpRequest {
        HttpRequest::get(&format!("{}/api/{path}", self.origin()))
    }

    fn log_in(&self, token: &str) -> HttpResponse {
        self.post("session", &json!({"token": token})).send()
    }

    /// The cookie of the client with this number.
    fn session(&self, client: usize) -> Session<'_> {
        let response = self.log_in(&self.tokens[client]);
        assert_eq!(response.status(), 200);
        let cookie = response.header("set-cookie").unwrap();
        assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let (_, body) = answered(response);
        Session {
            scene: self,
            cookie,
            key: body["key"].as_str().unwrap().to_owned(),
        }
    }
}

/// A client that is logged in.
struct Session<'a> {
    scene: &'a Scene,
    cookie: String,
    key: String,
}

impl Session<'_> {
    fn get(&self, path: &str) -> (u16, Value) {
        answered(self.sign(self.scene.read(path)).send())
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        answered(self.sign(self.scene.post(path, body)).send())
    }

    /// Adds the two secrets of the session.
    fn sign(&self, request: HttpRequest) -> HttpRequest {
        request
            .header("cookie", &self.cookie)
            .header("planwright-session", &self.key)
    }

    fn ids(&self, path: &str, list: &str, field: &str) -> Vec<Value> {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{body}");
        let found = body[list].as_array().unwrap().iter();
        found.map(|entry| entry[field].clone()).collect()
    }
}

fn answered(response: HttpResponse) -> (u16, Value) {
    let status = response.status();
    let text = response.text();
    let body = serde_json::from_str(&text);
    (status, body.unwrap_or_else(|_| panic!("no JSON: {text}")))
}

/// A request of a client without tasks and forms: the answer about a call that waits comes at once.
fn message(url: &str, method: &str, mut params: Value) -> HttpRequest {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "page", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = HttpRequest::post(url, &body)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    if name.is_empty() {
        request
    } else {
        request.header("mcp-name", &name)
    }
}

#[test]
fn a_client_sees_and_decides_its_own_runs_only() {
    let scene = Scene::new(&["ada", "bob"]);
    let (own, other) = (scene.run(0), scene.run(1));
    let ada = scene.session(0);
    assert_eq!(ada.get("config").1["client"], "token:ada");
    assert_eq!(ada.ids("runs", "runs", "id"), std::slice::from_ref(&own));
    assert_eq!(
        ada.ids("inbox", "questions", "run"),
        std::slice::from_ref(&own)
    );
    let parts = ["", "/graph", "/timeline", "/report", "/steps/gone"];
    for part in parts {
        assert_eq!(ada.get(&format!("runs/{own}{part}")).0, 200, "{part}");
        assert_eq!(ada.get(&format!("runs/{other}{part}")).0, 404, "{part}");
    }
    assert_eq!(ada.get(&format!("diff?a={own}&b={own}")).0, 200);
    assert_eq!(ada.get(&format!("diff?a={own}&b={other}")).0, 404);
    assert_eq!(ada.get(&format!("diff?a={other}&b={own}")).0, 404);
    assert_eq!(ada.get(&format!("events?run={other}")).0, 404);
    let mut events = ada.sign(scene.read("events")).send();
    let first = events.message().unwrap();
    assert_eq!(first["changed"].as_array().unwrap().len(), 1);
    assert_eq!(first["changed"][0]["id"], json!(own));
    assert_eq!(ada.post(&format!("runs/{other}/cancel"), &json!({})).0, 404);
    let bob = scene.session(1);
    let (_, inbox) = bob.get("inbox");
    let question = &inbox["questions"][0];
    let approve = json!({
        "run": other,
        "decisions": [{"at": "gone", "digest": question["digest"]}],
        "decision": "approve",
    });
    // Not even with the digest of the call.
    assert_eq!(ada.post("decisions", &approve).0, 404);
    assert_eq!(bob.post("decisions", &approve).0, 200);
    let (status, replayed) = bob.post("decisions", &approve);
    assert_eq!(status, 409, "{replayed}");
    let stored = scene.behind.run(&["logs", &other]);
    assert!(!stored.contains("token:ada"), "{stored}");
}

#[test]
fn the_page_of_a_gateway_with_tokens_starts_no_programs() {
    let scene = Scene::new(&["ada"]);
    let own = scene.run(0);
    let ada = scene.session(0);
    assert_eq!(ada.get("config").1["can_run"], false);
    for path in ["tools", "plans", "plans/x"] {
        assert_eq!(ada.get(path).0, 403, "{path}");
    }
    let plan = json!({"text": "{\"steps\": []}", "mode": "real"});
    assert_eq!(ada.post("plan/run", &plan).0, 403);
    assert_eq!(ada.post(&format!("runs/{own}/resume"), &json!({})).0, 403);
    let plan = json!({"name": "x", "text": "{\"steps\": []}"});
    assert_eq!(ada.post("plans", &plan).0, 403);
}

#[test]
fn strangers_and_other_pages_are_refused() {
    let scene = Scene::new(&["ada"]);
    let own = scene.run(0);
    assert_eq!(answered(scene.read("runs").send()).0, 401);
    let (status, body) = answered(scene.log_in("pwt_0"));
    assert_eq!(status, 401);
    assert_eq!(
        body["error"]["help"],
        "log in with the token of your client"
    );
    // The token is not a session, and the session is not a token.
    let bearer = format!("Bearer {}", scene.tokens[0]);
    let by_token = scene.read("runs").header("authorization", &bearer);
    assert_eq!(by_token.send().status(), 401);
    let ada = scene.session(0);
    let listed = message(scene.listening.url(), "tools/list", json!({}));
    assert_eq!(ada.sign(listed).send().status(), 401);
    let read = || ada.sign(scene.read("runs"));
    assert_eq!(read().send().status(), 200);
    let host = read().header("host", "evil.example.com").send();
    assert_eq!(host.status(), 421);
    for origin in ["http://evil.example.com", "http://localhost:1", "null"] {
        assert_eq!(read().header("origin", origin).send().status(), 403);
        let body = json!({"run": own, "decisions": [], "decision": "approve"});
        let write = HttpRequest::post(&format!("{}/api/decisions", scene.origin()), &body)
            .header("cookie", &ada.cookie)
            .header("origin", origin);
        assert_eq!(write.send().status(), 403, "{origin}");
    }
    scene.behind.run(&["token", "revoke", "ada"]);
    assert_eq!(read().send().status(), 401);
    // A new token of the same name opens a session of its own.
    scene.behind.token("ada");
    assert_eq!(read().send().status(), 401);
}

#[test]
fn a_public_name_is_one_of_the_page() {
    let scene = Scene::new(&["ada"]);
    let behind = &scene.behind;
    behind.set("[serve]\nhosts = ['plans.example.com']\norigins = ['https://chat.example.com']\n");
    let listening = behind.listening(&["--ui"]);
    let url = format!("{}/api/session", listening.url().trim_end_matches("/mcp"));
    let log_in = |host: &str, origin: &str| {
        HttpRequest::post(&url, &json!({"token": scene.tokens[0]}))
            .header("host", host)
            .header("origin", origin)
            .send()
    };
    let own = log_in("plans.example.com", "https://plans.example.com");
    assert_eq!(own.status(), 200);
    assert!(own.header("set-cookie").unwrap().ends_with("; Secure"));
    // A page that may call the service is not the page.
    let other = log_in("plans.example.com", "https://chat.example.com");
    assert_eq!(other.status(), 403);
    assert_eq!(other.header("access-control-allow-origin"), None);
}

#[test]
fn the_result_of_a_task_has_the_token_of_the_view() {
    let scene = Scene::new(&[]);
    scene.behind.set("[serve]\ntask_after = '1ms'\n");
    let listening = scene.behind.listening(&["--ui"]);
    let ask = |method: &str, mut params: Value, shows_views: bool| {
        let about = params["taskId"].as_str().or(params["name"].as_str());
        let about = about.unwrap_or_default().to_owned();
        let mut extensions = json!({"io.modelcontextprotocol/tasks": {}});
        if shows_views {
            extensions["io.modelcontextprotocol/ui"] =
                json!({"mimeTypes": ["text/html;profile=mcp-app"]});
        }
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "page", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"extensions": extensions},
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        HttpRequest::post(listening.url(), &body)
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method)
            .header("mcp-name", &about)
            .send()
            .answer()
    };
    // The call outlasts `task_after`, so the plan is a task.
    let steps = json!([{"id": "waited", "tool": "fake.wait"}]);
    let plan = json!({"name": "execute_plan", "arguments": {"plan": {"steps": steps}}});
    let handle = ask("tools/call", plan, true);
    let task = json!({"taskId": handle["result"]["taskId"]});
    let ended = |shows_views: bool| {
        let states = (0..10_000).map(|_| ask("tasks/get", task.clone(), shows_views));
        let mut ended = states.filter(|state| state["result"]["status"] == "completed");
        ended.next().expect("the task ends")
    };
    let view = &ended(true)["result"]["result"]["_meta"]["planwright/view"];
    assert_eq!(view["run"], handle["result"]["taskId"]);
    let token = &view["token"];
    assert!(
        token.as_str().is_some_and(|token| token.len() > 20),
        "{token}"
    );
    // A client that shows no views gets none.
    let plain = &ended(false)["result"]["result"]["_meta"]["planwright/view"];
    assert!(plain.is_null(), "{plain}");
}
