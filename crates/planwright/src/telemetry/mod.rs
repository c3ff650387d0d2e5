//! Runs as spans and metrics of OpenTelemetry, after its conventions for MCP and for generative AI. The only room that knows
//! `opentelemetry`.
//!
//! The engine knows nothing of this: a listener passes the events of a run on, and they become spans with the times of the run.

mod context;
mod exporters;
mod figures;
mod names;
mod spans;

use std::sync::Arc;
use std::time::Duration;

use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;

use crate::config::TelemetrySettings;
use figures::Figures;

pub use context::TraceContext;
pub use spans::RunSpans;

/// The time limit for sending the last spans.
const LAST: Duration = Duration::from_secs(5);

/// The destination of spans and metrics, or none. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Telemetry(Option<Arc<Sending>>);

#[derive(Debug)]
struct Sending {
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
    figures: Figures,
    capture_values: bool,
}

/// The reason why telemetry cannot be sent.
#[derive(Debug, thiserror::Error)]
#[error("telemetry cannot be sent: {reason}")]
pub struct TelemetryError {
    reason: String,
}

impl Telemetry {
    /// Sends nothing.
    pub fn off() -> Self {
        Self(None)
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
        let (tracers, meters) =
            exporters::open(settings).map_err(|reason| TelemetryError { reason })?;
        let figures = Figures::new(&meters);
        Ok(Self(Some(Arc::new(Sending {
            tracers,
            meters,
            figures,
            capture_values: settings.capture_values,
        }))))
    }

    /// Returns whether anything is sent.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the spans of a run that is about to start, within the trace of its caller.
    pub fn run(&self, parent: Option<&TraceContext>) -> RunSpans {
        RunSpans::new(self.0.clone(), parent)
    }

    /// Sends what is left, and ends. It blocks for a few seconds where the collector does not answer.
    pub fn close(&self) {
        let Some(sending) = &self.0 else {
            return;
        };
        let spans = sending.tracers.shutdown_with_timeout(LAST);
        let metrics = sending.meters.shutdown_with_timeout(LAST);
        for error in [spans, metrics].into_iter().filter_map(Result::err) {
            tracing::warn!(%error, "the last telemetry was not sent");
        }
    }
}
