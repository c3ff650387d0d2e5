//! `planwright.toml`: allowed calls, their limits and rates, the display of values, and access to the gateway.
//!
//! Without IO: parses texts to settings, each with its place; callers read the files.

mod budgets;
mod dates;
mod effective;
pub(crate) mod external_values;
mod flow;
mod model;
mod serve;
mod setting;
mod stages;
mod telemetry;
mod tools;
mod value_syntax;

pub use self::external_values::ConfigPlace;
pub use budgets::{BoundAccess, BoundField, BoundFlag, RUN_BOUNDS, RunBound};
pub use dates::{DatesSettings, FiscalYearNumber};
pub use effective::{Config, ConfigIssue, ConfigSource, RunOverrides};
pub use model::{ModelPrices, ModelSettings};
pub use serve::{
    AuthenticatedClient, ClientName, ClientPolicy, ClientRules, ClientSelector, OAuth, Retention,
    Serve,
};
pub use setting::Origin;
pub use stages::Stage;
pub use telemetry::TelemetrySettings;
pub use value_syntax::{is_tool_pattern, rate, size, time};

#[cfg(test)]
mod tests;
