//! Whether and where runs are told of, by configuration and environment.

use planwright::config::Config;
use planwright::telemetry::{Telemetry, TraceContext};
use planwright_serve::{Observe, Observed, RunObserver};

use super::environment;
use super::error::CommandError;

/// The variables that name a collector.
const ENDPOINTS: [&str; 3] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
];

/// Telemetry to the collector that the configuration or the environment names; none where neither does.
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

/// The trace that whoever started the program has begun.
pub(crate) fn parent() -> Option<TraceContext> {
    let state = environment::variable("TRACESTATE");
    TraceContext::new(&environment::variable("TRACEPARENT")?, state.as_deref())
}

/// Sends what is left, which may take seconds.
pub(crate) async fn close(telemetry: Telemetry) {
    if telemetry.is_on() {
        // What goes wrong is told in the log.
        let _ = tokio::task::spawn_blocking(move || telemetry.close()).await;
    }
}

/// Tells of all runs of a gateway, each within the trace of the client that wants it.
pub(crate) struct Told(pub(crate) Telemetry);

impl RunObserver for Told {
    fn begin(&self, run: &Observed) -> Observe {
        let mut spans = self.0.run(TraceContext::of_meta(&run.trace).as_ref());
        Box::new(move |event| spans.event(event))
    }
}
