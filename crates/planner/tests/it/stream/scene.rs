//! A scene: tools that take half a second, a model that writes sixty tokens a second, and the outcome. Time is virtual.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt};
use planwright_core::{Annotations, Catalog, CheckContext, CheckedPlan, Schema, Tool, Value};
use planwright_dialects::native::PlanDialect;
use planwright_engine::approval::Always;
use planwright_engine::{
    Decision, Engine, RunSummary, ToolBackend, ToolCall, ToolError, ToolOutput,
};
use planwright_planner::create::{CreateSettings, PlanOrigin, PlanRequest};
use planwright_planner::model::{
    Model, ModelError, ModelErrorKind, ModelRequest, ReplyChunk, ScriptedModel,
};
use planwright_planner::prompt::{PlanTask, TimeContext};
use planwright_planner::stream::{
    EarlyRunStorage, StreamEvent, StreamOutcome, StreamRequest, stream,
};
use serde_json::json;
use tokio::time::Instant;

const CALL_DURATION: Duration = Duration::from_millis(500);

/// Returns the tools: `search` and `details` are read-only; `rumour` claims to be, but is not trusted; `consult` is read-only and needs
/// approval; `send` has side effects.
pub(super) fn catalog() -> Catalog {
    let reads = Annotations {
        read_only: true,
        destructive: false,
        trusted: true,
        ..Annotations::default()
    };
    let claims = Annotations {
        trusted: false,
        ..reads
    };
    let tool =
        |name: &str, parameter: &str, annotations: Annotations, output: serde_json::Value| Tool {
            input: Schema::from_value(Value::from(json!({
                "type": "object",
                "properties": {parameter: {"type": "string"}},
                "required": [parameter],
                "additionalProperties": false
            }))),
            output: Schema::from_value(Value::from(output)),
            annotations,
            ..Tool::new("office", name)
        };
    let found = json!({"type": "object", "properties": {"first": {"type": "string"}}, "required": ["first"]});
    let text =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let mut consult = tool("consult", "q", reads, text.clone());
    consult.approval = true;
    [
        tool("search", "q", reads, found),
        tool("details", "name", reads, text.clone()),
        tool("rumour", "q", claims, text.clone()),
        consult,
        tool("send", "text", Annotations::default(), text),
    ]
    .into_iter()
    .collect()
}

/// Records the start and the cancellation of each call.
#[derive(Clone)]
struct Office {
    began: Instant,
    log: Arc<Mutex<Vec<String>>>,
}

struct InFlight(Option<(Office, String)>);

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some((office, step)) = self.0.take() {
            office.note(&format!("{step} given up"));
        }
    }
}

impl Office {
    fn note(&self, what: &str) {
        let at = self.began.elapsed().as_millis();
        self.log.lock().unwrap().push(format!("{at:>5} {what}"));
    }
}

impl ToolBackend for Office {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let office = self.clone();
        Box::pin(async move {
            let step = call.context.step.to_string();
            office.note(&format!("{step} {}", call.args.to_json()));
            let mut in_flight = InFlight(Some((office, step.clone())));
            tokio::time::sleep(CALL_DURATION).await;
            in_flight.0 = None;
            let said = format!("{step}!");
            Ok(ToolOutput::value(Value::object([
                ("first", Value::from(said.as_str())),
                ("text", Value::from(said.as_str())),
            ])))
        })
    }
}

/// A model whose first reply ends after some chunks, with or without an error.
struct InterruptedModel {
    model: ScriptedModel,
    after: usize,
    with_error: bool,
}

impl Model for InterruptedModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn ask(&self, request: ModelRequest) -> BoxStream<'static, Result<ReplyChunk, ModelError>> {
        let chunks = self.model.ask(request).take(self.after);
        let error = self.with_error.then(|| {
            Err(ModelError::new(
                ModelErrorKind::Unavailable,
                "the line is dead",
            ))
        });
        chunks.chain(stream::iter(error)).boxed()
    }
}

