//! The providers of metrics and spans of this process, and a place in a trace of another party, in the format of W3C Trace Context.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::Key;
use opentelemetry::metrics::{Meter, MeterProvider};
use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};
use opentelemetry_otlp::{
    MetricExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{MeterProviderBuilder, SdkMeterProvider};
use opentelemetry_sdk::trace::SdkTracerProvider;
use planwright_core::Value;

use super::spans::{Figures, RunSpans};
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

#[derive(Debug)]
pub(super) struct Sending {
    pub(super) tracers: SdkTracerProvider,
    pub(super) figures: Figures,
    pub(super) capture_values: bool,
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
    /// environment, such as `OTEL_EXPORTER_OTLP_ENDPOINT`.
    /// Starts threads that send periodically, until the telemetry is [closed](Self::close).
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

/// A place in a trace: `traceparent` and `tracestate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext(pub(super) SpanContext);

impl TraceContext {
    /// Parses the values of the headers. Returns `None` for an invalid `traceparent`; an invalid `tracestate` is ignored.
    pub fn new(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let mut parts = traceparent.trim().split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |text: &str, length: usize| {
            text.len() == length
                && text
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        // Later versions may append fields; the first version has exactly these.
        let is_known =
            is_hex(version, 2) && version != "ff" && (version != "00" || parts.next().is_none());
        if !is_known || !is_hex(trace, 32) || !is_hex(span, 16) || !is_hex(flags, 2) {
            return None;
        }
        let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
        let state = tracestate.and_then(|state| state.parse::<TraceState>().ok());
        let context = SpanContext::new(
            TraceId::from_hex(trace).ok()?,
            SpanId::from_hex(span).ok()?,
            flags,
            true,
            state.unwrap_or_default(),
        );
        context.is_valid().then_some(Self(context))
    }

    /// Reads the trace from the `_meta` of an MCP request.
    pub fn of_meta(meta: &Value) -> Option<Self> {
        let text = |key: &str| meta.get(key).and_then(Value::as_text);
        Self::new(text("traceparent")?, text("tracestate"))
    }

    /// The value of `traceparent`.
    pub fn traceparent(&self) -> String {
        let Self(context) = self;
        let (trace, span) = (context.trace_id(), context.span_id());
        format!("00-{trace}-{span}-{:02x}", context.trace_flags())
    }

    /// The value of `tracestate`, if there is one.
    pub fn tracestate(&self) -> Option<String> {
        let state = self.0.trace_state().header();
        (!state.is_empty()).then_some(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn what_is_read_is_written() {
        let context = TraceContext::new(PARENT, Some("rojo=1,congo=2")).unwrap();
        assert_eq!(context.traceparent(), PARENT);
        assert_eq!(context.tracestate().as_deref(), Some("rojo=1,congo=2"));
        let meta = serde_json::json!({"traceparent": PARENT, "progressToken": 1});
        let context = TraceContext::of_meta(&Value::from(meta)).unwrap();
        assert_eq!(
            (context.traceparent().as_str(), context.tracestate()),
            (PARENT, None)
        );
    }

    #[test]
    fn what_is_no_parent() {
        for wrong in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333é-01",
        ] {
            assert_eq!(TraceContext::new(wrong, None), None, "{wrong}");
        }
        let later = format!("{}-more", PARENT.replacen("00", "01", 1));
        assert!(TraceContext::new(&later, Some("?? no state")).is_some());
    }
}
