//! The providers of metrics and spans of this process.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::Key;
use opentelemetry::metrics::{Meter, MeterProvider};
use opentelemetry_otlp::{
    MetricExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{MeterProviderBuilder, SdkMeterProvider};
use opentelemetry_sdk::trace::SdkTracerProvider;

use super::spans::{Figures, RunSpans, Sending};
use super::trace_context::TraceContext;
use crate::config::TelemetrySettings;

/// The time limit for sending the last spans.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// The metrics of this process, and the collector that receives them together with spans, if there is one. Clones share
/// both.
#[derive(Clone, Debug)]
pub struct Telemetry {
    meters: SdkMeterProvider,
    registry: prometheus::Registry,
    sending: Option<Arc<Sending>>,
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
            meters: scraped(&registry).build(),
            registry,
            sending: None,
        }
    }

    /// Sends to the collector of `settings`, over OTLP as protobuf in HTTP. If they name none, the exporter uses the usual variables of the
    /// environment, such as `OTEL_EXPORTER_OTLP_ENDPOINT`. Starts threads that send periodically, until the telemetry is
    /// [closed](Self::close).
    ///
    /// # Errors
    /// The reason why the settings cannot be used.
    pub fn new(settings: &TelemetrySettings) -> Result<Self, TelemetryError> {
        let registry = prometheus::Registry::new();
        let (tracers, meters) = open(settings, &registry)
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

    /// Returns true if spans or metrics are sent.
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

    /// Sends the remaining data, and ends. Blocks for a few seconds if the collector does not respond.
    pub fn close(&self) {
        let Some(sending) = &self.sending else {
            return;
        };
        let spans = sending.tracers.shutdown_with_timeout(SHUTDOWN_TIMEOUT);
        let metrics = self.meters.shutdown_with_timeout(SHUTDOWN_TIMEOUT);
        for error in [spans, metrics].into_iter().filter_map(Result::err) {
            tracing::warn!(%error, "the last telemetry was not sent");
        }
    }
}

/// Creates a provider of metrics whose only output is `registry`.
fn scraped(registry: &prometheus::Registry) -> MeterProviderBuilder {
    let reader = opentelemetry_prometheus::exporter()
        .with_registry(registry.clone())
        .without_target_info()
        .scope_info_enabled(false)
        .build();
    let meters = SdkMeterProvider::builder();
    match reader {
        Ok(reader) => meters.with_reader(reader),
        Err(error) => {
            tracing::warn!(%error, "there are no metrics for Prometheus");
            meters
        }
    }
}

/// Creates the providers of spans and of metrics, each with a thread that sends periodically.
pub(super) fn open(
    settings: &TelemetrySettings,
    registry: &prometheus::Registry,
) -> Result<(SdkTracerProvider, SdkMeterProvider), String> {
    // Another caller may have installed a provider before. All callers install the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let headers: HashMap<String, String> = settings
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    let endpoint = |path: &str| {
        let endpoint = settings.endpoint.as_deref()?;
        Some(format!("{}/v1/{path}", endpoint.trim_end_matches('/')))
    };
    let mut spans = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_headers(headers.clone());
    if let Some(endpoint) = endpoint("traces") {
        spans = spans.with_endpoint(endpoint);
    }
    let mut metrics = MetricExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_headers(headers);
    if let Some(endpoint) = endpoint("metrics") {
        metrics = metrics.with_endpoint(endpoint);
    }
    let spans = spans.build().map_err(|error| error.to_string())?;
    let metrics = metrics.build().map_err(|error| error.to_string())?;
    let resource = resource();
    let tracers = SdkTracerProvider::builder()
        .with_batch_exporter(spans)
        .with_resource(resource.clone())
        .build();
    let meters = scraped(registry)
        .with_periodic_exporter(metrics)
        .with_resource(resource)
        .build();
    Ok((tracers, meters))
}

/// The resource of the data: the name in the environment, else that of this program.
pub(super) fn resource() -> Resource {
    let builder = || {
        let version = opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        Resource::builder().with_attribute(version)
    };
    let found = builder().build();
    let name = found.get(&Key::from_static_str("service.name"));
    let is_named = name.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    if is_named {
        return found;
    }
    builder().with_service_name("planwright").build()
}
