//! Statements, their parameters and their rows, whichever database executes them.
//!
//! Statements are written in the SQL that SQLite and PostgreSQL share, with parameters `?1`, `?2`, and so on.

use std::borrow::Cow;

use super::error::QueryError;
use crate::error::FileProblem;

/// A value of a parameter or a column. Truth values are the integers 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue<'a> {
    /// No value.
    Null,
    /// An integer.
    Integer(i64),
    /// A text.
    Text(Cow<'a, str>),
    /// Bytes.
    Bytes(Cow<'a, [u8]>),
}

/// A statement with its parameters.
#[derive(Clone, Debug)]
pub struct SqlStatement<'a> {
    /// The text.
    pub sql: &'a str,
    /// The values of its parameters.
    pub params: Vec<SqlValue<'a>>,
    /// True if it is a query that has to find a row.
    pub is_required: bool,
    /// True if it may be executed as one with other statements of the same text: it is required or inserts one row of
    /// parameters with `VALUES`, and it neither reads nor changes what the others change.
    pub is_combinable: bool,
}

impl<'a> SqlStatement<'a> {
    /// A statement whose result is not checked.
    #[must_use]
    pub fn new(sql: &'a str, params: Vec<SqlValue<'a>>) -> Self {
        Self {
            sql,
            params,
            is_required: false,
            is_combinable: false,
        }
    }

    /// A query that has to find a row.
    #[must_use]
    pub fn required(sql: &'a str, params: Vec<SqlValue<'a>>) -> Self {
        Self {
            sql,
            params,
            is_required: true,
            is_combinable: true,
        }
    }

    /// An insertion that is [combinable](Self::is_combinable).
    #[must_use]
    pub fn insertion(sql: &'a str, params: Vec<SqlValue<'a>>) -> Self {
        Self {
            is_combinable: true,
            ..Self::new(sql, params)
        }
    }
}

/// A row of a result.
pub trait SqlRow {
    /// Returns the value of the column `index`, counted from 0.
    ///
    /// # Errors
    ///
    /// [`QueryError`] if there is no such column, or its type is none of [`SqlValue`].
    fn value(&self, index: usize) -> Result<SqlValue<'_>, QueryError>;
}

/// A function that reads the rows of a result, one after the other.
pub type RowReader<'a> = dyn FnMut(&dyn SqlRow) -> Result<(), QueryError> + 'a;

