//! `planwright.toml`: allowed calls, their limits and rates, the display of values, and access to the gateway.
//!
//! Pure: from texts to settings, each with its place. Callers read the files.

mod dates;
pub(crate) mod external_values;
mod flow;
mod model;
#[cfg(test)]
mod reference;
mod serve;
mod settled;
mod source;
mod telemetry;
mod tools;
mod words;

pub use self::external_values::ConfigPlace;
pub use dates::{DatesSettings, FiscalYearNumber};
pub use model::{ModelPrices, ModelSettings, PlanNotation};
pub use serve::{Retention, Serve, Stage};
pub use settled::Config;
pub use source::{ConfigFault, ConfigSource, Origin};
pub use telemetry::TelemetrySettings;
pub use words::{is_tool_pattern, rate, size, time};

#[cfg(test)]
mod tests;
