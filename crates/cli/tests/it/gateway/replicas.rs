//! Several gateways over one PostgreSQL server: a run of one that dies, stops or ends is continued by another.

use std::process::Command;

use planwright_testkit::fake_server::{self, Recorder};
use planwright_testkit::listening::HttpServerProcess;
use planwright_testkit::postgres::{PostgresDatabase, PostgresServer};
use serde_json::{Value, json};

use super::edge::message;
use super::serve::Behind;

/// A gateway with a server and a home of its own, as on a machine of its own.
struct Replica {
    // Before the folder, which it uses.
    listening: HttpServerProcess,
    recorder: Recorder,
    token: String,
    behind: Behind,
}

impl Replica {
    fn new(store: &str) -> Self {
        Self::with(store, "")
    }

    /// A gateway with further settings.
    fn with(store: &str, settings: &str) -> Self {
        let recorder = Recorder::new();
        let script = json!({
            "record": recorder.address(),
            "tools": [
                {"name": "wait", "annotations": {"readOnlyHint": true},
                 "does": {"wait_for_release": true, "structured": {"waited": true}}},
                {"name": "pay", "annotations": {"destructiveHint": false},
                 "does": {"delay_ms": 700, "structured": {"paid": true}}},
                {"name": "note", "annotations": {"destructiveHint": false}},
                {"name": "drop", "annotations": {"destructiveHint": true}},
            ],
        });
        let script = script.to_string();
        let behind = Behind::new(&[("fake", fake_server::program(), &[&script])]);
        // The servers differ in the address of their recorders, so the second one would wait for a person. Nothing is called again on
        // the word of a server alone.
        behind.set(&format!(
            "{settings}\n[tools]\npin = \"off\"\nread_only = [\"fake.wait\"]"
        ));
        let token = behind.token("ada");
        let mut command = behind.command(&["--listen", "127.0.0.1:0"]);
        command.env("PLANWRIGHT_STORE", store);
        Self {
            listening: HttpServerProcess::start(command),
            recorder,
            token,
            behind,
        }
    }

