//! Pictures of plans and runs: a graph of text for terminals, Mermaid, Graphviz, SVG, HTML, JSON.
//!
//! ```text
//! ●  files     list_files
//! ├─╮
//! │ ●  count   count_lines   for each of ${files[*].path}
//! ● │  search  search_text
//! ├─╯
//! ●  report    value
//! ```

pub(crate) mod drawn_plan;
mod flow_labels;
mod flowchart;
pub(crate) mod graph;
mod image;
mod json;
mod lanes;
mod list;
mod state;
mod step;
mod symbols;
mod text;
mod timeline;

#[cfg(test)]
mod tests;

pub use self::drawn_plan::Drawing;
pub use flowchart::{dot, mermaid};
pub use image::graph_layout::{GraphLayoutV1, LaidOutEdgeV1, LaidOutStepV1};
pub use image::run_parts::RunParts;
pub use image::run_record::RunRecord;
pub use json::{
    DrawnRunV1, EdgeV1, GRAPH_SCHEMA, GraphV1, InnerPlanV1, InputV1, RepeatV1, StepNodeV1,
    ViolationV1, json,
};
pub use state::StepState;
pub use step::{ArgumentV1, StepDetailV1};
pub use symbols::{Mark, Symbols};
pub use text::{Style, text};
pub use timeline::{TimelineBarV1, TimelineV1};
