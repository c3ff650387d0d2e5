//! The functions and methods of expressions: CEL's own, and its text, list and number extensions.

mod aggregate;
mod foreign;
mod foreign_time;
mod list;
mod number;
mod object;
mod search;
mod signature;
mod table;
mod text;
mod time;
mod usage;

pub(crate) use foreign::foreign_word;
pub(super) use foreign::{advice, foreign_call, foreign_form, foreign_text};
pub(super) use foreign_time::constant_form;
pub use foreign_time::time_form;
pub(super) use list::{group_by, sort_by};
pub(crate) use search::Search;
pub(crate) use signature::{Kinds, Parameter, SORTABLE, field_type, item_type, numeric_of, union};
pub(crate) use table::BuiltinFunction;
pub(super) use table::{NAMESPACES, global, method};
pub(super) use time::{EARLIER, ELAPSED, EPOCH, INSTANT, LATER, moves_time};
pub use usage::function_usages;
