//! Runs that began while their plan was being written, as a store keeps them: replayed, shown, gone on with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::SystemTime;

use planwright::core::Catalog;
use planwright::core::check::{CheckContext, CheckedPlan};
use planwright::dialects::{ReadOptions, native::Native, parse_as};
use planwright::engine::backend::Simulated;
use planwright::engine::options::RunOptions;
use planwright::engine::{Engine, RunEvent, RunStatus, RunSummary};
use planwright::format::ToolSourcesV1;
use planwright::loaded_plan::LoadedPlan;
use planwright::planner::create::{CreateSettings, PlanOrigin, PlanRequest};
use planwright::planner::model::ScriptedModel;
use planwright::planner::prompt::{PlanTask, TimeContext};
use planwright::planner::stream::{StreamEvent, StreamOutcome, StreamRequest, stream};
use planwright::stored::{StoredRun, StreamedRunStore};
use planwright_store::{LeaseHolder, Store};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::program::{planwright, stderr, stdout};

const RUN: &str = "0123456789abcdef";

const PLAN: &str = r#"{"name": "story", "steps": [
    {"id": "a", "tool": "look", "args": {"at": "alpha"}},
    {"id": "b", "tool": "look", "args": {"at": "${a.at}"}},
    {"id": "tell", "tool": "send", "args": {"text": "${b.at} and more"}},
    {"id": "c", "tool": "look", "args": {"at": "gamma"}}], "output": ["tell"]}"#;

/// A folder with a script of tools and a store.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(send: &Value) -> Self {
        let place = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        place.tools(send);
        place
    }

    fn tools(&self, send: &Value) {
        let reads = json!({"readOnlyHint": true});
        let script = json!({"tools": {"look": {"echo": true, "annotations": reads}, "send": send}});
        fs::write(self.tools_file(), script.to_string()).unwrap();
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn tools_file(&self) -> PathBuf {
        self.path().join("tools.json")
    }

    fn store(&self) -> Store {
        Store::open(self.path().join("runs.db")).unwrap()
    }

    /// Streams a model's answers, until they have run or a call of `until` is sent.
    async fn stream(&self, answers: &[&str], until: Option<&str>) -> Option<StreamOutcome> {
        let script = planwright::Value::from_json(&fs::read_to_string(self.tools_file()).unwrap());
        let simulated = Simulated::from_script(&script.unwrap()).unwrap();
        let catalog: Catalog = simulated.tools().cloned().collect();
        let answers: Vec<Value> = answers
            .iter()
            .map(|text| json!({"text": text, "tokens_per_second": 500}))
            .collect();
        let model = ScriptedModel::read("replay", &json!(answers).to_string()).unwrap();
        let settings = CreateSettings::default();
        let options = RunOptions::default();
        let store = self.store();
        let holder = LeaseHolder::this_process("here", SystemTime::UNIX_EPOCH);
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let storage = StreamedRunStore {
            store: &store,
            holder: &holder,
            id: &RUN.parse().unwrap(),
            sources: ToolSourcesV1 {
                folder: text(self.path()),
                simulate: Some(text(&self.tools_file())),
                ..ToolSourcesV1::default()
            },
            client: None,
            options: &options,
            loaded: &|text| {
                let options = ReadOptions::new("answer");
                LoadedPlan::new("answer", parse_as(&Native, text.as_bytes(), &options))
            },
            now: &|| SystemTime::UNIX_EPOCH,
        };
        let engine = Engine::new(simulated).with_options(options.clone());
        let sent = Notify::new();
        let mut listener = |event: StreamEvent<'_>| {
            if let StreamEvent::Run(event) = event
                && let RunEvent::AttemptStarted { at, .. } = &event.event
                && until.is_some_and(|until| at.step.as_str() == until)
            {
                sent.notify_one();
            }
        };
        let streaming = stream(StreamRequest {
            creation: PlanRequest {
                model: &model,
                task: PlanTask {
                    goal: "tell",
                    moment: TimeContext {
                        today: "2025-10-12 (Sunday), UTC",
                        times: &[],
                    },
                    catalog: &catalog,
                    memory: None,
                    state: None,
                },
                check: CheckContext::new(&catalog),
                origin: PlanOrigin {
                    timestamp: "2025-10-12T06:00:00.000Z",
                    estimate: &no_estimate,
                },
                settings: &settings,
            },
            launcher: &engine,
            run: RUN.parse().unwrap(),
            storage: Some(&storage),
            listener: &mut listener,
        });
        let streamed = tokio::select! {
            streamed = streaming => Some(streamed),
            () = sent.notified() => None,
        };
        // A process that resumes the run must not find it leased.
        while store.lease_run(RUN, &holder).is_err() {
            tokio::task::yield_now().await;
        }
        streamed
    }

    fn program(&self, arguments: &[&str]) -> Output {
        planwright(self.path())
            .env("PLANWRIGHT_STORE", self.path().join("runs.db"))
            .args(arguments)
            .output()
            .unwrap()
    }

    /// Checks that the run replays identically and can be shown. Returns its report.
    fn replayed(&self, processes: usize) -> RunSummary {
        let replayed = StoredRun::read(&self.store(), RUN)
            .unwrap()
            .replayed(&RUN.parse().unwrap());
        let replayed = replayed.unwrap_or_else(|error| panic!("{error:?}"));
        assert_eq!(replayed.processes, processes);
        for command in ["replay", "show", "logs"] {
            let output = self.program(&[command, RUN]);
            assert!(output.status.success(), "{}", stderr(&output));
            assert_ne!(stdout(&output), "");
        }
        replayed.summary
    }

    fn report(&self, arguments: &[&str]) -> Value {
        let output = self.program(arguments);
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)))
    }
}

