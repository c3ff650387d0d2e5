//! Figures of the fields of a table.

mod days;
mod field_figures;
pub(super) mod field_name;
mod field_series;
mod statistics;
mod timeline;

pub(super) use days::{is_epoch, parse_period};
pub(super) use field_figures::analyze_fields;
