//! The events of a run as spans and histograms: one span for the plan, for each step, item and round, and for each attempt.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use opentelemetry::metrics::{Histogram, MeterProvider};
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt, Tracer, TracerProvider,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span};
use planwright_core::{PlanDigest, Value};
use planwright_engine::RunId;
use planwright_engine::backend::{ErrorKind, ToolError};
use planwright_engine::event::Address;
use planwright_engine::{RunEvent, RunStatus, StampedEvent};

use super::trace_context::TraceContext;

/// The collector's share of the telemetry: the spans, the histograms, and whether values are in the spans.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) tracers: SdkTracerProvider,
    pub(super) figures: Figures,
    pub(super) capture_values: bool,
}

/// The spans of a run, built from its events.
#[derive(Debug)]
pub struct RunSpans(Option<Box<Open>>);

#[derive(Debug)]
struct Open {
    sending: Arc<Sending>,
    tracer: SdkTracer,
    /// The wall-clock time at which the run began.
    began: SystemTime,
    plan: Span,
    steps: HashMap<Arc<Address>, Span>,
    attempts: HashMap<Arc<Address>, (Span, Duration)>,
}

impl RunSpans {
    #[expect(
        clippy::disallowed_methods,
        reason = "spans carry the time of day, which nothing in the run depends on"
    )]
    pub(super) fn new(sending: Option<Arc<Sending>>, parent: Option<&TraceContext>) -> Self {
        let Some(sending) = sending else {
            return Self(None);
        };
        let began = SystemTime::now();
        let tracer = sending.tracers.tracer(env!("CARGO_PKG_NAME"));
        let parent = parent.map_or_else(Context::new, |parent| below(&parent.0));
        let attributes = [KeyValue::new(OPERATION, INVOKE_WORKFLOW)];
        let plan = SpanBuilder::from_name(INVOKE_WORKFLOW)
            .with_kind(SpanKind::Internal)
            .with_start_time(began)
            .with_attributes(attributes);
        let plan = tracer.build_with_context(plan, &parent);
        Self(Some(Box::new(Open {
            sending,
            tracer,
            began,
            plan,
            steps: HashMap::new(),
            attempts: HashMap::new(),
        })))
    }

    /// The place of the plan in its trace, which is the parent of its requests.
    pub fn context(&self) -> Option<TraceContext> {
        let open = self.0.as_ref()?;
        Some(TraceContext(open.plan.span_context().clone()))
    }

    /// Adds an event of the run to its spans.
    pub fn event(&mut self, event: &StampedEvent) {
        if let Some(open) = &mut self.0 {
            open.event(event);
        }
    }
}

impl Open {
    fn event(&mut self, event: &StampedEvent) {
        let at = event.at;
        match &event.event {
            RunEvent::RunStarted {
                run,
                plan,
                digest,
                steps,
            } => self.run_started(run, plan.as_deref(), digest, *steps),
            RunEvent::StepStarted { at: step, tool, .. } => {
                self.step_started(step, tool.as_ref(), at);
            }
            RunEvent::AttemptStarted {
                at: step,
                tool,
                attempt,
                args,
            } => self.attempt_started(step, tool, *attempt, args, at),
            RunEvent::AttemptEnded {
                at: step,
                tool,
                error,
                ..
            } => self.attempt_ended(step, tool, error.as_ref(), at),
            RunEvent::ApprovalAsked { at: step, .. } => self.note(step, "approval asked", at),
            RunEvent::ApprovalDecided {
                at: step, approved, ..
            } => {
                let what = if *approved { "approved" } else { "rejected" };
                self.note(step, what, at);
            }
            RunEvent::OutcomeUnknown { at: step, .. } => self.note(step, "outcome unknown", at),
            RunEvent::StepEnded {
                at: step,
                status,
                output,
                error,
                ..
            } => {
                let Some(mut span) = self.steps.remove(step) else {
                    return;
                };
                span.set_attribute(KeyValue::new(STATUS, status.as_str()));
                if let Some(output) = output.as_ref().filter(|_| self.sending.capture_values) {
                    span.set_attribute(KeyValue::new(RESULT, output.to_json()));
                }
                self.end(&mut span, error.as_ref(), at);
            }
            RunEvent::RunEnded { status } => self.run_ended(*status, at),
            // A retry shows as its next attempt; the steps of an extension show as they start.
            RunEvent::PlanExtended { .. }
            | RunEvent::RetryScheduled { .. }
            | RunEvent::CallProgress { .. }
            | RunEvent::RunDraining => {}
        }
    }

