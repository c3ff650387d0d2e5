//! The exporters: OTLP as protobuf over HTTP, and the text format of Prometheus.

use std::collections::HashMap;

use opentelemetry::Key;
use opentelemetry_otlp::{
    MetricExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{MeterProviderBuilder, SdkMeterProvider};
use opentelemetry_sdk::trace::SdkTracerProvider;

use crate::config::TelemetrySettings;

/// Creates a provider of metrics that `registry` collects, and of no other output.
pub(super) fn scraped(registry: &prometheus::Registry) -> MeterProviderBuilder {
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

/// Creates the providers of spans and of metrics, each with a thread that sends now and then.
pub(super) fn open(
    settings: &TelemetrySettings,
    registry: &prometheus::Registry,
) -> Result<(SdkTracerProvider, SdkMeterProvider), String> {
    // The first caller has chosen the provider; all of ours choose the same.
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

/// The resource that sends: as the environment names it, else by our name.
fn resource() -> Resource {
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
