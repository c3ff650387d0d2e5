//! Runs as spans and metrics of OpenTelemetry, after its conventions for MCP and for generative AI; metrics are also
//! available in the text format of Prometheus. Decisions: `docs/design/telemetry.md`.
//!
//! The engine knows nothing of this: a listener passes the events of a run on, and they become spans with the times of the run.

mod context;
mod exporters;
mod figures;
mod names;
mod spans;

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::metrics::{Meter, MeterProvider};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;

use crate::config::TelemetrySettings;
use figures::Figures;

pub use context::TraceContext;
pub use spans::RunSpans;

/// The time limit for sending the last spans.
const LAST: Duration = Duration::from_secs(5);

/// The metrics of this process, and the collector that receives them together with spans, if there is one. Clones share
/// both.
#[derive(Clone, Debug)]
pub struct Telemetry {
    meters: SdkMeterProvider,
    registry: prometheus::Registry,
    sending: Option<Arc<Sending>>,
}

#[derive(Debug)]
struct Sending {
    tracers: SdkTracerProvider,
    figures: Figures,
    capture_values: bool,
}

/// The reason why telemetry cannot be sent or shown.
#[derive(Debug, thiserror::Error)]
#[error("telemetry cannot be {0}")]
pub struct TelemetryError(String);

impl Telemetry {
    /// Telemetry that sends nothing.
    pub fn off() -> Self {
        let registry = prometheus::Registry::new();
        Self {
            meters: exporters::scraped(&registry).build(),
            registry,
            sending: None,
        }
    }

    /// Sends to the collector of `settings`, over OTLP as protobuf in HTTP. Where they name none, the exporter goes by the
    /// usual variables of the environment: `OTEL_EXPORTER_OTLP_ENDPOINT` and its kin.
    ///
    /// It starts threads that send now and then, until it is [closed](Self::close).
    ///
    /// # Errors
    ///
    /// That the settings cannot be used.
    pub fn new(settings: &TelemetrySettings) -> Result<Self, TelemetryError> {
        let registry = prometheus::Registry::new();
        let (tracers, meters) = exporters::open(settings, &registry)
            .map_err(|reason| TelemetryError(format!("sent: {reason}")))?;
        let figures = Figures::new(&meters);
        Ok(Self {
            meters,
            registry,
            sending: Some(Arc::new(Sending {
                tracers,
                figures,
                capture_values: settings.capture_values,
            })),
        })
    }

    /// Returns whether anything is sent.
    pub fn is_on(&self) -> bool {
        self.sending.is_some()
    }

    /// The meter for further metrics of this process.
    pub fn meter(&self) -> Meter {
        self.meters.meter(env!("CARGO_PKG_NAME"))
    }

    /// All metrics in the text format of Prometheus.
    ///
    /// # Errors
    ///
    /// Fails if a metric has no form in that format.
    pub fn prometheus_text(&self) -> Result<String, TelemetryError> {
        let families = self.registry.gather();
        let text = prometheus::TextEncoder::new().encode_to_string(&families);
        text.map_err(|error| TelemetryError(format!("shown: {error}")))
    }

    /// Returns the spans of a run that is about to start, within the trace of its caller.
    pub fn run(&self, parent: Option<&TraceContext>) -> RunSpans {
        RunSpans::new(self.sending.clone(), parent)
    }

    /// Sends what is left, and ends. It blocks for a few seconds where the collector does not answer.
    pub fn close(&self) {
        let Some(sending) = &self.sending else {
            return;
        };
        let spans = sending.tracers.shutdown_with_timeout(LAST);
        let metrics = self.meters.shutdown_with_timeout(LAST);
        for error in [spans, metrics].into_iter().filter_map(Result::err) {
            tracing::warn!(%error, "the last telemetry was not sent");
        }
    }
}
