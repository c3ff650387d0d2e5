//! The functions and methods of expressions: CEL's own, and its text, list and number extensions.

mod list;
mod number;
mod table;
mod text;

pub(super) use list::sort_by;
pub(crate) use table::BuiltinFunction;
pub(super) use table::{NAMESPACES, global, method, nearest};
pub(super) use text::search;
