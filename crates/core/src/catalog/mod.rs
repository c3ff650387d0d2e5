//! The catalog of tools that a plan may call, and rules about their names.

mod extraction;
mod lookup;
mod names;
mod tool;

pub(crate) use extraction::extraction_schema;
pub use extraction::{EXTRACTION, EXTRACTION_PARAMETERS};
pub use lookup::{Catalog, Lookup};
pub(crate) use names::matches_name;
pub use names::{ServerNames, ToolPattern};
pub(crate) use tool::hex;
pub use tool::{Annotations, Hints, Tool};
