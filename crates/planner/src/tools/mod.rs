//! Tool search and tool signatures for models.
//!
//! Design: [Tool names and tool search](https://github.com/planwright/planwright/blob/main/docs/design/tools.md).

pub mod search;

pub mod signatures;
