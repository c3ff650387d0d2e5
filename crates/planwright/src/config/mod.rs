//! `planwright.toml`: what plans may call, how much, how fast, what is shown of it, and who is served.
//!
//! Pure: from texts to settings, each with its place. Callers read the files.

mod fault;
mod file;
mod flow;
mod listing;
mod model;
mod outside;
#[cfg(test)]
mod reference;
mod serve;
mod settled;
mod source;
mod stages;
mod store;
mod telemetry;
mod tools;
mod words;

pub use fault::ConfigFault;
pub use model::{ModelPrices, ModelSettings, PlanNotation};
pub use outside::Place;
pub use serve::Serve;
pub use settled::Config;
pub use source::{ConfigSource, Origin};
pub use stages::Stage;
pub use store::Retention;
pub use telemetry::TelemetrySettings;
pub use words::{is_tool_pattern, rate, size, time};

#[cfg(test)]
mod tests;
