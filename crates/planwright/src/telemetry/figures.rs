//! Durations, as histograms.

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Histogram, MeterProvider};
use opentelemetry_sdk::metrics::SdkMeterProvider;

use super::names;

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
            plans: histogram(names::WORKFLOW_DURATION, "How long plans took."),
            tools: histogram(names::TOOL_DURATION, "How long calls of tools took."),
            calls: histogram(names::MCP_DURATION, "How long requests to servers took."),
        }
    }

    /// A plan has ended.
    pub(super) fn plan(&self, took: Duration, error: Option<&'static str>) {
        let mut labels = vec![KeyValue::new(names::OPERATION, names::INVOKE_WORKFLOW)];
        labels.extend(error.map(|error| KeyValue::new(names::ERROR, error)));
        self.plans.record(took.as_secs_f64(), &labels);
    }

    /// A call of a tool has ended.
    pub(super) fn call(&self, tool: &str, took: Duration, error: Option<&'static str>) {
        let mut labels = vec![
            KeyValue::new(names::OPERATION, names::EXECUTE_TOOL),
            KeyValue::new(names::TOOL, tool.to_owned()),
        ];
        labels.extend(error.map(|error| KeyValue::new(names::ERROR, error)));
        self.tools.record(took.as_secs_f64(), &labels);
        labels.push(KeyValue::new(names::METHOD, names::TOOLS_CALL));
        self.calls.record(took.as_secs_f64(), &labels);
    }
}
