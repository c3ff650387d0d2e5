//! Metrics of the server and of the plans that it runs, for Prometheus and for the collector of the telemetry.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, UpDownCounter};
use planwright::engine::{RunEvent, StampedEvent};
use planwright::telemetry::{Telemetry, TelemetryError};
use tokio::time::Instant;

/// The upper bounds of the histograms in seconds, from an immediate response to a plan that takes an hour.
const BOUNDS: [f64; 12] = [
    0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 5.0, 20.0, 60.0, 300.0, 1200.0, 3600.0,
];

/// The metrics. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<MetricSet>);

#[derive(Debug)]
struct MetricSet {
    telemetry: Telemetry,
    answers: Counter<u64>,
    refusals: Counter<u64>,
    requests: UpDownCounter<i64>,
    request_time: Histogram<f64>,
    connections: UpDownCounter<i64>,
    plans: UpDownCounter<i64>,
    plans_ended: Counter<u64>,
    plan_time: Histogram<f64>,
    calls: Counter<u64>,
}

impl Metrics {
    pub(super) fn new(telemetry: Telemetry) -> Self {
        let meter = telemetry.meter();
        let counter = |name: &'static str, about: &'static str| {
            meter.u64_counter(name).with_description(about).build()
        };
        let gauge = |name: &'static str, about: &'static str| {
            let gauge = meter.i64_up_down_counter(name).with_description(about);
            let gauge = gauge.build();
            // A gauge has no value before its first change.
            gauge.add(0, &[]);
            gauge
        };
        let histogram = |name: &'static str, about: &'static str| {
            let histogram = meter.f64_histogram(name).with_description(about);
            histogram
                .with_unit("s")
                .with_boundaries(BOUNDS.to_vec())
                .build()
        };
        Self(Arc::new(MetricSet {
            answers: counter("planwright.http_answers", "Answers, by status"),
            refusals: counter("planwright.http_refusals", "Requests that were refused"),
            requests: gauge("planwright.http_requests_in_flight", "Requests in flight"),
            request_time: histogram("planwright.http_request", "How long requests took"),
            connections: gauge("planwright.http_connections", "Open connections"),
            plans: gauge("planwright.plans_in_progress", "Plans in progress"),
            plans_ended: counter("planwright.plans", "Plans that ended, by status"),
            plan_time: histogram("planwright.plan", "How long plans took"),
            calls: counter("planwright.tool_calls", "Calls of tools, by outcome"),
            telemetry,
        }))
    }

    /// Returns all metrics in the text format of Prometheus.
    pub(super) fn text(&self) -> Result<String, TelemetryError> {
        self.0.telemetry.prometheus_text()
    }

    pub(super) fn record_response(&self, status: StatusCode) {
        let label = KeyValue::new("status", status.as_str().to_owned());
        self.0.answers.add(1, &[label]);
    }

    pub(super) fn record_refusal(&self, reason: &'static str) {
        let label = KeyValue::new("reason", reason);
        self.0.refusals.add(1, &[label]);
    }

    pub(super) fn track_connection(&self) -> OpenConnection {
        self.0.connections.add(1, &[]);
        OpenConnection(self.clone())
    }

    /// Counts a request, which is in progress until the returned guard is dropped.
    pub(super) fn track_request(&self) -> ActiveRequest {
        self.0.requests.add(1, &[]);
        ActiveRequest {
            metrics: self.clone(),
            since: Instant::now(),
        }
    }

    /// Counts a plan that begins to run. The caller passes the events of the run to the returned counter.
    pub fn run(&self) -> RunCount {
        self.0.plans.add(1, &[]);
        RunCount {
            metrics: self.clone(),
            took: None,
        }
    }
}

/// A connection that is open.
#[derive(Debug)]
pub(super) struct OpenConnection(Metrics);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.0.connections.add(-1, &[]);
    }
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct ActiveRequest {
    metrics: Metrics,
    since: Instant,
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let figures = &self.metrics.0;
        figures.requests.add(-1, &[]);
        let time = self.since.elapsed();
        figures.request_time.record(time.as_secs_f64(), &[]);
    }
}

/// A plan that is counted while it runs.
#[derive(Debug)]
pub struct RunCount {
    metrics: Metrics,
    took: Option<Duration>,
}

impl RunCount {
    /// Counts an event of the run.
    pub fn event(&mut self, event: &StampedEvent) {
        let figures = &self.metrics.0;
        match &event.event {
            RunEvent::AttemptEnded { error, .. } => {
                let outcome = if error.is_some() {
                    "failed"
                } else {
                    "answered"
                };
                let label = KeyValue::new("outcome", outcome);
                figures.calls.add(1, &[label]);
            }
            RunEvent::RunEnded { status } => {
                let label = KeyValue::new("status", status.as_str());
                figures.plans_ended.add(1, &[label]);
                self.took = Some(event.at);
            }
            RunEvent::RunStarted { .. }
            | RunEvent::PlanExtended { .. }
            | RunEvent::StepStarted { .. }
            | RunEvent::AttemptStarted { .. }
            | RunEvent::CallProgress { .. }
            | RunEvent::RetryScheduled { .. }
            | RunEvent::ApprovalAsked { .. }
            | RunEvent::ApprovalDecided { .. }
            | RunEvent::OutcomeUnknown { .. }
            | RunEvent::StepEnded { .. }
            | RunEvent::RunDraining => {}
        }
    }
}

impl Drop for RunCount {
    fn drop(&mut self) {
        let figures = &self.metrics.0;
        figures.plans.add(-1, &[]);
        if let Some(took) = self.took {
            figures.plan_time.record(took.as_secs_f64(), &[]);
        }
    }
}