fn no_estimate(_: &CheckedPlan) -> Option<std::time::Duration> {
    None
}

fn calls(report: &Value) -> Vec<&str> {
    let calls = report["calls"].as_array().unwrap();
    calls
        .iter()
        .map(|call| call["step"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_streamed_run_is_kept_as_any_other() {
    let place = Place::new(&json!({"echo": true}));
    let streamed = place.stream(&[PLAN], None).await.unwrap();
    let summary = streamed.summary.unwrap();
    assert_eq!(summary.status, RunStatus::Succeeded);
    assert_eq!(streamed.early[0].at.to_string(), "a");
    assert!(streamed.early.len() < 4, "{:?}", streamed.early);
    let replayed = place.replayed(1);
    assert_eq!(replayed.status, RunStatus::Succeeded);
    assert_eq!(replayed.plan.as_deref(), Some("story"));
    assert_eq!(replayed.digest, summary.digest);
    assert_eq!(replayed.output, summary.output);
    assert_eq!(replayed.calls.len(), 4);
    let drawn = stdout(&place.program(&["show", RUN]));
    for step in ["a", "b", "tell", "c"] {
        assert!(drawn.contains(step), "{drawn}");
    }
}

#[tokio::test]
async fn a_streamed_run_that_was_interrupted_goes_on() {
    let place = Place::new(&json!({"sleep_ms": 3_600_000, "echo": true}));
    assert!(place.stream(&[PLAN], Some("tell")).await.is_none());
    place.tools(&json!({"echo": true}));
    let report = place.report(&["resume", RUN, "--retry", "tell", "--format", "json"]);
    assert_eq!(report["status"], "succeeded", "{report:#}");
    let mut calls = calls(&report);
    calls.sort_unstable();
    assert_eq!(calls, ["a", "b", "c", "tell", "tell"]);
    assert_eq!(place.replayed(2).status, RunStatus::Succeeded);
}

#[tokio::test]
async fn a_streamed_run_that_began_again_is_one_run() {
    let place = Place::new(&json!({"echo": true}));
    let unsound = PLAN.replace("\"gamma\"", "\"gamma\", \"with\": \"${missing}\"");
    let other = PLAN.replace("${a.at}", "${a.at}!");
    let streamed = place.stream(&[&unsound, &other], None).await.unwrap();
    assert!(streamed.abandoned.is_some());
    assert_eq!(streamed.summary.unwrap().status, RunStatus::Succeeded);
    let counts: Vec<(String, bool)> = streamed
        .early
        .iter()
        .map(|call| (call.at.to_string(), call.counts))
        .collect();
    assert_eq!(counts, [("a".to_owned(), true), ("b".to_owned(), false)]);
    assert_eq!(place.replayed(2).status, RunStatus::Succeeded);
}

#[tokio::test]
async fn a_streamed_run_without_a_plan_is_there_to_be_looked_at() {
    let place = Place::new(&json!({"echo": true}));
    let unsound = PLAN.replace("\"gamma\"", "\"gamma\", \"with\": \"${missing}\"");
    let streamed = place.stream(&[&unsound, "No.", "No."], None).await.unwrap();
    assert!(streamed.summary.is_none());
    let replayed = place.replayed(1);
    assert_eq!(replayed.status, RunStatus::Cancelled);
    assert_eq!(replayed.calls.len(), 2);
}
