//! Tables found in outputs: in lists, keyed objects, nested lists, and texts.

mod embedded_table;
mod pagination;
mod row_lists;
mod table;

pub(super) use embedded_table::parse_embedded;
pub(super) use pagination::PaginationHints;
pub(super) use row_lists::{
    JoinedTable, column_names, join_field_lists, join_rows, rows_as_records,
};
pub(super) use table::{Column, Columns, MAX_ITEMS, RowKey, Table, join_pointer, kind_of};
