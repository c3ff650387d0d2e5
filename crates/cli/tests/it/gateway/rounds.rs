//! Calls that take several rounds at 2026-07-28: `input_required`, and the request again with its `requestState`.

use std::path::{Path, PathBuf};

use planwright_testkit::fake_server;
use planwright_testkit::listening::HttpServerProcess;
use planwright_testkit::wire_client::WireClient;
use serde_json::{Value, json};

use super::serve::Behind;

const NEWEST: &str = "2026-07-28";

/// The way in which a gateway ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Kill,
    Terminate,
}

/// A gateway that can be restarted, and a client that answers no form until the test says so.
struct Scene {
    behind: Behind,
    calls: PathBuf,
    arguments: Vec<&'static str>,
    over_http: bool,
    listening: Option<HttpServerProcess>,
    client: Option<WireClient>,
}

impl Scene {
    fn new(over_http: bool, arguments: &[&'static str]) -> Self {
        let behind = Behind::new(&[]);
        let calls = behind.folder().join("calls");
        let mut scene = Self {
            calls,
            behind,
            arguments: arguments.to_vec(),
            over_http,
            listening: None,
            client: None,
        };
        scene.set_tools(&json!({"type": "object"}));
        scene.start();
        scene
    }

    /// The tools of the server: one that is called at once, one that a person decides about, one that asks by itself.
    fn set_tools(&self, schema: &Value) {
        let calls = &self.calls;
        let form = json!({"method": "elicitation/create", "params": {
            "message": "Really?", "requestedSchema": {"type": "object", "properties": {}}}});
        let script = json!({"revisions": [NEWEST], "tools": [
            {"name": "charge", "annotations": {"destructiveHint": false}, "inputSchema": {"type": "object"}, "does": {"appends": calls}},
            {"name": "wipe", "annotations": {"destructiveHint": true}, "inputSchema": schema, "does": {"appends": calls}},
            {"name": "confirm", "annotations": {"destructiveHint": false}, "inputSchema": {"type": "object"},
             "does": {"appends": calls, "input_required": {"sure": form}}},
        ]});
        let script = script.to_string();
        self.behind
            .servers(&[("fake", fake_server::program(), &[&script])]);
    }

    fn start(&mut self) {
        let forms = [("elicitation/create", Value::Null)];
        self.client = Some(if self.over_http {
            let listening = self.behind.listening(&self.arguments);
            let client = WireClient::reach(listening.url(), NEWEST, &forms);
            self.listening = Some(listening);
            client
        } else {
            self.behind.client(&self.arguments, NEWEST, &forms)
        });
    }

    fn restart(&mut self, end: End) {
        let client = self.client.take().expect("there is a client");
        match (&mut self.listening, end) {
            (Some(listening), End::Kill) => listening.kill(),
            (Some(listening), End::Terminate) => assert!(listening.terminate().success()),
            (None, End::Kill) => client.kill(),
            // Over stdio the end of the input is the client's word for it.
            (None, End::Terminate) => drop(client),
        }
        self.start();
    }

    fn call(&mut self, params: &Value) -> Value {
        let client = self.client.as_mut().expect("there is a client");
        client.request("tools/call", params.clone())
    }

    /// The call again, with an answer to the only question in `asked`.
    fn answer(&mut self, params: &Value, asked: &Value, answer: &Value) -> Value {
        let mut params = params.clone();
        params["requestState"] = asked["requestState"].clone();
        let key = asked["inputRequests"]
            .as_object()
            .expect("it asks")
            .keys()
            .next();
        params["inputResponses"] = json!({key.expect("it asks something"): answer});
        self.call(&params)
    }

    /// The tools that were called so far.
    fn calls(&self) -> Vec<String> {
        calls(&self.calls)
    }
}

fn calls(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let name = |line: &str| {
        let call: Value = serde_json::from_str(line).expect("calls are JSON");
        call["tool"].as_str().unwrap_or_default().to_owned()
    };
    text.lines().map(name).collect()
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"decision": "approve"}})
}

