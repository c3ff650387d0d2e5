//! Pictures of plans: a graph of text for terminals, Mermaid, Graphviz, JSON.
//!
//! ```text
//! ●  files     list_files
//! ├─╮
//! │ ●  count   count_lines   for each of ${files[*].path}
//! ● │  search  search_text
//! ├─╯
//! ●  report    value
//! ```

mod dot;
mod graph;
mod heading;
mod json;
mod lanes;
mod mark;
mod mermaid;
mod node_text;
mod notes;
mod order;
mod state;
mod symbols;
mod text;
mod whole;

#[cfg(test)]
mod tests;

pub use json::{DrawnRunV1, EdgeV1, GRAPH_SCHEMA, GraphV1, InputV1, PartV1, RepeatV1, StepNodeV1};
pub use mark::Mark;
pub use state::StepState;
pub use symbols::Symbols;
pub use text::Style;
pub use whole::{Drawing, dot, json, mermaid, text};
