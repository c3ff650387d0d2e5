//! `[telemetry]`: the collector of spans and metrics of runs.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use planwright_core::Value;
use serde::Deserialize;
use toml::Spanned;

use super::setting::{ConfigText, List, Origin};
use super::value_syntax::HttpUrl;

/// The collector of spans and metrics, over OTLP. Only in your own file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "telemetry"))]
pub(super) struct TelemetryTable {
    /// The collector, such as `http://localhost:4318`; default: `OTEL_EXPORTER_OTLP_ENDPOINT`. Without either, nothing is sent.
    #[cfg_attr(test, schemars(with = "String"))]
    endpoint: Option<Spanned<HttpUrl>>,
    /// Headers for the collector, such as `x-api-key = "…"`.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, String>"))]
    headers: BTreeMap<Spanned<String>, String>,
    /// True if spans contain the arguments and results of calls.
    #[cfg_attr(test, schemars(with = "bool"))]
    capture_values: Option<Spanned<bool>>,
}

/// The collector of spans and metrics.
#[derive(Clone, Default)]
pub struct TelemetrySettings {
    /// The collector; default: that of the environment.
    pub endpoint: Option<Arc<str>>,
    /// Headers for the collector.
    pub headers: Vec<(Arc<str>, Arc<str>)>,
    /// True if spans contain the arguments and results of calls.
    pub capture_values: bool,
    endpoint_set_in: Option<Arc<str>>,
    capture_set_in: Option<Arc<str>>,
}

/// Headers hold keys.
impl std::fmt::Debug for TelemetrySettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TelemetrySettings")
            .field("endpoint", &self.endpoint)
            .field("headers", &self.headers.len())
            .field("capture_values", &self.capture_values)
            .finish_non_exhaustive()
    }
}

impl TelemetrySettings {
    /// Only the user's own file decides where data about runs goes.
    pub(super) fn add(&mut self, table: &TelemetryTable, source: &ConfigText) {
        if source.origin == Origin::Project {
            return;
        }
        if let Some(endpoint) = &table.endpoint {
            self.endpoint = Some(endpoint.get_ref().0.clone());
            self.endpoint_set_in = Some(source.place(endpoint));
        }
        for (name, value) in &table.headers {
            let name = name.get_ref().as_str();
            self.headers.push((name.into(), value.as_str().into()));
        }
        if let Some(capture) = &table.capture_values {
            self.capture_values = *capture.get_ref();
            self.capture_set_in = Some(source.place(capture));
        }
    }

    /// Lists the settings that are set. Headers may hold keys, so they are not listed.
    pub(super) fn list(&self, list: &mut List) {
        if let Some(endpoint) = &self.endpoint {
            let place = self.endpoint_set_in.as_ref();
            list.push("telemetry.endpoint", Value::from(&**endpoint), place);
        }
        if self.capture_set_in.is_some() {
            let place = self.capture_set_in.as_ref();
            list.push(
                "telemetry.capture_values",
                Value::from(self.capture_values),
                place,
            );
        }
    }
}

/// Returns the issues of a file's settings of telemetry, each with its place and a hint.
pub(super) fn issues(
    table: &TelemetryTable,
    source: &ConfigText,
) -> Vec<(Range<usize>, String, String)> {
    let settings = [
        table.endpoint.as_ref().map(Spanned::span),
        table.headers.keys().next().map(Spanned::span),
        table.capture_values.as_ref().map(Spanned::span),
    ];
    let span = settings.into_iter().flatten().next();
    match span {
        Some(span) if source.origin == Origin::Project => vec![(
            span,
            "a project cannot configure the telemetry endpoint".to_owned(),
            "the user decides this: put it into your own planwright.toml".to_owned(),
        )],
        _ => Vec::new(),
    }
}