/// A connection that executes statements.
pub trait SqlSession {
    /// Executes a statement, and returns the number of rows that it has changed.
    ///
    /// # Errors
    ///
    /// [`QueryError`] if the database refuses it.
    fn execute(&self, sql: &str, params: &[SqlValue<'_>]) -> Result<usize, QueryError>;

    /// Executes a statement once for each row of parameters.
    ///
    /// # Errors
    ///
    /// [`QueryError`] if the database refuses one of them.
    fn execute_each(
        &self,
        sql: &str,
        rows: &mut dyn Iterator<Item = Vec<SqlValue<'_>>>,
    ) -> Result<(), QueryError>;

    /// Executes a query, and passes each row of its result to `read`.
    ///
    /// # Errors
    ///
    /// [`QueryError`] if the database refuses it; the error of `read`.
    fn query(
        &self,
        sql: &str,
        params: &[SqlValue<'_>],
        read: &mut RowReader<'_>,
    ) -> Result<(), QueryError>;

    /// Returns the SQL expression for the step of the plan that an entry ends, or NULL if it ends none. It is over the columns `kind`, `body` and
    /// `is_latest`, which is true for entries of the latest process: a step that failed in an earlier one has not ended, because the run
    /// was resumed. The expression depends on the JSON functions of the database.
    fn ended_step(&self) -> &'static str;
}

impl dyn SqlSession + '_ {
    /// Returns the first row of a result, as `read` reads it.
    pub(crate) fn row<T>(
        &self,
        sql: &str,
        params: &[SqlValue<'_>],
        read: impl FnOnce(&dyn SqlRow) -> Result<T, QueryError>,
    ) -> Result<Option<T>, QueryError> {
        // `read` may be called once, but the callback of a query is called for each row.
        let mut read = Some(read);
        let mut found = None;
        self.query(sql, params, &mut |row| {
            if let Some(read) = read.take() {
                found = Some(read(row)?);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns the first row of a result, or an error if there is none.
    pub(crate) fn single<T>(
        &self,
        sql: &str,
        params: &[SqlValue<'_>],
        read: impl FnOnce(&dyn SqlRow) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        self.row(sql, params, read)?
            // Such queries aggregate, or read a row that the same transaction has found: an empty result is a defect.
            .ok_or_else(|| QueryError::failed("a query returned no rows"))
    }

    /// Returns all rows of a result.
    pub(crate) fn rows<T, C: Default + Extend<T>>(
        &self,
        sql: &str,
        params: &[SqlValue<'_>],
        mut read: impl FnMut(&dyn SqlRow) -> Result<T, QueryError>,
    ) -> Result<C, QueryError> {
        let mut rows = C::default();
        self.query(sql, params, &mut |row| {
            rows.extend([read(row)?]);
            Ok(())
        })?;
        Ok(rows)
    }
}

/// A type that a column can be read as.
pub(crate) trait FromSql: Sized {
    /// Converts the value of a column; `None` if it has another type or is out of range.
    fn from_sql(value: SqlValue<'_>) -> Option<Self>;
}

impl dyn SqlRow + '_ {
    /// Returns the value of the column `index`, counted from 0.
    pub(crate) fn get<T: FromSql>(&self, index: usize) -> Result<T, QueryError> {
        T::from_sql(self.value(index)?).ok_or_else(|| {
            let reason = format!("the column {index} of a row has an unexpected type");
            // The store writes each column with one type only, so the file has been changed by another program, or is damaged.
            QueryError::of(FileProblem::Damaged(reason))
        })
    }
}

impl FromSql for i64 {
    fn from_sql(value: SqlValue<'_>) -> Option<Self> {
        match value {
            SqlValue::Integer(number) => Some(number),
            SqlValue::Null | SqlValue::Text(_) | SqlValue::Bytes(_) => None,
        }
    }
}

impl FromSql for u32 {
    fn from_sql(value: SqlValue<'_>) -> Option<Self> {
        Self::try_from(i64::from_sql(value)?).ok()
    }
}

impl FromSql for bool {
    fn from_sql(value: SqlValue<'_>) -> Option<Self> {
        // SQLite has no booleans, and PostgreSQL must store the same values.
        i64::from_sql(value).map(|number| number != 0)
    }
}

impl FromSql for String {
    fn from_sql(value: SqlValue<'_>) -> Option<Self> {
        match value {
            SqlValue::Text(text) => Some(text.into_owned()),
            SqlValue::Null | SqlValue::Integer(_) | SqlValue::Bytes(_) => None,
        }
    }
}

impl FromSql for Vec<u8> {
    fn from_sql(value: SqlValue<'_>) -> Option<Self> {
        match value {
            SqlValue::Bytes(bytes) => Some(bytes.into_owned()),
            SqlValue::Null | SqlValue::Integer(_) | SqlValue::Text(_) => None,
        }
    }
}

impl FromSql for [u8; 32] {
    fn from_sql(value: SqlValue<'_>) -> Option<Self> {
        // Digests have a fixed length: a shorter value is not one.
        Vec::from_sql(value)?.try_into().ok()
    }
}

impl<T: FromSql> FromSql for Option<T> {
    fn from_sql(value: SqlValue<'_>) -> Option<Self> {
        match value {
            SqlValue::Null => Some(None),
            other => T::from_sql(other).map(Some),
        }
    }
}

/// A type that a parameter can have.
pub(crate) trait ToSql {
    /// Returns the value of the parameter.
    fn to_sql(&self) -> SqlValue<'_>;
}

impl ToSql for i64 {
    fn to_sql(&self) -> SqlValue<'_> {
        SqlValue::Integer(*self)
    }
}

impl ToSql for u32 {
    fn to_sql(&self) -> SqlValue<'_> {
        SqlValue::Integer(i64::from(*self))
    }
}

impl ToSql for bool {
    fn to_sql(&self) -> SqlValue<'_> {
        SqlValue::Integer(i64::from(*self))
    }
}

impl ToSql for str {
    fn to_sql(&self) -> SqlValue<'_> {
        SqlValue::Text(Cow::Borrowed(self))
    }
}

impl ToSql for String {
    fn to_sql(&self) -> SqlValue<'_> {
        self.as_str().to_sql()
    }
}

impl ToSql for [u8] {
    fn to_sql(&self) -> SqlValue<'_> {
        SqlValue::Bytes(Cow::Borrowed(self))
    }
}

impl ToSql for [u8; 32] {
    fn to_sql(&self) -> SqlValue<'_> {
        self.as_slice().to_sql()
    }
}

impl<T: ToSql> ToSql for Option<T> {
    fn to_sql(&self) -> SqlValue<'_> {
        self.as_ref().map_or(SqlValue::Null, ToSql::to_sql)
    }
}

impl<T: ToSql + ?Sized> ToSql for &T {
    fn to_sql(&self) -> SqlValue<'_> {
        (**self).to_sql()
    }
}

/// The parameters of a statement.
macro_rules! params {
    ($($param:expr),* $(,)?) => {
        &[$($crate::database::ToSql::to_sql(&$param)),*][..]
    };
}
pub(crate) use params;