    fn run_started(&mut self, run: &RunId, plan: Option<&str>, digest: &PlanDigest, steps: usize) {
        if let Some(name) = plan {
            self.plan.update_name(format!("{INVOKE_WORKFLOW} {name}"));
            self.plan
                .set_attribute(KeyValue::new(WORKFLOW, name.to_owned()));
        }
        let steps = i64::try_from(steps).unwrap_or(i64::MAX);
        self.plan.set_attributes([
            KeyValue::new(RUN, Arc::<str>::from(run.clone())),
            KeyValue::new(DIGEST, Arc::clone(digest.text())),
            KeyValue::new(STEPS, steps),
        ]);
    }

    fn step_started(&mut self, step: &Arc<Address>, tool: Option<&Arc<str>>, at: Duration) {
        let mut attributes = vec![KeyValue::new(STEP, step.to_string())];
        attributes.extend(
            tool.into_iter()
                .map(|tool| KeyValue::new(TOOL, Arc::clone(tool))),
        );
        let name = tool
            .as_ref()
            .map_or("step".into(), |tool| format!("step {tool}"));
        let span = self.start(
            name,
            SpanKind::Internal,
            attributes,
            &self.parent_of(step),
            at,
        );
        self.steps.insert(Arc::clone(step), span);
    }

    fn attempt_started(
        &mut self,
        step: &Arc<Address>,
        tool: &Arc<str>,
        attempt: u32,
        args: &Value,
        at: Duration,
    ) {
        let mut attributes = vec![
            KeyValue::new(OPERATION, EXECUTE_TOOL),
            KeyValue::new(TOOL, Arc::clone(tool)),
            KeyValue::new(METHOD, TOOLS_CALL),
            KeyValue::new(CALL_ID, step.to_string()),
            KeyValue::new(RESENT, i64::from(attempt)),
        ];
        if self.sending.capture_values {
            attributes.push(KeyValue::new(ARGUMENTS, args.to_json()));
        }
        let parent = self.steps.get(step).map(|span| span.span_context().clone());
        let parent = parent.unwrap_or_else(|| self.parent_of(step));
        let name = format!("{EXECUTE_TOOL} {tool}");
        let span = self.start(name, SpanKind::Client, attributes, &parent, at);
        self.attempts.insert(Arc::clone(step), (span, at));
    }

    fn attempt_ended(
        &mut self,
        step: &Arc<Address>,
        tool: &str,
        error: Option<&ToolError>,
        at: Duration,
    ) {
        let Some((mut span, began)) = self.attempts.remove(step) else {
            return;
        };
        self.end(&mut span, error, at);
        let took = at.saturating_sub(began);
        self.sending.figures.call(tool, took, error.map(kind));
    }

    fn run_ended(&mut self, status: RunStatus, at: Duration) {
        let time = self.time(at);
        self.plan
            .set_attribute(KeyValue::new(STATUS, status.as_str()));
        let error = match status {
            RunStatus::Succeeded | RunStatus::Waiting => None,
            RunStatus::Failed | RunStatus::Cancelled => Some(status.as_str()),
        };
        if let Some(error) = error {
            self.plan.set_attribute(KeyValue::new(ERROR, error));
            self.plan.set_status(Status::error(""));
        }
        self.plan.end_with_timestamp(time);
        self.sending.figures.plan(at, error);
    }

    /// Returns the parent of a step: the step whose item or round it is, the step that runs its plan, or the plan itself.
    fn parent_of(&self, step: &Arc<Address>) -> SpanContext {
        let is_part = step.item.is_some() || step.round.is_some();
        let whole = is_part.then(|| Address {
            item: None,
            round: None,
            ..Address::clone(step)
        });
        let whole = whole.and_then(|whole| self.steps.get(&whole));
        let outer = || self.steps.get(step.inside.as_ref()?);
        let span = whole.or_else(outer).unwrap_or(&self.plan);
        span.span_context().clone()
    }

    fn start(
        &self,
        name: String,
        kind: SpanKind,
        attributes: Vec<KeyValue>,
        parent: &SpanContext,
        at: Duration,
    ) -> Span {
        let builder = SpanBuilder::from_name(name)
            .with_kind(kind)
            .with_start_time(self.time(at))
            .with_attributes(attributes);
        self.tracer.build_with_context(builder, &below(parent))
    }

