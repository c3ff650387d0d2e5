//! Values of parameters and columns, and errors.

use std::borrow::Cow;
use std::error::Error;
use std::io;
use std::time::Duration;

use planwright_store::FileProblem;
use planwright_store::database::{
    DatabaseError, QueryCause, QueryError, SqlRow, SqlSession, SqlValue,
};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};

use crate::server::reason_of;

/// A parameter of a statement, converted to the type that the server expects.
#[derive(Debug)]
pub(crate) struct Param<'a>(pub(crate) &'a SqlValue<'a>);

impl ToSql for Param<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            SqlValue::Null => Ok(IsNull::Yes),
            SqlValue::Integer(number) => match *kind {
                Type::INT4 => i32::try_from(*number)?.to_sql(kind, out),
                Type::INT8 => number.to_sql(kind, out),
                _ => Err(format!("an integer is not a {kind}").into()),
            },
            SqlValue::Text(text) => encode_text(text).as_ref().to_sql(kind, out),
            SqlValue::Bytes(bytes) => bytes.as_ref().to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A row of a result.
pub(crate) struct PostgresRow<'a>(pub(crate) &'a Row);

impl SqlRow for PostgresRow<'_> {
    fn value(&self, index: usize) -> Result<SqlValue<'_>, QueryError> {
        let Self(row) = self;
        let column = row.columns().get(index);
        let column =
            column.ok_or_else(|| QueryError::failed(format!("a row has no column {index}")))?;
        let failed = |error| query_error(&error);
        let value = match *column.type_() {
            Type::INT8 => row
                .try_get::<_, Option<i64>>(index)
                .map(|n| n.map(SqlValue::Integer)),
            Type::INT4 => row
                .try_get::<_, Option<i32>>(index)
                .map(|n| n.map(|n| SqlValue::Integer(n.into()))),
            Type::BOOL => row
                .try_get::<_, Option<bool>>(index)
                .map(|is| is.map(|is| SqlValue::Integer(is.into()))),
            Type::TEXT => row
                .try_get::<_, Option<&str>>(index)
                .map(|text| text.map(|text| SqlValue::Text(decode_text(text)))),
            Type::BYTEA => row
                .try_get::<_, Option<&[u8]>>(index)
                .map(|bytes| bytes.map(|bytes| SqlValue::Bytes(bytes.into()))),
            ref other => {
                let reason = format!("the column {index} of a row has the type {other}");
                return Err(QueryError::of(FileProblem::Damaged(reason)));
            }
        };
        Ok(value.map_err(failed)?.unwrap_or(SqlValue::Null))
    }
}

/// The character that begins an escape in a stored text: a private-use character, which hardly any text contains.
const ESCAPE: char = '\u{F0000}';

/// Returns `text` as it is stored: PostgreSQL refuses the character with the number 0 in texts.
fn encode_text(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let escaped = text.replace(ESCAPE, "\u{F0000}1");
    Cow::Owned(escaped.replace('\0', "\u{F0000}0"))
}

/// Returns the text that [`encode_text`] has encoded.
fn decode_text(stored: &str) -> Cow<'_, str> {
    if !stored.contains(ESCAPE) {
        return Cow::Borrowed(stored);
    }
    let zeros = stored.replace("\u{F0000}0", "\0");
    Cow::Owned(zeros.replace("\u{F0000}1", "\u{F0000}"))
}

/// Converts an error of the server or of the connection to it.
pub(crate) fn query_error(error: &tokio_postgres::Error) -> QueryError {
    let reason = reason_of(error);
    let (problem, cause) = match error.code() {
        None if is_lost(error) => (FileProblem::Failed(reason), QueryCause::Transient),
        None => (FileProblem::Failed(reason), QueryCause::Database),
        Some(code) => match *code {
            SqlState::UNIQUE_VIOLATION => (FileProblem::Failed(reason), QueryCause::Conflict),
            SqlState::DISK_FULL => (FileProblem::Full, QueryCause::Data),
            SqlState::READ_ONLY_SQL_TRANSACTION | SqlState::INSUFFICIENT_PRIVILEGE => {
                (FileProblem::ReadOnly, QueryCause::Database)
            }
            SqlState::LOCK_NOT_AVAILABLE => (FileProblem::Busy, QueryCause::Transient),
            SqlState::T_R_DEADLOCK_DETECTED
            | SqlState::T_R_SERIALIZATION_FAILURE
            | SqlState::QUERY_CANCELED
            | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
            | SqlState::ADMIN_SHUTDOWN
            | SqlState::CRASH_SHUTDOWN
            | SqlState::CANNOT_CONNECT_NOW
            | SqlState::TOO_MANY_CONNECTIONS => {
                (FileProblem::Failed(reason), QueryCause::Transient)
            }
            // Connections.
            ref other if other.code().starts_with("08") => {
                (FileProblem::Failed(reason), QueryCause::Transient)
            }
            // Data exceptions, and values that are too large.
            ref other
                if ["22", "23", "54"]
                    .iter()
                    .any(|class| other.code().starts_with(class)) =>
            {
                (FileProblem::Failed(reason), QueryCause::Data)
            }
            _ => (FileProblem::Failed(reason), QueryCause::Database),
        },
    };
    QueryError::Database(DatabaseError { problem, cause })
}

/// Returns true if an error without a code says that the connection is lost, or that the server cannot be reached. Other errors,
/// such as an invalid value or a wrong password, would recur if the operation were repeated.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    if error.is_closed() {
        return true;
    }
    let cause = error
        .source()
        .and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| match cause.kind() {
        // The server or its certificate is invalid.
        io::ErrorKind::InvalidData
        | io::ErrorKind::InvalidInput
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::Unsupported
        | io::ErrorKind::Other => false,
        _ => true,
    })
}

/// Returns the first row of a result.
pub(crate) fn first<T>(
    session: &dyn SqlSession,
    sql: &str,
    params: &[SqlValue<'_>],
    read: impl Fn(&dyn SqlRow) -> Result<T, QueryError>,
) -> Result<Option<T>, QueryError> {
    let mut found = None;
    session.query(sql, params, &mut |row| {
        if found.is_none() {
            found = Some(read(row)?);
        }
        Ok(())
    })?;
    Ok(found)
}

pub(crate) fn integer(row: &dyn SqlRow, index: usize) -> Result<i64, QueryError> {
    match row.value(index)? {
        SqlValue::Integer(number) => Ok(number),
        SqlValue::Null | SqlValue::Text(_) | SqlValue::Bytes(_) => {
            Err(QueryError::failed("a column is not an integer"))
        }
    }
}

pub(crate) fn string(row: &dyn SqlRow, index: usize) -> Result<String, QueryError> {
    match row.value(index)? {
        SqlValue::Text(text) => Ok(text.into_owned()),
        SqlValue::Null | SqlValue::Integer(_) | SqlValue::Bytes(_) => {
            Err(QueryError::failed("a column is not a text"))
        }
    }
}

pub(crate) fn text(text: &str) -> SqlValue<'_> {
    SqlValue::Text(text.into())
}

pub(crate) fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_comes_back() {
        for text in [
            "",
            "a",
            "\0",
            "\u{F0000}",
            "\u{F0000}0",
            "\u{F0000}1\0\u{F0000}",
        ] {
            let encoded = encode_text(text);
            assert!(!encoded.contains('\0'));
            assert_eq!(decode_text(&encoded), text);
        }
    }
}