    /// The result of a request.
    #[track_caller]
    fn ask(&self, method: &str, params: Value) -> Value {
        let request = message(self.listening.url(), method, params)
            .header("authorization", &format!("Bearer {}", self.token));
        let mut answer = request.send().answer();
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].take()
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.ask("tools/call", params)["structuredContent"].take()
    }

    /// Asks for a task until it has this status.
    #[track_caller]
    fn task_is(&self, task: &str, status: &str) -> Value {
        let states = (0..1_000_000).map(|_| self.ask("tasks/get", json!({"taskId": task})));
        let mut states = states.filter(|state| state["status"] != "working");
        let state = states.next().unwrap();
        assert_eq!(state["status"], status, "{state}");
        state
    }

    /// Starts a plan whose first and last steps have effects, and returns the id of its run once its second step waits.
    fn start_plan(&self, store: &str) -> String {
        let plan = json!({"steps": [
            {"id": "begun", "tool": "note", "args": {"text": "begin"}},
            {"id": "waited", "tool": "wait", "after": ["begun"]},
            {"id": "ended", "tool": "note", "args": {"text": "end"}, "after": ["waited"]},
        ]});
        self.submit(plan);
        assert_eq!(self.called(), "begin");
        assert_eq!(self.called(), "wait");
        self.newest_run(store)
    }

    /// Submits a plan. The response comes after the end of the run, or never.
    fn submit(&self, plan: Value) {
        let params = json!({"name": "execute_plan", "arguments": {"plan": plan}});
        let request = message(self.listening.url(), "tools/call", params)
            .header("authorization", &format!("Bearer {}", self.token));
        std::thread::spawn(move || drop(request.send().text()));
    }

    /// Returns the id of the newest run.
    fn newest_run(&self, store: &str) -> String {
        let runs = self
            .behind
            .command_of(&["runs", "--format", "json"])
            .env("PLANWRIGHT_STORE", store)
            .output()
            .unwrap();
        let runs: Value = serde_json::from_slice(&runs.stdout).unwrap();
        runs["runs"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Waits for the next call of a tool.
    fn called(&self) -> String {
        let params = self.recorder.message("tools/call")["params"].take();
        match params["arguments"]["text"].as_str() {
            Some(text) => text.to_owned(),
            None => params["name"].as_str().unwrap().to_owned(),
        }
    }

    /// Waits until the run has succeeded, as this gateway says.
    #[track_caller]
    fn has_succeeded(&self, run: &str) {
        let succeeded = (0..1000)
            .map(|_| self.call("get_run", json!({"run": run})))
            .find(|answer| answer["status"] == "succeeded");
        assert!(
            succeeded.is_some(),
            "{}",
            self.call("get_run", json!({"run": run}))
        );
    }

    fn signal(&self, name: &str) {
        let id = self.listening.id().to_string();
        assert!(
            Command::new("kill")
                .args([name, &id])
                .status()
                .unwrap()
                .success()
        );
    }
}

/// Returns the argument `text` of a call.
fn text_of(message: &Value) -> Option<String> {
    let text = message["params"]["arguments"]["text"].as_str();
    text.map(str::to_owned)
}

#[test]
fn a_run_of_a_killed_gateway_is_continued_by_another() {
    let database = PostgresDatabase::create().unwrap();
    let (mut killed, other) = (Replica::new(database.url()), Replica::new(database.url()));
    let run = killed.start_plan(database.url());
    killed.listening.kill();
    // The outcome of the first step is known; a call that only reads is made again.
    assert_eq!(other.called(), "wait");
    other.recorder.release();
    assert_eq!(other.called(), "end");
    other.has_succeeded(&run);
}

#[test]
fn a_gateway_that_was_stopped_calls_nothing_more_of_a_run_of_another() {
    let database = PostgresDatabase::create().unwrap();
    let (mut stopped, other) = (Replica::new(database.url()), Replica::new(database.url()));
    let run = stopped.start_plan(database.url());
    stopped.signal("-STOP");
    assert_eq!(other.called(), "wait");
    // The answer waits for the gateway that is stopped.
    stopped.recorder.release();
    stopped.signal("-CONT");
    other.recorder.release();
    assert_eq!(other.called(), "end");
    other.has_succeeded(&run);
    // It tells of the run as the other one has ended it.
    stopped.has_succeeded(&run);
    stopped.listening.terminate();
    let methods = stopped.recorder.methods_until_end();
    assert!(
        !methods.iter().any(|method| method == "tools/call"),
        "{methods:?}"
    );
}

#[test]
fn a_gateway_that_ends_hands_its_runs_over() {
    let database = PostgresDatabase::create().unwrap();
    let (mut ending, other) = (Replica::new(database.url()), Replica::new(database.url()));
    let run = ending.start_plan(database.url());
    ending.listening.terminate();
    assert_eq!(other.called(), "wait");
    other.recorder.release();
    assert_eq!(other.called(), "end");
    other.has_succeeded(&run);
}

#[test]
fn a_gateway_that_ends_lets_its_calls_end_and_hands_the_rest_over() {
    let database = PostgresDatabase::create().unwrap();
    let (mut ending, other) = (
        Replica::with(database.url(), TASKS),
        Replica::with(database.url(), TASKS),
    );
    // Together they take longer than a gateway has to end, and none may be made twice.
    let texts: Vec<String> = (0..9).map(|number| format!("pay {number}")).collect();
    let steps: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(number, text)| {
            let after: Vec<String> = number
                .checked_sub(1)
                .map(|before| format!("s{before}"))
                .into_iter()
                .collect();
            json!({"id": format!("s{number}"), "tool": "pay", "args": {"text": text}, "after": after})
        })
        .collect();
    ending.submit(json!({"steps": steps}));
    assert_eq!(ending.called(), "pay 0");
    let run = ending.newest_run(database.url());
    ending.listening.terminate();
    let mut calls = vec!["pay 0".to_owned()];
    calls.extend(
        ending
            .recorder
            .messages_until_end()
            .iter()
            .filter_map(text_of),
    );
    assert!(calls.len() < texts.len(), "{calls:?}");
    while calls.len() < texts.len() {
        calls.push(other.called());
    }
    assert_eq!(calls, texts);
    let ended = other.task_is(&run, "completed")["result"]["structuredContent"].take();
    assert_eq!(ended["status"], "succeeded", "{ended}");
}

#[test]
fn a_gateway_without_its_server_refuses_plans_and_continues_its_runs_later() {
    let mut server = PostgresServer::start().unwrap();
    let mut gateway = Replica::new(&server.url());
    let other = Replica::new(&server.url());
    let run = gateway.start_plan(&server.url());
    server.kill();
    // The task is not unknown: a client that asks goes on asking.
    let asked = message(other.listening.url(), "tasks/get", json!({"taskId": run}))
        .header("authorization", &format!("Bearer {}", other.token));
    let answer = asked.send().answer();
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    drop(other);
    let plan = json!({"steps": [{"id": "more", "tool": "note", "args": {"text": "more"}}]});
    let refused = gateway.call("execute_plan", json!({"plan": plan}));
    assert_eq!(refused["status"], "rejected", "{refused}");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.starts_with("the run cannot be stored: the store `postgres://")
            && message.contains("cannot be used: "),
        "{message}"
    );
    // Its outcome, and the intent of the next call, wait for the server.
    gateway.recorder.release();
    server.start_again().unwrap();
    // The plan that was refused has called nothing.
    assert_eq!(gateway.called(), "end");
    gateway.has_succeeded(&run);
    let accepted = gateway.call("execute_plan", json!({"plan": plan}));
    assert_eq!(accepted["status"], "succeeded", "{accepted}");
    assert_eq!(gateway.called(), "more");
    gateway.listening.terminate();
}

