//! The agent loop. A case is a file in `tests/golden/agent`: tools as `--simulate` takes them, the context and the replies. Its snapshot holds
//! every request and call. Each case is also resumed from every point at which it could have been interrupted.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::check::{Library, Policy};
use planwright_core::{Catalog, CheckContext, Schema, Value};
use planwright_dialects::{ReadOptions, parse};
use planwright_engine::backend::Simulated;
use planwright_engine::{Engine, RunSummary, ToolBackend, ToolCall, ToolError, ToolOutput};
use planwright_planner::agent::{
    Agent, AgentContext, AgentEnd, AgentLimits, AgentListener, AgentOutcome, AgentRun, AgentState,
    CallStatus, NoopListener, ResumeOutcome, SolutionOutcome, SolutionRunner,
};
use planwright_planner::model::{Message, Model, ModelRequest};
use planwright_planner::prompt::TimeContext;
use serde_json::Value as Json;

use crate::support::{RecordedModel, assert_golden, cases, read, value};

/// Simulated tools that record their calls.
struct Tools {
    simulated: Simulated,
    calls: Arc<Mutex<Vec<String>>>,
}

impl ToolBackend for Tools {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let line = format!("{} {}", call.tool.name, call.args);
        self.calls.lock().unwrap().push(line);
        self.simulated.call(call)
    }
}

/// An engine that can resume runs, since it stores their summaries.
struct ResumableRunner {
    engine: Engine,
    ended: Mutex<HashMap<Arc<str>, RunSummary>>,
}

impl SolutionRunner for ResumableRunner {
    fn run(&self, run: AgentRun) -> BoxFuture<'_, SolutionOutcome> {
        Box::pin(async move {
            let id = Arc::<str>::from(run.id.clone());
            let ran = SolutionRunner::run(&self.engine, run).await;
            if let SolutionOutcome::Ended(summary) = &ran {
                self.ended.lock().unwrap().insert(id, (**summary).clone());
            }
            ran
        })
    }

    fn resume(&self, run: AgentRun) -> BoxFuture<'_, ResumeOutcome> {
        let ended = self.ended.lock().unwrap().get(run.id.as_str()).cloned();
        Box::pin(async move {
            match ended {
                Some(summary) => ResumeOutcome::Resumed(SolutionOutcome::Ended(Box::new(summary))),
                None => ResumeOutcome::NotStarted,
            }
        })
    }
}

/// Records every state, with the number of requests to the model so far.
struct StateRecorder<'a> {
    model: &'a RecordedModel,
    states: Mutex<Vec<(String, usize)>>,
}

impl AgentListener for StateRecorder<'_> {
    fn save(&self, state: &AgentState) -> Result<(), String> {
        let stored = (state.to_json(), self.model.asked());
        self.states.lock().unwrap().push(stored);
        Ok(())
    }
}

/// A case and its tools.
struct Case {
    json: Json,
    catalog: Catalog,
    library: Library,
    output: Option<Schema>,
    bounds: AgentLimits,
    policy: Policy,
}

impl Case {
    fn read(json: Json) -> Self {
        let simulated = simulated(&json);
        let mut library = Library::new();
        for (name, text) in json["plans"].as_object().into_iter().flatten() {
            let result = parse(text.as_str().unwrap().as_bytes(), &ReadOptions::new(name));
            assert!(!result.diagnostics.has_errors(), "{}", result.diagnostics);
            library.add(name.as_str(), result.plan.unwrap());
        }
        let mut bounds = AgentLimits::default();
        if let Some(rounds) = json["bounds"]["rounds"].as_u64() {
            bounds.rounds = NonZeroU32::new(rounds.try_into().unwrap()).unwrap();
        }
        Self {
            catalog: simulated.tools().cloned().collect(),
            library,
            output: json
                .get("output")
                .map(|schema| Schema::from_value(value(schema))),
            bounds,
            policy: Policy::new(),
            json,
        }
    }

    fn replies(&self) -> &[Json] {
        self.json["replies"].as_array().unwrap()
    }

    fn begin(&self) -> AgentState {
        let messages: Vec<Value> = self.json["context"]
            .as_array()
            .unwrap()
            .iter()
            .map(value)
            .collect();
        AgentState::new("t", AgentContext::read(&messages, &self.catalog).unwrap())
    }

    /// Creates an engine over fresh tools, and the list of calls.
    fn engine(&self) -> (Engine, Arc<Mutex<Vec<String>>>) {
        let calls = Arc::default();
        let tools = Tools {
            simulated: simulated(&self.json),
            calls: Arc::clone(&calls),
        };
        (Engine::new(tools), calls)
    }

    async fn play(
        &self,
        model: &dyn Model,
        runner: &dyn SolutionRunner,
        state: AgentState,
    ) -> AgentOutcome {
        self.agent(model, runner, &NoopListener).resume(state).await
    }

    fn agent<'a>(
        &'a self,
        model: &'a dyn Model,
        runner: &'a dyn SolutionRunner,
        listener: &'a dyn AgentListener,
    ) -> Agent<'a> {
        Agent {
            model,
            runner,
            check: CheckContext::new(&self.catalog).with_library(&self.library),
            policy_after_results: &self.policy,
            output: self.output.as_ref(),
            moment: TimeContext::default(),
            bounds: &self.bounds,
            listener,
        }
    }
}

