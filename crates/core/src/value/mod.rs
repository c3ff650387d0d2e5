//! JSON values that are cheap to share, and their numbers and sizes.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/plans.md#values-share-their-content).

mod json;
mod json_size;
pub mod number;
mod unique_keys;

pub use json::{Hashing, Object, Value};
pub use json_size::{JsonSize, SharedPart, SharedSizes};
pub use serde_json::Number;
