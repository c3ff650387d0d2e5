//! Statements with the same text that are executed as one: the server needs a message, a snapshot and an answer for each statement.

use planwright_store::database::{SqlStatement, SqlValue};
use tokio_postgres::types::{ToSql, Type};

use crate::values::Param;

/// A statement that is executed for one or more rows of parameters.
#[derive(Debug)]
pub(crate) struct CombinedStatement<'a> {
    /// The text of one of them.
    pub(crate) sql: &'a str,
    pub(crate) is_required: bool,
    rows: Vec<&'a [SqlValue<'a>]>,
}

impl<'a> CombinedStatement<'a> {
    /// Returns true if its text needs [`for_rows`].
    pub(crate) fn has_several_rows(&self) -> bool {
        1 < self.rows.len()
    }

    /// Returns the parameters: those of the only row, or an array for each column.
    pub(crate) fn params(&self) -> Vec<Box<dyn ToSql + Sync + 'a>> {
        let columns = 0..self.rows.first().map_or(0, |row| row.len());
        columns
            .map(|column| -> Box<dyn ToSql + Sync + 'a> {
                let mut values = self.rows.iter().filter_map(|row| row.get(column));
                if self.has_several_rows() {
                    return Box::new(values.map(Param).collect::<Vec<_>>());
                }
                Box::new(values.next().map(Param))
            })
            .collect()
    }
}

/// Combines neighbours of `statements` that [can be](SqlStatement::is_combinable).
pub(crate) fn combine<'a>(statements: &'a [SqlStatement<'a>]) -> Vec<CombinedStatement<'a>> {
    let same = |a: &SqlStatement<'_>, b: &SqlStatement<'_>| {
        a.is_combinable && b.is_combinable && a.sql == b.sql && a.is_required == b.is_required
    };
    let combined = statements.chunk_by(same).filter_map(|chunk| {
        let first = chunk.first()?;
        Some(CombinedStatement {
            sql: first.sql,
            is_required: first.is_required,
            rows: chunk.iter().map(|one| one.params.as_slice()).collect(),
        })
    });
    combined.collect()
}

/// Returns a statement that fails unless the query `sql` finds a row.
pub(crate) fn required(sql: &str) -> String {
    format!("WITH found AS ({sql}) SELECT 1 / count(*) FROM found")
}

/// Returns the statement that does for rows of arrays what `sql`, in the SQL of the store and with parameters of these `types`, does for one.
/// It is a required query, or inserts `VALUES`.
pub(crate) fn for_rows(sql: &str, is_required: bool, types: &[Type]) -> String {
    let numbered = || {
        types
            .iter()
            .enumerate()
            .map(|(index, kind)| (index + 1, kind))
    };
    let columns: Vec<String> = numbered()
        .map(|(number, _)| format!("given_{number}"))
        .collect();
    let columns = columns.join(", ");
    let arrays: Vec<String> = numbered()
        .map(|(number, kind)| format!("${number}::{}[]", kind.name()))
        .collect();
    let rows = format!("unnest({}) AS given ({columns})", arrays.join(", "));
    // The highest one first: the first one is a part of the tenth.
    let sql = numbered().rev().fold(sql.to_owned(), |sql, (number, _)| {
        sql.replace(&format!("?{number}"), &format!("given_{number}"))
    });
    if is_required {
        return format!("SELECT count(1 / (SELECT count(*) FROM ({sql}) AS found)) FROM {rows}");
    }
    sql.replace(
        &format!("VALUES ({columns})"),
        &format!("SELECT {columns} FROM {rows}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_for_rows_has_an_array_for_each_parameter() {
        let query = "SELECT token FROM leases WHERE run = ?1 AND token = ?2 FOR KEY SHARE";
        assert_eq!(
            for_rows(query, true, &[Type::TEXT, Type::INT8]),
            "SELECT count(1 / (SELECT count(*) FROM (SELECT token FROM leases WHERE run = given_1 AND token = given_2 FOR KEY SHARE) AS found)) \
             FROM unnest($1::text[], $2::int8[]) AS given (given_1, given_2)"
        );
        let insertion = "INSERT INTO uses (run, digest) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        assert_eq!(
            for_rows(insertion, false, &[Type::INT8, Type::BYTEA]),
            "INSERT INTO uses (run, digest) SELECT given_1, given_2 FROM unnest($1::int8[], $2::bytea[]) AS given (given_1, given_2) \
             ON CONFLICT DO NOTHING"
        );
    }
}
