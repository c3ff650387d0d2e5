//! Figures of the fields of a table.

mod day_values;
mod field_figures;
pub(super) mod field_name;
mod groups;
mod statistics;
mod timeline;
mod total_rows;

pub(super) use day_values::{is_epoch, parse_period};
pub(super) use field_figures::analyze_fields;
