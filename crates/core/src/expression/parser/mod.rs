//! The parser of texts between `${` and `}`: a grammar around operands, with a cursor below.

mod cursor;
mod foreign;
mod grammar;
mod operand;
mod query;
mod time;

pub(super) use cursor::name_length;
pub use grammar::{parse_form, parse_form_in_loop, parse_form_within, query_form};
pub use operand::is_item_name;
