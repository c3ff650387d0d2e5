//! The functions and methods of expressions: CEL's own, and its text, list and number extensions.

mod list;
mod number;
mod signature;
mod table;
mod text;
mod usage;

pub(super) use list::sort_by;
pub(crate) use signature::{Kinds, Parameter, SORTABLE, item_type, numeric, union};
pub(crate) use table::BuiltinFunction;
pub(super) use table::{NAMESPACES, global, method, nearest};
pub(super) use text::search;
pub use usage::function_usages;