/// Many requests are allowed, and runs become tasks at once.
const TASKS: &str = "[serve]\ntask_after = '1ms'\nrate = '1000000/s'";

#[test]
fn a_task_that_was_cancelled_after_its_gateway_died_calls_nothing_more() {
    let database = PostgresDatabase::create().unwrap();
    let (mut killed, mut other) = (
        Replica::with(database.url(), TASKS),
        Replica::with(database.url(), TASKS),
    );
    let run = killed.start_plan(database.url());
    killed.listening.kill();
    other.ask("tasks/cancel", json!({"taskId": run}));
    other.task_is(&run, "cancelled");
    other.listening.terminate();
    let methods = other.recorder.methods_until_end();
    assert!(
        !methods.iter().any(|method| method == "tools/call"),
        "{methods:?}"
    );
}

#[test]
fn a_task_that_waits_for_input_still_waits_after_its_gateway_died() {
    let database = PostgresDatabase::create().unwrap();
    let (mut killed, other) = (
        Replica::with(database.url(), TASKS),
        Replica::with(database.url(), TASKS),
    );
    let plan = json!({"steps": [{"id": "a", "tool": "drop", "args": {"text": "a"}}]});
    let handle = killed.ask(
        "tools/call",
        json!({"name": "execute_plan", "arguments": {"plan": plan}}),
    );
    let task = handle["taskId"].as_str().unwrap().to_owned();
    let asked = killed.task_is(&task, "input_required")["inputRequests"].take();
    // A balancer may send the client to any gateway.
    let elsewhere = other.task_is(&task, "input_required")["inputRequests"].take();
    assert_eq!(elsewhere, asked);
    // Once the other gateway has resumed a run, it has looked at the one before.
    killed.start_plan(database.url());
    killed.listening.kill();
    assert_eq!(other.called(), "wait");
    // The servers of the other gateway are configured for its own folder, so its question has a digest of its own.
    let questions = other.task_is(&task, "input_required")["inputRequests"].take();
    let (name, question) = questions.as_object().unwrap().iter().next().unwrap();
    let message = question["params"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("a wants to call fake.drop"),
        "{message}"
    );
    let mut answers = json!({});
    answers[name] = json!({"action": "accept", "content": {"decision": "approve"}});
    let update = json!({"taskId": task, "inputResponses": answers});
    other.ask("tasks/update", update);
    assert_eq!(other.called(), "a");
    other.task_is(&task, "completed");
}

#[test]
fn a_client_has_its_limit_of_plans_over_all_gateways() {
    let database = PostgresDatabase::create().unwrap();
    let settings = "[serve]\nmax_plans = 1";
    let one = Replica::with(database.url(), settings);
    let other = Replica::with(database.url(), settings);
    let run = one.start_plan(database.url());
    let plan = json!({"steps": [{"id": "more", "tool": "note", "args": {"text": "more"}}]});
    let refused = other.call("execute_plan", json!({"plan": plan}));
    let error = refused["message"].as_str().unwrap_or_default();
    assert!(
        error.contains("maximum of plans in progress (1), over all processes"),
        "{refused}"
    );
    one.recorder.release();
    assert_eq!(one.called(), "end");
    other.has_succeeded(&run);
    // The lease of the run ends after its status is stored, and counts until then.
    let mut accepted = json!({"status": "rejected"});
    while accepted["status"] == "rejected" {
        accepted = other.call("execute_plan", json!({"plan": plan}));
    }
    assert_eq!(accepted["status"], "succeeded", "{accepted}");
}

#[test]
fn a_client_has_its_rate_over_all_gateways() {
    let database = PostgresDatabase::create().unwrap();
    let settings = "[serve]\nrate = '4/h'";
    let replicas = [
        Replica::with(database.url(), settings),
        Replica::with(database.url(), settings),
    ];
    let statuses: Vec<u16> = (0..6)
        .map(|request| {
            let replica = &replicas[request % 2];
            let request = message(replica.listening.url(), "tools/list", json!({}))
                .header("authorization", &format!("Bearer {}", replica.token));
            request.send().status()
        })
        .collect();
    assert_eq!(statuses, [200, 200, 200, 200, 429, 429]);
}