/// The outcome of a scene.
pub(super) struct SceneOutcome {
    pub(super) streamed: StreamOutcome,
    /// The calls, with their times.
    pub(super) calls: Vec<String>,
    /// Time at which the first reply was complete, in milliseconds.
    pub(super) written_at: Option<u128>,
    /// Time at which the scene ended, in milliseconds.
    pub(super) ended_at: u128,
}

/// The setup of a scene.
pub(super) struct Scene<'a> {
    pub(super) dialect: PlanDialect,
    pub(super) answers: &'a [&'a str],
    /// Number of chunks before the reply ends, and whether an error follows.
    pub(super) breaks: Option<(usize, bool)>,
    /// Tokens per second; `None` for a reply that arrives at once.
    pub(super) pace: Option<u32>,
    pub(super) storage: Option<&'a dyn EarlyRunStorage>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(answers: &'a [&'a str]) -> Self {
        Self {
            dialect: PlanDialect::Json,
            answers,
            breaks: None,
            pace: Some(60),
            storage: None,
        }
    }

    pub(super) async fn play(self) -> SceneOutcome {
        let script: Vec<serde_json::Value> = self
            .answers
            .iter()
            .map(|text| json!({"text": text, "tokens_per_second": self.pace}))
            .collect();
        let replay = ScriptedModel::read("replay", &json!(script).to_string()).unwrap();
        let model: Box<dyn Model> = match self.breaks {
            None => Box::new(replay),
            Some((after, with_error)) => Box::new(InterruptedModel {
                model: replay,
                after,
                with_error,
            }),
        };
        let catalog = catalog();
        let mut settings = CreateSettings::default();
        settings.dialect = self.dialect;
        let estimate = |_: &CheckedPlan| None;
        let creation = PlanRequest {
            model: model.as_ref(),
            task: PlanTask {
                goal: "go",
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
                estimate: &estimate,
            },
            settings: &settings,
        };
        let office = Office {
            began: Instant::now(),
            log: Arc::default(),
        };
        let engine = Engine::new(office.clone())
            .with_approver(Arc::new(Always(Decision::Approve { args: None })));
        let mut written_at = None;
        let mut listener = |event: StreamEvent<'_>| {
            if let StreamEvent::PlanAttempt(_) = event {
                written_at.get_or_insert(office.began.elapsed().as_millis());
            }
        };
        let streamed = stream(StreamRequest {
            creation,
            launcher: &engine,
            run: "run".parse().unwrap(),
            storage: self.storage,
            listener: &mut listener,
        })
        .await;
        let calls = office.log.lock().unwrap().clone();
        SceneOutcome {
            streamed,
            calls,
            written_at,
            ended_at: office.began.elapsed().as_millis(),
        }
    }
}

impl SceneOutcome {
    pub(super) fn summary(&self) -> &RunSummary {
        let created = &self.streamed.created;
        let summary = self.streamed.summary.as_ref();
        summary.unwrap_or_else(|| panic!("nothing was run: {created:#?}"))
    }

    /// The steps that were called, in order.
    pub(super) fn called(&self) -> Vec<&str> {
        let words = self.calls.iter().map(|call| call.split_whitespace());
        words.filter_map(|mut words| words.nth(1)).collect()
    }

    /// Time of the first call of a step.
    pub(super) fn at(&self, step: &str) -> u128 {
        let call = self
            .calls
            .iter()
            .find(|call| call.split_whitespace().nth(1) == Some(step));
        let call = call.unwrap_or_else(|| panic!("`{step}` was not called: {:#?}", self.calls));
        call.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// The early calls, with their use.
    pub(super) fn early(&self) -> String {
        let mut text = String::new();
        for call in &self.streamed.early {
            let end = match (&call.error, call.counts) {
                (_, true) => "",
                (None, false) => " (in vain)",
                (Some(_), false) => " (given up)",
            };
            write!(text, "{}{end} ", call.at).unwrap();
        }
        text.trim_end().to_owned()
    }
}
