//! Runs as spans and metrics of OpenTelemetry, after its conventions for MCP and for generative AI; metrics are also available in the
//! text format of Prometheus. Decisions: `docs/design/telemetry.md`. The engine does not depend on this module. A listener passes the
//! events of a run on, which become spans with the times of the run.

mod providers;
mod spans;
mod trace_context;

pub use providers::{Telemetry, TelemetryError};
pub use spans::RunSpans;
pub use trace_context::TraceContext;
