//! JSON values that are cheap to share, and their numbers and sizes.

mod json;
mod json_size;
pub mod number;

pub use json::{Hashing, Object, Value};
pub use json_size::{JsonSize, SharedPart};
pub use serde_json::Number;
