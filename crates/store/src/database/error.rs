//! Errors of statements.

use std::path::Path;

use crate::error::{FileProblem, StoreError};

/// An error of a statement, which does not know the location of the store.
#[derive(Clone, Debug, thiserror::Error)]
pub enum QueryError {
    /// The database refused the statement.
    #[error("the store {}", .0.problem)]
    Database(DatabaseError),
    /// An error of the store.
    #[error(transparent)]
    Store(StoreError),
}

/// A refusal of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseError {
    /// The problem.
    pub problem: FileProblem,
    /// The cause, which decides whether a repetition or other data may succeed.
    pub cause: QueryCause,
}

/// The cause of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryCause {
    /// A row with the same primary key exists already.
    Conflict,
    /// The written data may be the reason, so that writing other data may succeed.
    Data,
    /// The connection was lost, or the transaction collided with another one: it may succeed if it is repeated.
    Transient,
    /// The database as a whole.
    Database,
}

impl QueryError {
    /// Creates an error of the database as a whole.
    #[must_use]
    pub fn of(problem: FileProblem) -> Self {
        Self::Database(DatabaseError {
            problem,
            cause: QueryCause::Database,
        })
    }

    /// Creates an error of the kind [`FileProblem::Failed`].
    #[must_use]
    pub fn failed(reason: impl Into<String>) -> Self {
        Self::of(FileProblem::Failed(reason.into()))
    }

    /// Converts this into an error of the store at `location`.
    #[must_use]
    pub fn at(self, location: &Path) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Database(DatabaseError { problem, cause }) => StoreError::File {
                path: location.to_owned(),
                trouble: match problem {
                    FileProblem::Failed(reason) if cause == QueryCause::Transient => {
                        FileProblem::Unreachable(reason)
                    }
                    problem => problem,
                },
            },
        }
    }

    /// Returns true if the same transaction may succeed if it is repeated.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Store(_) => false,
            Self::Database(error) => error.cause == QueryCause::Transient,
        }
    }

    /// Returns true if the written data may be the reason, so that writing other data may succeed.
    pub(crate) fn is_local(&self) -> bool {
        match self {
            Self::Store(_) => true,
            Self::Database(error) => match error.cause {
                QueryCause::Conflict | QueryCause::Data => true,
                QueryCause::Transient | QueryCause::Database => false,
            },
        }
    }
}

impl From<StoreError> for QueryError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
