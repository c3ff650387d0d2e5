//! The catalog of tools that a plan may call, and rules about their names.

mod lookup;
mod server_names;
mod tool;
mod tool_pattern;

pub use lookup::{Catalog, Lookup};
pub use server_names::ServerNames;
pub use tool::{Annotations, Hints, Tool};
pub use tool_pattern::ToolPattern;
pub(crate) use tool_pattern::matches_name;
