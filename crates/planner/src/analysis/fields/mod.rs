//! Figures of the fields of a table.

mod field_figures;
pub(super) mod field_name;
mod statistics;
mod timeline;

pub(super) use field_figures::analyze_fields;
pub(super) use timeline::{is_epoch, parse_period};
