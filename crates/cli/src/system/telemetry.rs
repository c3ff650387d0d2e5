//! Telemetry of this process.

use planwright::config::Config;
use planwright::core::Value;
use planwright::telemetry::Telemetry;

use super::environment;
use crate::error::CommandError;

/// The variables that name a collector.
const ENDPOINTS: [&str; 3] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
];

/// Creates the telemetry to the collector that the configuration or the environment names; `None` if neither does.
pub(crate) fn open(config: &Config) -> Result<Telemetry, CommandError> {
    let settings = config.telemetry();
    let is_set = |name: &&str| environment::variable(name).is_some_and(|value| !value.is_empty());
    let is_off = environment::variable("OTEL_SDK_DISABLED")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"));
    if is_off || settings.endpoint.is_none() && !ENDPOINTS.iter().any(is_set) {
        return Ok(Telemetry::off());
    }
    Telemetry::new(settings).map_err(|error| {
        CommandError::new(error.to_string())
            .hint("look at `[telemetry]` in your planwright.toml, and at variables that begin with `OTEL_`")
    })
}

/// The trace of the caller of the program, as runs store it: an object with `traceparent` and `tracestate`, or `null` if there is none.
pub(crate) fn parent() -> Value {
    let header = |name: &'static str, variable: &str| {
        let value = environment::variable(variable)?;
        Some((name, Value::from(value)))
    };
    match header("traceparent", "TRACEPARENT") {
        Some(parent) => {
            let state = header("tracestate", "TRACESTATE");
            Value::object([parent].into_iter().chain(state))
        }
        None => Value::Null,
    }
}

/// Sends the remaining data, which may take seconds.
pub(crate) async fn close(telemetry: Telemetry) {
    if telemetry.is_on() {
        // Failures are logged.
        let _ = tokio::task::spawn_blocking(move || telemetry.close()).await;
    }
}
