//! Tables found in outputs: in lists, keyed objects, nested lists, and texts.

mod pagination;
mod table;
mod table_forms;

pub(super) use pagination::PaginationHints;
pub(super) use table::{Column, Columns, MAX_ITEMS, RowKey, Table, join_pointer, kind_of};
pub(super) use table_forms::{
    JoinedTable, column_names, join_field_lists, join_rows, parse_embedded, rows_as_records,
};
