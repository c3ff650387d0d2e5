//! The catalog of tools that a plan may call, and rules about their names.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/tools.md).

mod lookup;
mod seen;
mod tool;
mod tool_pattern;

pub use lookup::{Catalog, Lookup};
pub use seen::SeenAnswers;
pub(crate) use tool::extraction_schema;
pub use tool::{
    Annotations, ConfiguredUndo, EXTRACTION, EXTRACTION_PARAMETERS, Hints, ServerNames, Tool,
};
pub use tool_pattern::ToolPattern;
pub(crate) use tool_pattern::matches_name;
