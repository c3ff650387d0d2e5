//! A parsed expression and what it needs.

use std::sync::Arc;

use super::budget::Budget;
use super::evaluate::Evaluation;
use super::tree::Tree;
use super::{EvaluationError, EvaluationLimits};
use crate::Value;
use crate::plan::{Form, Read};

/// A CEL expression, parsed once: a condition or a computed value.
///
/// Numbers are JSON numbers: whole ones stay whole among themselves (and `7 / 2` is `3`), everything else is a
/// double, and both compare and calculate with each other.
#[derive(Clone, Debug)]
pub struct Expression(Arc<Parsed>);

#[derive(Debug)]
struct Parsed {
    text: Arc<str>,
    tree: Tree,
    bindings: Vec<Form>,
    reads: Vec<Read>,
}

impl PartialEq for Expression {
    /// An expression means what its text says.
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Expression {
    pub(super) fn new(text: Arc<str>, tree: Tree, bindings: Vec<Form>, reads: Vec<Read>) -> Self {
        Self(Arc::new(Parsed {
            text,
            tree,
            bindings,
            reads,
        }))
    }

    /// The expression as it was written.
    pub fn text(&self) -> &Arc<str> {
        &self.0.text
    }

    /// Every place that the expression may read, with the constant path behind it. Places that it asks about with
    /// `has(…)`, or before a `??`, are marked [`Missing::Null`](crate::plan::Missing::Null): they need not exist.
    pub fn reads(&self) -> Vec<&Read> {
        self.0.reads.iter().collect()
    }

    /// What must be resolved, in this order, before [`Self::evaluate`]: the roots of paths (whole outputs, all slots
    /// of a kind) and the alternatives (`a ?? b`) and optional paths (`a.b?`) inside of the expression.
    pub fn bindings(&self) -> &[Form] {
        &self.0.bindings
    }

    /// Computes the value. `values` are those of [`Self::bindings`].
    ///
    /// # Errors
    ///
    /// [`EvaluationError::Missing`] where a part that is needed does not exist, [`EvaluationError::TooCostly`] where
    /// the limit is reached, [`EvaluationError::Failed`] where the values do not fit the operation.
    pub fn evaluate(
        &self,
        values: &[Value],
        limits: &EvaluationLimits,
    ) -> Result<Value, EvaluationError> {
        Evaluation::new(values, Budget::new(limits)).value_of(&self.0.tree)
    }
}