    /// Ends a span. The message of an error may contain values, so only its kind is reported unless values are captured.
    fn end(&self, span: &mut Span, error: Option<&ToolError>, at: Duration) {
        if let Some(error) = error {
            span.set_attribute(KeyValue::new(ERROR, kind(error)));
            let message = self.sending.capture_values.then(|| error.message.clone());
            span.set_status(Status::error(message.unwrap_or_default()));
        }
        span.end_with_timestamp(self.time(at));
    }

    fn note(&mut self, step: &Arc<Address>, what: &'static str, at: Duration) {
        let time = self.time(at);
        if let Some(span) = self.steps.get_mut(step) {
            span.add_event_with_timestamp(what, time, Vec::new());
        }
    }

    fn time(&self, at: Duration) -> SystemTime {
        self.began.checked_add(at).unwrap_or(self.began)
    }
}

fn below(parent: &SpanContext) -> Context {
    Context::new().with_remote_span_context(parent.clone())
}

/// The kind of an error, as the conventions define it: a result that a tool marks as an error is a `tool_error`.
fn kind(error: &ToolError) -> &'static str {
    match error.kind {
        ErrorKind::Tool => "tool_error",
        other => other.as_str(),
    }
}

/// The bounds of the conventions, in seconds.
const BOUNDS: [f64; 14] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];

/// The histograms of durations.
#[derive(Debug)]
pub(super) struct Figures {
    plans: Histogram<f64>,
    tools: Histogram<f64>,
    calls: Histogram<f64>,
}

impl Figures {
    pub(super) fn new(meters: &SdkMeterProvider) -> Self {
        let meter = meters.meter(env!("CARGO_PKG_NAME"));
        let histogram = |name: &'static str, about: &'static str| {
            meter
                .f64_histogram(name)
                .with_unit("s")
                .with_description(about)
                .with_boundaries(BOUNDS.to_vec())
                .build()
        };
        Self {
            plans: histogram(WORKFLOW_DURATION, "How long plans took."),
            tools: histogram(TOOL_DURATION, "How long calls of tools took."),
            calls: histogram(MCP_DURATION, "How long requests to servers took."),
        }
    }

    /// A plan has ended.
    pub(super) fn plan(&self, took: Duration, error: Option<&'static str>) {
        let mut labels = vec![KeyValue::new(OPERATION, INVOKE_WORKFLOW)];
        labels.extend(error.map(|error| KeyValue::new(ERROR, error)));
        self.plans.record(took.as_secs_f64(), &labels);
    }

    /// A call of a tool has ended.
    pub(super) fn call(&self, tool: &str, took: Duration, error: Option<&'static str>) {
        let mut labels = vec![
            KeyValue::new(OPERATION, EXECUTE_TOOL),
            KeyValue::new(TOOL, tool.to_owned()),
        ];
        labels.extend(error.map(|error| KeyValue::new(ERROR, error)));
        self.tools.record(took.as_secs_f64(), &labels);
        labels.push(KeyValue::new(METHOD, TOOLS_CALL));
        self.calls.record(took.as_secs_f64(), &labels);
    }
}

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const WORKFLOW: &str = "gen_ai.workflow.name";
pub(super) const TOOL: &str = "gen_ai.tool.name";
pub(super) const CALL_ID: &str = "gen_ai.tool.call.id";
pub(super) const ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(super) const RESULT: &str = "gen_ai.tool.call.result";
pub(super) const METHOD: &str = "mcp.method.name";
pub(super) const ERROR: &str = "error.type";
pub(super) const RESENT: &str = "planwright.attempt";
pub(super) const RUN: &str = "planwright.run.id";
pub(super) const DIGEST: &str = "planwright.plan.digest";
pub(super) const STEPS: &str = "planwright.plan.steps";
pub(super) const STEP: &str = "planwright.step";
pub(super) const STATUS: &str = "planwright.status";

pub(super) const EXECUTE_TOOL: &str = "execute_tool";
pub(super) const INVOKE_WORKFLOW: &str = "invoke_workflow";
pub(super) const TOOLS_CALL: &str = "tools/call";

pub(super) const WORKFLOW_DURATION: &str = "gen_ai.workflow.duration";
pub(super) const TOOL_DURATION: &str = "gen_ai.execute_tool.duration";
pub(super) const MCP_DURATION: &str = "mcp.client.operation.duration";