/// A plan of two calls; the second one needs an approval.
fn plan() -> Value {
    let plan = json!({"steps": [
        {"id": "first", "tool": "charge", "args": {"n": 1}},
        {"id": "second", "tool": "wipe", "args": {"what": "tmp"}, "after": ["first"]},
    ]});
    json!({"name": "execute_plan", "arguments": {"plan": plan}})
}

#[track_caller]
fn is_asked(answer: &Value) -> Value {
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required", "{answer}");
    assert!(result["requestState"].is_string(), "{answer}");
    result.clone()
}

#[track_caller]
fn is_refused(answer: &Value) {
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

#[track_caller]
fn has_succeeded(answer: &Value) {
    let structured = &answer["result"]["structuredContent"];
    assert_eq!(structured["status"], "succeeded", "{answer}");
}

/// Checks that a foreign state runs nothing, and that the state of the request resumes it once, with the same result if repeated.
fn check_states(over_http: bool) {
    let mut scene = Scene::new(over_http, &[]);
    let asked = is_asked(&scene.call(&plan()));
    assert_eq!(scene.calls(), ["charge"]);
    let state = asked["requestState"].as_str().unwrap_or_default();
    let changed = state.replace("execute_plan", "resume_plan");
    for made_up in [
        "",
        "planwright-0123456789abcdef",
        "null",
        &state[1..],
        &changed,
        &format!("{state} "),
    ] {
        let mut asked = asked.clone();
        asked["requestState"] = made_up.into();
        is_refused(&scene.answer(&plan(), &asked, &yes()));
    }
    // A state belongs to its request.
    let mut other = plan();
    other["arguments"]["plan"]["steps"][1]["args"]["what"] = "home".into();
    is_refused(&scene.answer(&other, &asked, &yes()));
    let listed = json!({"name": "search_tools", "arguments": {}});
    is_refused(&scene.answer(&listed, &asked, &yes()));
    // Answers without a state would begin all over.
    let mut lost = plan();
    lost["inputResponses"] = json!({"question-1": yes()});
    is_refused(&scene.call(&lost));
    assert_eq!(scene.calls(), ["charge"]);

    let done = scene.answer(&plan(), &asked, &yes());
    has_succeeded(&done);
    assert_eq!(scene.calls(), ["charge", "wipe"]);
    assert_eq!(scene.answer(&plan(), &asked, &yes()), done);
    assert_eq!(scene.calls(), ["charge", "wipe"]);
}

#[test]
fn only_the_state_of_a_call_goes_on_with_it_over_stdio() {
    check_states(false);
}

#[test]
fn only_the_state_of_a_call_goes_on_with_it_over_http() {
    check_states(true);
}

/// The state of a plan resumes its run in the next process, once.
fn check_restart(over_http: bool, end: End) {
    let mut scene = Scene::new(over_http, &[]);
    let asked = is_asked(&scene.call(&plan()));
    scene.restart(end);
    let done = scene.answer(&plan(), &asked, &yes());
    has_succeeded(&done);
    assert_eq!(scene.calls(), ["charge", "wipe"]);
    for _ in 0..2 {
        assert_eq!(scene.answer(&plan(), &asked, &yes()), done);
        assert_eq!(scene.calls(), ["charge", "wipe"]);
        scene.restart(end);
    }
}

#[test]
fn a_state_survives_a_kill_over_stdio() {
    check_restart(false, End::Kill);
}

#[test]
fn a_state_survives_the_end_over_stdio() {
    check_restart(false, End::Terminate);
}

#[test]
fn a_state_survives_a_kill_over_http() {
    check_restart(true, End::Kill);
}

#[test]
fn a_state_survives_the_end_over_http() {
    check_restart(true, End::Terminate);
}

#[test]
fn a_no_survives_as_well() {
    let mut scene = Scene::new(false, &[]);
    let asked = is_asked(&scene.call(&plan()));
    scene.restart(End::Kill);
    let no = json!({"action": "accept", "content": {"decision": "reject", "because": "not today"}});
    let rejected = scene.answer(&plan(), &asked, &no);
    assert!(rejected.to_string().contains("not today"), "{rejected}");
    // A later yes with the same state comes too late.
    assert_eq!(scene.answer(&plan(), &asked, &yes()), rejected);
    assert_eq!(scene.calls(), ["charge"]);
}

#[test]
fn a_call_that_has_changed_is_asked_about_anew() {
    let mut scene = Scene::new(false, &[]);
    let asked = is_asked(&scene.call(&plan()));
    scene.set_tools(&json!({"type": "object", "title": "something else"}));
    scene.restart(End::Kill);
    let again = is_asked(&scene.answer(&plan(), &asked, &yes()));
    assert_eq!(scene.calls(), ["charge"]);
    has_succeeded(&scene.answer(&plan(), &again, &yes()));
    assert_eq!(scene.calls(), ["charge", "wipe"]);
}

#[test]
fn a_state_is_for_its_client() {
    let mut scene = Scene::new(true, &[]);
    let asked = is_asked(&scene.call(&plan()));
    drop(scene.client.take());
    drop(scene.listening.take());
    // From now on each client has a token, and none of them is the one of before.
    let token = scene.behind.token("eve");
    let listening = scene.behind.listening(&[]);
    let mut params = plan();
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({"question-1": yes()});
    let refused = super::edge::message(listening.url(), "tools/call", params)
        .header("authorization", &format!("Bearer {token}"))
        .send()
        .answer();
    is_refused(&refused);
    assert_eq!(scene.calls(), ["charge"]);
}

#[test]
fn without_a_store_a_state_ends_with_its_process() {
    let mut scene = Scene::new(false, &["--no-store"]);
    let asked = is_asked(&scene.call(&plan()));
    scene.restart(End::Kill);
    is_refused(&scene.answer(&plan(), &asked, &yes()));
    let asked = is_asked(&scene.call(&plan()));
    has_succeeded(&scene.answer(&plan(), &asked, &yes()));
    is_refused(&scene.answer(&plan(), &asked, &yes()));
    assert_eq!(scene.calls(), ["charge", "charge", "wipe"]);
}

/// A request of a server for input passes with a request state of the gateway, which is valid once.
fn check_passed_on(over_http: bool, end: End) {
    let mut scene = Scene::new(over_http, &["--mode", "plain"]);
    let params = json!({"name": "confirm", "arguments": {"n": 1}});
    let accept = json!({"action": "accept", "content": {}});
    let asked = is_asked(&scene.call(&params));
    let mut made_up = asked.clone();
    made_up["requestState"] = "round two".into();
    is_refused(&scene.answer(&params, &made_up, &accept));
    let mut other = params.clone();
    other["arguments"]["n"] = 2.into();
    is_refused(&scene.answer(&other, &asked, &accept));
    let calls = scene.calls().len();
    let done = scene.answer(&params, &asked, &accept);
    assert_eq!(
        done["result"]["structuredContent"]["sure"], accept,
        "{done}"
    );
    is_refused(&scene.answer(&params, &asked, &accept));
    assert_eq!(scene.calls().len(), calls + 1);
    let asked = is_asked(&scene.call(&params));
    scene.restart(end);
    let calls = scene.calls().len();
    is_refused(&scene.answer(&params, &asked, &accept));
    assert_eq!(scene.calls().len(), calls);
}

#[test]
fn a_question_of_a_server_is_continued_once_over_stdio() {
    check_passed_on(false, End::Kill);
}

#[test]
fn a_question_of_a_server_is_continued_once_over_http() {
    check_passed_on(true, End::Terminate);
}

#[test]
fn a_question_of_a_server_in_search_is_answered() {
    let mut scene = Scene::new(false, &["--mode", "search"]);
    let params =
        json!({"name": "call_tool", "arguments": {"tool": "confirm", "arguments": {"n": 1}}});
    let accept = json!({"action": "accept", "content": {}});
    let asked = is_asked(&scene.call(&params));
    let done = scene.answer(&params, &asked, &accept);
    assert_eq!(
        done["result"]["structuredContent"]["sure"], accept,
        "{done}"
    );
    is_refused(&scene.answer(&params, &asked, &accept));
}