fn simulated(json: &Json) -> Simulated {
    Simulated::from_script(&Value::object([("tools", value(&json["tools"]))])).unwrap()
}

#[tokio::test]
async fn loops_match_their_golden_cases() {
    for file in cases("agent") {
        check(&file).await;
    }
}

/// Runs the case in `file` and compares it with its snapshot.
async fn check(file: &Path) {
    let case = Case::read(read(file));
    let model = RecordedModel::new(case.replies());
    let (engine, calls) = case.engine();
    let runner = ResumableRunner {
        engine,
        ended: Mutex::default(),
    };
    let listener = StateRecorder {
        model: &model,
        states: Mutex::default(),
    };
    let outcome = case
        .agent(&model, &runner, &listener)
        .resume(case.begin())
        .await;
    expect(&case, &outcome, file);
    let left = case.replies().len() - model.asked();
    assert_eq!(
        case.json["left"].as_u64().unwrap_or(0),
        left as u64,
        "{}",
        file.display()
    );
    let calls = calls.lock().unwrap().clone();
    let states = listener.states.into_inner().unwrap();
    for (state, asked) in &states {
        let state = AgentState::read(state).unwrap();
        // Continue as a process that knows the outcome of the run.
        resume(&case, state, *asked, &runner, file).await;
    }
    assert_golden(file, &shown(&model.requests(), &calls, &outcome));
}

/// Continues from `state`, after `asked` requests to the model.
async fn resume(
    case: &Case,
    state: AgentState,
    asked: usize,
    runner: &dyn SolutionRunner,
    file: &Path,
) {
    let model = RecordedModel::new(&case.replies()[asked..]);
    let outcome = case.play(&model, runner, state).await;
    // If the last round ended the loop for good, there is nothing to continue.
    if !matches!(outcome.end, AgentEnd::Model(_)) {
        expect(case, &outcome, file);
    }
}

fn expect(case: &Case, outcome: &AgentOutcome, file: &Path) {
    assert_eq!(
        case.json["end"],
        outcome.end.as_str(),
        "{}: {outcome:?}",
        file.display()
    );
    let result = case.json.get("result").map(value);
    assert_eq!(result, outcome.output, "{}", file.display());
}

/// Formats the requests, the calls and the end.
fn shown(requests: &[ModelRequest], calls: &[String], outcome: &AgentOutcome) -> String {
    let mut text = String::new();
    for request in requests {
        let Some(Message::User(words)) = request.messages.last() else {
            panic!("the last word is the model's: {request:?}");
        };
        writeln!(text, "--- asked\n{}", words.trim_end()).unwrap();
    }
    writeln!(text, "--- called\n{}", calls.join("\n")).unwrap();
    writeln!(text, "--- end\n{}", outcome.end).unwrap();
    if let Some(output) = &outcome.output {
        writeln!(text, "{output}").unwrap();
    }
    text
}

/// Reads the golden case `name`, for tests that need more than a script.
fn case(name: &str) -> Case {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/agent");
    Case::read(read(&folder.join(name).with_extension("json")))
}

#[tokio::test]
async fn calls_with_an_unknown_outcome_are_not_repeated() {
    let case = case("refund");
    let model = RecordedModel::new(case.replies());
    let (engine, _) = case.engine();
    let listener = StateRecorder {
        model: &model,
        states: Mutex::default(),
    };
    case.agent(&model, &engine, &listener)
        .resume(case.begin())
        .await;
    let states = listener.states.into_inner().unwrap();
    let before_run = AgentState::read(&states[0].0).unwrap();
    let (engine, calls) = case.engine();
    let model = RecordedModel::new(&[Json::from("{\"calls\": [], \"output\": null}")]);
    let outcome = case.play(&model, &engine, before_run).await;
    assert!(matches!(outcome.end, AgentEnd::NoCalls), "{outcome:?}");
    assert_eq!(*calls.lock().unwrap(), Vec::<String>::new());
    let statuses: Vec<_> = outcome
        .state
        .plan()
        .iter()
        .map(|record| record.status)
        .collect();
    assert_eq!(statuses, [None, Some(CallStatus::Unknown)]);
    let requests = model.requests();
    assert!(format!("{requests:?}").contains("not known whether this call happened"));
}

