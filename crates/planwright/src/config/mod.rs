//! `planwright.toml`: allowed calls, their limits and rates, the display of values, and access to the gateway.
//!
//! Without IO: parses texts to settings, each with its place; callers read the files.

mod dates;
mod effective;
pub(crate) mod external_values;
mod flow;
mod model;
#[cfg(test)]
mod reference;
mod run_overrides;
mod serve;
mod source;
mod telemetry;
mod tools;
mod value_syntax;

pub use self::external_values::ConfigPlace;
pub use dates::{DatesSettings, FiscalYearNumber};
pub use effective::Config;
pub use model::{ModelPrices, ModelSettings};
pub use run_overrides::RunOverrides;
pub use serve::{Retention, Serve, Stage};
pub use source::{ConfigIssue, ConfigSource, Origin};
pub use telemetry::TelemetrySettings;
pub use value_syntax::{is_tool_pattern, rate, size, time};

#[cfg(test)]
mod tests;
