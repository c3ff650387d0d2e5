//! Tables found in outputs: in lists, keyed objects, nested lists, and texts.

mod columns;
mod embedded_table;
mod nested_lists;
mod pagination;
mod row_lists;
mod table;

pub(super) use columns::{Column, Columns};
pub(super) use embedded_table::parse_embedded;
pub(super) use nested_lists::{JoinedTable, join_field_lists, join_rows};
pub(super) use pagination::PaginationHints;
pub(super) use row_lists::{column_names, rows_as_records};
pub(super) use table::{MAX_ITEMS, RowKey, Table, join_pointer, kind_of};