#[tokio::test]
async fn lazy_plans_are_shown_before_they_run() {
    let mut json = case("card-declined").json;
    let context = json["context"].as_array_mut().unwrap();
    context.push(serde_json::json!({"type": "plan", "plan": [], "mode": "lazy"}));
    let case = Case::read(json);
    let model = RecordedModel::new(case.replies());
    let (engine, calls) = case.engine();
    let agent = case.agent(&model, &engine, &NoopListener);
    let outcome = agent.resume(case.begin()).await;
    assert!(matches!(outcome.end, AgentEnd::Shown), "{outcome:?}");
    assert_eq!(calls.lock().unwrap().len(), 0);
    let mut state = outcome.state;
    state.accept();
    let outcome = agent.resume(state).await;
    assert!(matches!(outcome.end, AgentEnd::Shown), "{outcome:?}");
    assert_eq!(*calls.lock().unwrap(), ["processPayment {\"amount\":50.0}"]);
    let mut state = outcome.state;
    state.refuse("tell the customer first");
    let outcome = agent.resume(state).await;
    assert!(matches!(outcome.end, AgentEnd::Model(_)), "{outcome:?}");
    let requests = model.requests();
    assert!(format!("{:?}", requests.last()).contains("tell the customer first"));
}

/// A person who refuses every solution.
struct RefusingRunner;

impl SolutionRunner for RefusingRunner {
    fn run(&self, _: AgentRun) -> BoxFuture<'_, SolutionOutcome> {
        Box::pin(async { SolutionOutcome::Refused("not today".to_owned()) })
    }
}

#[tokio::test]
async fn refusals_reach_the_model() {
    let case = case("refund");
    let model = RecordedModel::new(case.replies());
    let outcome = case.play(&model, &RefusingRunner, case.begin()).await;
    assert!(matches!(outcome.end, AgentEnd::Model(_)), "{outcome:?}");
    let requests = model.requests();
    let request = format!("{:?}", requests[1]);
    assert!(
        request.contains("not today") && request.contains("refused"),
        "{request}"
    );
}

#[tokio::test(start_paused = true)]
async fn time_is_limited() {
    let mut json = case("refund").json;
    json["tools"]["checkBillingHistory"]["sleep_ms"] = Json::from(10_000);
    let mut case = Case::read(json);
    case.bounds.time = Some(Duration::from_secs(3));
    let model = RecordedModel::new(case.replies());
    let (engine, _) = case.engine();
    let outcome = case.play(&model, &engine, case.begin()).await;
    assert_eq!(outcome.end.to_string(), "the limit of time is reached");
    let statuses: Vec<_> = outcome
        .state
        .plan()
        .iter()
        .map(|record| record.status)
        .collect();
    assert_eq!(
        statuses,
        [Some(CallStatus::Cancelled), Some(CallStatus::Done)]
    );
}

#[tokio::test]
async fn cost_is_limited() {
    let mut json = case("refund").json;
    json["replies"][0] = serde_json::json!({
        "text": json["replies"][0], "usage": {"input": 900, "output": 200}
    });
    let mut case = Case::read(json);
    case.bounds.tokens = Some(1000);
    let model = RecordedModel::new(case.replies());
    let (engine, _) = case.engine();
    let outcome = case.play(&model, &engine, case.begin()).await;
    assert_eq!(outcome.end.to_string(), "the limit of tokens is reached");
    assert_eq!(outcome.state.usage().input_tokens, 900);
    case.bounds.tokens = None;
    case.bounds.asks = NonZeroU32::new(1);
    let model = RecordedModel::new(case.replies());
    let outcome = case.play(&model, &engine, case.begin()).await;
    assert_eq!(
        outcome.end.to_string(),
        "the limit of questions to the model is reached"
    );
}

/// A listener that cannot store anything.
struct FailingListener;

impl AgentListener for FailingListener {
    fn save(&self, _: &AgentState) -> Result<(), String> {
        Err("the disk is full".to_owned())
    }
}

#[tokio::test]
async fn nothing_runs_unless_the_state_is_stored() {
    let case = case("refund");
    let model = RecordedModel::new(case.replies());
    let (engine, calls) = case.engine();
    let outcome = case
        .agent(&model, &engine, &FailingListener)
        .resume(case.begin())
        .await;
    assert!(matches!(outcome.end, AgentEnd::NotStored(_)), "{outcome:?}");
    assert_eq!(calls.lock().unwrap().len(), 0);
}

#[test]
fn the_stored_form_keeps_its_fields() {
    let state = AgentState::new("id", AgentContext::default()).to_json();
    let fields: Json = serde_json::from_str(&state).unwrap();
    let mut names: Vec<&String> = fields.as_object().unwrap().keys().collect();
    names.sort();
    let expected = "asked done errors id last milliseconds pending plan rounds texts tools usage version world";
    assert_eq!(names, expected.split(' ').collect::<Vec<_>>());
}

#[test]
fn other_versions_are_rejected() {
    for (json, message) in [
        ("{}", "it has no `version`"),
        (
            r#"{"version": "planwright.agent/2"}"#,
            "the version `planwright.agent/2` is not known",
        ),
    ] {
        assert_eq!(AgentState::read(json).unwrap_err().to_string(), message);
    }
}

#[test]
fn invalid_contexts_are_rejected() {
    let catalog = Catalog::new();
    for (message, expected) in [
        (
            r#"{"type": "tool", "tool": "nothing"}"#,
            "PW0201 at /context/0: there is no tool `nothing`",
        ),
        (r#"{"type": "state", "_x": 1}"#, "PW0105 at /context/0/_x"),
    ] {
        let error =
            AgentContext::read(&[Value::from_json(message).unwrap()], &catalog).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}
