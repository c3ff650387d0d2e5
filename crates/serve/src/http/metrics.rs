//! Metrics of the server, in the text format of Prometheus.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use planwright::engine::{RunEvent, StampedEvent};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use tokio::time::Instant;

/// A label and its value: all that our metrics need.
type Label = [(&'static str, String); 1];

/// Seconds, from a call that is answered at once to a plan that takes an hour.
const BOUNDS: [f64; 12] = [
    0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 20.0, 60.0, 300.0, 1200.0, 3600.0,
];

/// The figures. Clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<MetricSet>);

struct MetricSet {
    registry: Registry,
    answers: Family<Label, Counter>,
    refusals: Family<Label, Counter>,
    requests: Gauge,
    request_time: Histogram,
    connections: Gauge,
    plans: Gauge,
    plans_ended: Family<Label, Counter>,
    plan_time: Histogram,
    calls: Family<Label, Counter>,
}

impl Metrics {
    pub(super) fn new() -> Self {
        let histogram = || Histogram::new(BOUNDS);
        let figures = MetricSet {
            registry: Registry::default(),
            answers: Family::default(),
            refusals: Family::default(),
            requests: Gauge::default(),
            request_time: histogram(),
            connections: Gauge::default(),
            plans: Gauge::default(),
            plans_ended: Family::default(),
            plan_time: histogram(),
            calls: Family::default(),
        };
        Self(Arc::new(figures.registered()))
    }

    /// All figures as text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = encode(&mut text, &self.0.registry);
        text
    }

    pub(super) fn answered(&self, status: StatusCode) {
        let label = [("status", status.as_str().to_owned())];
        self.0.answers.get_or_create(&label).inc();
    }

    pub(super) fn refused(&self, reason: &'static str) {
        let label = [("reason", reason.to_owned())];
        self.0.refusals.get_or_create(&label).inc();
    }

    pub(super) fn connected(&self) -> OpenConnection {
        self.0.connections.inc();
        OpenConnection(self.clone())
    }

    /// A request has begun, which goes on until what is given is dropped.
    pub(super) fn begin(&self) -> ActiveRequest {
        self.0.requests.inc();
        ActiveRequest {
            metrics: self.clone(),
            since: Instant::now(),
        }
    }

    /// Counts a plan that begins to run; hand it the events of the run.
    pub fn run(&self) -> RunCount {
        self.0.plans.inc();
        RunCount {
            metrics: self.clone(),
            took: None,
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl MetricSet {
    fn registered(mut self) -> Self {
        let registry = self.registry.sub_registry_with_prefix("planwright");
        let answers = self.answers.clone();
        registry.register("http_answers", "Answers, by status", answers);
        let refusals = self.refusals.clone();
        registry.register("http_refusals", "Requests that were not taken", refusals);
        let requests = self.requests.clone();
        registry.register("http_requests_under_way", "Requests under way", requests);
        let time = self.request_time.clone();
        let about = "How long requests took";
        registry.register_with_unit("http_request", about, Unit::Seconds, time);
        let connections = self.connections.clone();
        registry.register("http_connections", "Open connections", connections);
        let plans = self.plans.clone();
        registry.register("plans_under_way", "Plans under way", plans);
        let ended = self.plans_ended.clone();
        registry.register("plans", "Plans that ended, by status", ended);
        let time = self.plan_time.clone();
        let about = "How long plans took";
        registry.register_with_unit("plan", about, Unit::Seconds, time);
        let calls = self.calls.clone();
        registry.register("tool_calls", "Calls of tools, by outcome", calls);
        self
    }
}

/// A connection that is open.
#[derive(Debug)]
pub(super) struct OpenConnection(Metrics);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.0.connections.dec();
    }
}

/// A request that is under way.
#[derive(Debug)]
pub(super) struct ActiveRequest {
    metrics: Metrics,
    since: Instant,
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let figures = &self.metrics.0;
        figures.requests.dec();
        let time = self.since.elapsed();
        figures.request_time.observe(time.as_secs_f64());
    }
}

/// A plan that is counted while it runs.
#[derive(Debug)]
pub struct RunCount {
    metrics: Metrics,
    took: Option<Duration>,
}

impl RunCount {
    /// Something happened in the run.
    pub fn event(&mut self, event: &StampedEvent) {
        let figures = &self.metrics.0;
        match &event.event {
            RunEvent::AttemptEnded { error, .. } => {
                let outcome = if error.is_some() {
                    "failed"
                } else {
                    "answered"
                };
                let label = [("outcome", outcome.to_owned())];
                figures.calls.get_or_create(&label).inc();
            }
            RunEvent::RunEnded { status } => {
                let label = [("status", status.as_str().to_owned())];
                figures.plans_ended.get_or_create(&label).inc();
                self.took = Some(event.at);
            }
            RunEvent::RunStarted { .. }
            | RunEvent::PlanExtended { .. }
            | RunEvent::StepStarted { .. }
            | RunEvent::AttemptStarted { .. }
            | RunEvent::RetryScheduled { .. }
            | RunEvent::ApprovalAsked { .. }
            | RunEvent::ApprovalDecided { .. }
            | RunEvent::OutcomeUnknown { .. }
            | RunEvent::StepEnded { .. } => {}
        }
    }
}

impl Drop for RunCount {
    fn drop(&mut self) {
        let figures = &self.metrics.0;
        figures.plans.dec();
        if let Some(took) = self.took {
            figures.plan_time.observe(took.as_secs_f64());
        }
    }
}
