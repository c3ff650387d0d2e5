//! Transactions as functions of a session: the server plans, answers and commits one call instead of several statements.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use planwright_store::database::QueryError;
use tokio_postgres::Statement;
use tokio_postgres::types::Type;

/// The most statements of a function. A transaction of many runs has the statements of each, in ever other numbers, and its commit is shared.
const MAX_STATEMENTS: usize = 8;

/// The most functions of a session.
const MAX_FUNCTIONS: usize = 64;

/// A statement of a function.
pub(crate) struct FunctionStatement {
    /// The text, with parameters `$1`, `$2`, and so on.
    pub(crate) sql: String,
    /// True if it is a query, which fails unless it finds what it requires.
    pub(crate) is_required: bool,
    /// The types of its parameters.
    pub(crate) types: Vec<Type>,
}

/// The functions of a session. They are temporary, so the session needs no right to create others.
#[derive(Debug, Default)]
pub(crate) struct SessionFunctions {
    /// The prepared calls, by the texts of the statements.
    calls: RefCell<HashMap<String, Statement>>,
    /// True if the server has refused to create one.
    is_refused: Cell<bool>,
}

impl SessionFunctions {
    /// Returns true if a transaction of so many statements may be a function.
    pub(crate) fn allows(&self, statements: usize) -> bool {
        statements <= MAX_STATEMENTS && !self.is_refused.get()
    }

    /// Returns the prepared call of a function.
    pub(crate) fn call(&self, key: &str) -> Option<Statement> {
        self.calls.borrow().get(key).cloned()
    }

    /// Creates the function that executes `statements` after the call `first`, and returns its prepared call. `execute` executes a statement, and `prepare`
    /// prepares one. `None` if the session cannot have another function.
    pub(crate) fn create(
        &self,
        key: String,
        first: &str,
        statements: &[FunctionStatement],
        execute: impl FnOnce(&str) -> Result<(), QueryError>,
        prepare: impl FnOnce(&str) -> Result<Statement, QueryError>,
    ) -> Result<Option<Statement>, QueryError> {
        let number = self.calls.borrow().len();
        if number == MAX_FUNCTIONS {
            return Ok(None);
        }
        let name = format!("pg_temp.planwright_append_{number}");
        let types: Vec<&str> = statements
            .iter()
            .flat_map(|statement| statement.types.iter().map(Type::name))
            .collect();
        let created = execute(&format!(
            "CREATE OR REPLACE FUNCTION {name}({}) RETURNS void LANGUAGE plpgsql AS $body${}$body$",
            types.join(", "),
            body(first, statements)
        ));
        if let Err(error) = created {
            if error.is_transient() {
                return Err(error);
            }
            // The role may lack the right to temporary objects, or the server the language. Transactions work without both.
            tracing::debug!("{error}; appends are transactions of several statements");
            self.is_refused.set(true);
            return Ok(None);
        }
        let params: Vec<String> = (1..=types.len())
            .map(|number| format!("${number}"))
            .collect();
        let call = prepare(&format!("SELECT {name}({})", params.join(", ")))?;
        self.calls.borrow_mut().insert(key, call.clone());
        Ok(Some(call))
    }

    /// Forgets the functions: they have ended with their session.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Returns the body of a function, whose parameters are those of all statements.
fn body(first: &str, statements: &[FunctionStatement]) -> String {
    let mut body = format!("BEGIN PERFORM {first};");
    let mut offset = 0;
    for statement in statements {
        let sql = renumbered(&statement.sql, offset);
        let (before, after) = if statement.is_required {
            (" PERFORM * FROM (", ") AS checked;")
        } else {
            (" ", ";")
        };
        body.extend([before, &sql, after]);
        offset += statement.types.len();
    }
    body.push_str(" END");
    body
}

/// Returns a statement whose parameters have numbers that are higher by `offset`. No statement of the store has a dollar sign in a text.
fn renumbered(sql: &str, offset: usize) -> String {
    let mut parts = sql.split('$');
    let mut renumbered = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(part.len());
        let (digits, rest) = part.split_at(end);
        let number: usize = digits.parse().unwrap_or_default();
        renumbered.extend(["$", &(number + offset).to_string(), rest]);
    }
    renumbered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_a_body_are_numbered_through() {
        let statement = |sql: &str, is_required, types| FunctionStatement {
            sql: sql.to_owned(),
            is_required,
            types,
        };
        let statements = [
            statement(
                "SELECT 1 / count(*) FROM leases WHERE run = $1",
                true,
                vec![Type::TEXT],
            ),
            statement(
                "INSERT INTO uses (run, digest) VALUES ($1, $2)",
                false,
                vec![Type::INT8, Type::BYTEA],
            ),
            statement(
                "UPDATE runs SET a = $9, b = $10 WHERE c = $1",
                false,
                vec![Type::INT8; 10],
            ),
        ];
        assert_eq!(
            body("pg_advisory_xact_lock_shared(1)", &statements),
            "BEGIN PERFORM pg_advisory_xact_lock_shared(1); \
             PERFORM * FROM (SELECT 1 / count(*) FROM leases WHERE run = $1) AS checked; \
             INSERT INTO uses (run, digest) VALUES ($2, $3); \
             UPDATE runs SET a = $12, b = $13 WHERE c = $4; END"
        );
    }
}
