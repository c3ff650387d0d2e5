//! Evaluation of expressions, with its errors and limits. Every operation spends from the budget.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use super::function;
use super::operator::{self, BinaryOperator, whole_index};
use super::tree::{Accessor, Loop, Tree};
use crate::path::{follow_path, with_article};
use crate::plan::{Missing, Segment};
use crate::value::Object;
use crate::{Hashing, Value};

type Result<T> = std::result::Result<T, EvaluationError>;

/// An evaluation in progress.
pub(super) struct Evaluation<'a> {
    values: &'a [Value],
    locals: Vec<Value>,
    budget: EvaluationBudget,
}

impl<'a> Evaluation<'a> {
    /// Creates an evaluation with the values of the expression's bindings.
    pub(super) fn new(values: &'a [Value], budget: EvaluationBudget) -> Self {
        Self {
            values,
            locals: Vec::new(),
            budget,
        }
    }

    /// Evaluates `tree`.
    pub(super) fn value_of(&mut self, tree: &Tree) -> Result<Value> {
        // Every node costs at least one unit, so that no expression is free.
        self.budget.spend(1)?;
        match tree {
            Tree::Literal(value) => Ok(value.clone()),
            Tree::Read(read) => Err(EvaluationError::failed(format!(
                "`{:?}` is not bound",
                read.source
            ))),
            Tree::Bound(index) => self.values.get(*index).cloned().ok_or_else(|| {
                EvaluationError::failed("a value that the expression reads was not given")
            }),
            Tree::LoopVariable(position) => {
                let index = self.locals.len().checked_sub(position + 1);
                index
                    .and_then(|index| self.locals.get(index))
                    .cloned()
                    .ok_or_else(|| EvaluationError::failed("the variable of a loop is not set"))
            }
            Tree::List(items) => Ok(self.values_of(items)?.into()),
            Tree::Object(fields) => self.object(fields),
            Tree::Not(part) => Ok((!self.condition(part, "!")?).into()),
            Tree::Negate(part) => operator::negate(&self.value_of(part)?),
            Tree::Chain(first, rest) => self.chain(first, rest),
            Tree::And(parts) => self.short_circuit(parts, "&&", false),
            Tree::Or(parts) => self.short_circuit(parts, "||", true),
            Tree::Choice(cases, otherwise) => {
                for (condition, value) in cases {
                    if self.condition(condition, "?")? {
                        return self.value_of(value);
                    }
                }
                self.value_of(otherwise)
            }
            Tree::FirstOf(alternatives) => {
                let mut found = Err(EvaluationError::Missing("nothing is given".into()));
                for alternative in alternatives {
                    found = self.value_of(&alternative.tree);
                    // Only a missing part selects the next alternative; other errors are final.
                    if !matches!(found, Err(EvaluationError::Missing(_))) {
                        break;
                    }
                }
                found
            }
            Tree::Access(base, accessors) => {
                let mut value = self.value_of(base)?;
                for next in accessors {
                    self.budget.spend(1)?;
                    value = self.access(value, next)?;
                }
                Ok(value)
            }
            Tree::Call(function, arguments) => {
                let arguments = self.values_of(arguments)?;
                (function.run)(&arguments, &mut self.budget)
            }
            Tree::Has(path) => match self.value_of(path) {
                Ok(_) => Ok(true.into()),
                Err(EvaluationError::Missing(_)) => Ok(false.into()),
                Err(error) => Err(error),
            },
        }
    }

    fn values_of(&mut self, trees: &[Tree]) -> Result<Vec<Value>> {
        trees.iter().map(|tree| self.value_of(tree)).collect()
    }

    fn object(&mut self, fields: &[(Tree, Tree)]) -> Result<Value> {
        let mut object = Object::with_capacity_and_hasher(fields.len(), Hashing::default());
        for (key, value) in fields {
            let Value::Text(key) = self.value_of(key)? else {
                return Err(EvaluationError::failed("a key must be text"));
            };
            let value = self.value_of(value)?;
            if object.insert(key.clone(), value).is_some() {
                // CEL refuses duplicate keys, also computed ones.
                return Err(EvaluationError::failed(format!(
                    "the key `{key}` appears twice"
                )));
            }
        }
        Ok(object.into())
    }

    fn chain(&mut self, first: &Tree, rest: &[(BinaryOperator, Tree)]) -> Result<Value> {
        let mut left = self.value_of(first)?;
        for (operator, right) in rest {
            let right = self.value_of(right)?;
            left = operator.apply(&left, &right, &mut self.budget)?;
        }
        Ok(left)
    }

    fn condition(&mut self, tree: &Tree, sign: &str) -> Result<bool> {
        truth(&self.value_of(tree)?, sign)
    }

    /// Evaluates `&&` (`decisive` is false) or `||` (`decisive` is true). As in CEL, a decisive operand determines the
    /// result even if another one fails, so that the order of operands does not matter.
    fn short_circuit(&mut self, parts: &[Tree], sign: &str, decisive: bool) -> Result<Value> {
        let mut failure = None;
        for part in parts {
            match self.condition(part, sign) {
                Ok(value) if value == decisive => return Ok(value.into()),
                Ok(_) => {}
                Err(error) => record_failure(&mut failure, error)?,
            }
        }
        failure.map_or(Ok((!decisive).into()), Err)
    }

    fn access(&mut self, value: Value, next: &Accessor) -> Result<Value> {
        match next {
            Accessor::Part(path, missing) => self.part(&value, path, *missing),
            Accessor::Item(index) => {
                let segment = match self.value_of(index)? {
                    Value::Text(key) => Segment::Key(key),
                    Value::Number(number) => {
                        whole_index(&number).map(Segment::Index).ok_or_else(|| {
                            EvaluationError::failed(format!("`{number}` counts no item"))
                        })?
                    }
                    other => {
                        let kind = with_article(&other);
                        return Err(EvaluationError::failed(format!(
                            "{kind} cannot be an index"
                        )));
                    }
                };
                self.part(&value, &[segment], Missing::Fail)
            }
            Accessor::Call(function, arguments) => {
                let mut all = Vec::with_capacity(arguments.len() + 1);
                all.push(value);
                all.extend(self.values_of(arguments)?);
                (function.run)(&all, &mut self.budget)
            }
            Accessor::Search(search, regex) => search.run(&value, regex, &mut self.budget),
            Accessor::Loop(kind, trees) => self.run_loop(*kind, &value, trees),
        }
    }

    fn part(&mut self, value: &Value, path: &[Segment], missing: Missing) -> Result<Value> {
        self.budget.spend(path.len())?;
        // The path announces each list before it visits the items.
        follow_path(value, path, missing, &mut |items| self.budget.spend(items))
    }

    fn run_loop(&mut self, kind: Loop, over: &Value, trees: &[Tree]) -> Result<Value> {
        let items = match over {
            Value::List(items) => items.to_vec(),
            Value::Object(_) if !kind.takes_objects() => {
                return Err(EvaluationError::unsupported(
                    kind.name(),
                    std::slice::from_ref(over),
                ));
            }
            Value::Object(fields) => fields.keys().cloned().map(Value::Text).collect(),
            other => {
                let kind = with_article(other);
                return Err(EvaluationError::failed(format!(
                    "there are no items in {kind}"
                )));
            }
        };
        // Copying the items has a cost even if the body is cheap.
        self.budget.spend(items.len())?;
        match (kind, trees) {
            (Loop::All, [condition]) => self.short_circuit_items(items, condition, false),
            (Loop::Exists, [condition]) => self.short_circuit_items(items, condition, true),
            (Loop::ExistsOne, [condition]) => {
                let found = self.filter(items, condition)?;
                Ok((found.len() == 1).into())
            }
            (Loop::Filter, [condition]) => Ok(self.filter(items, condition)?.into()),
            (Loop::Map, [value]) => Ok(self.map(items, value)?.into()),
            (Loop::Map, [condition, value]) => {
                let items = self.filter(items, condition)?;
                Ok(self.map(items, value)?.into())
            }
            (Loop::SortBy, [key]) => {
                let keys = self.map(items.clone(), key)?;
                function::sort_by(kind.name(), items, keys, &mut self.budget)
            }
            (Loop::GroupBy, [key]) => {
                let keys = self.map(items.clone(), key)?;
                function::group_by(items, keys, &mut self.budget)
            }
            _ => Err(EvaluationError::failed(
                "a loop has a wrong number of arguments",
            )),
        }
    }

    fn with_item(&mut self, item: Value, tree: &Tree) -> Result<Value> {
        self.locals.push(item);
        let value = self.value_of(tree);
        // The variable leaves its scope also after an error.
        self.locals.pop();
        value
    }

    fn filter(&mut self, items: Vec<Value>, condition: &Tree) -> Result<Vec<Value>> {
        let mut selected = Vec::new();
        for item in items {
            // CEL has no truthiness: a condition must be a boolean.
            if truth(&self.with_item(item.clone(), condition)?, "the condition")? {
                selected.push(item);
            }
        }
        Ok(selected)
    }

    fn map(&mut self, items: Vec<Value>, tree: &Tree) -> Result<Vec<Value>> {
        items
            .into_iter()
            .map(|item| self.with_item(item, tree))
            .collect()
    }

    fn short_circuit_items(
        &mut self,
        items: Vec<Value>,
        tree: &Tree,
        decisive: bool,
    ) -> Result<Value> {
        let mut failure = None;
        for item in items {
            let value = self
                .with_item(item, tree)
                .and_then(|value| truth(&value, "the condition"));
            match value {
                Ok(value) if value == decisive => return Ok(value.into()),
                Ok(_) => {}
                Err(error) => record_failure(&mut failure, error)?,
            }
        }
        failure.map_or(Ok((!decisive).into()), Err)
    }
}

/// Stores the first failure; an exhausted budget ends the evaluation at once.
fn record_failure(failure: &mut Option<EvaluationError>, error: EvaluationError) -> Result<()> {
    if matches!(error, EvaluationError::TooCostly { .. }) {
        return Err(error);
    }
    failure.get_or_insert(error);
    Ok(())
}

fn truth(value: &Value, sign: &str) -> Result<bool> {
    value.as_bool().ok_or_else(|| {
        let kind = with_article(value);
        let sign = match sign {
            "the condition" => sign.to_owned(),
            sign => format!("`{sign}`"),
        };
        EvaluationError::failed(format!("{sign} needs true or false, found {kind}"))
    })
}

/// An error in a text between `${` and `}`. It is boxed, since a plan has many results of the parser and few errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError(Box<ExpressionErrorDetails>);

/// The content of an [`ExpressionError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionErrorDetails {
    /// The fact: one lower-case clause.
    pub message: String,
    /// A hint how to fix the text.
    pub help: Option<String>,
    /// The byte offset in the text.
    pub offset: usize,
    /// The kind of error.
    pub kind: ExpressionErrorKind,
}

/// The kind of an error in a text between `${` and `}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpressionErrorKind {
    /// A path or an alternative is malformed.
    Reference,
    /// A computation is malformed.
    Expression,
    /// The text is too long or nested too deeply.
    TooLarge,
}

impl ExpressionError {
    pub(super) fn new(message: impl Into<String>, offset: usize) -> Self {
        Self::of_kind(ExpressionErrorKind::Expression, message, offset)
    }

    pub(super) fn reference(message: impl Into<String>, offset: usize) -> Self {
        Self::of_kind(ExpressionErrorKind::Reference, message, offset)
    }

    pub(super) fn too_large(message: impl Into<String>, offset: usize) -> Self {
        Self::of_kind(ExpressionErrorKind::TooLarge, message, offset)
    }

    fn of_kind(kind: ExpressionErrorKind, message: impl Into<String>, offset: usize) -> Self {
        Self(Box::new(ExpressionErrorDetails {
            message: message.into(),
            help: None,
            offset,
            kind,
        }))
    }

    /// Adds the hint, if there is one.
    pub(super) fn or_help(mut self, help: Option<String>) -> Self {
        if help.is_some() {
            self.help = help;
        }
        self
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl Deref for ExpressionError {
    type Target = ExpressionErrorDetails;

    fn deref(&self) -> &ExpressionErrorDetails {
        &self.0
    }
}

impl DerefMut for ExpressionError {
    fn deref_mut(&mut self) -> &mut ExpressionErrorDetails {
        &mut self.0
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ExpressionError {}

/// The reason why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluationError {
    /// A part that the expression reads does not exist. A later alternative may apply.
    Missing(String),
    /// The evaluation exceeds its budget.
    TooCostly {
        /// The allowed units of work.
        limit: u64,
    },
    /// The operation cannot be applied to these values.
    Failed(String),
}

impl EvaluationError {
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// Returns the error that the function `name` does not apply to `values`.
    pub(super) fn unsupported(name: &str, values: &[Value]) -> Self {
        let kinds: Vec<&str> = values.iter().map(with_article).collect();
        Self::failed(format!("`{name}` does not work on {}", kinds.join(" and ")))
    }
}

impl fmt::Display for EvaluationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(message) | Self::Failed(message) => f.write_str(message),
            Self::TooCostly { limit } => {
                write!(f, "the expression needs more than {limit} units of work")
            }
        }
    }
}

impl std::error::Error for EvaluationError {}

impl From<crate::path::PathError> for EvaluationError {
    fn from(error: crate::path::PathError) -> Self {
        Self::Missing(error.message)
    }
}

/// Maximum number of characters between `${` and `}`.
pub const MAX_EXPRESSION_CHARS: usize = 4000;

/// Maximum nesting of brackets, arguments and branches, which bounds the recursion of parser and evaluation.
pub const MAX_EXPRESSION_DEPTH: usize = 32;

/// The limits of one evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluationLimits {
    /// The budget in units of work: one for each operation, each item, and every eight bytes of text read or written. A
    /// million units take well under a second.
    pub cost: u64,
    /// The time of the run since 1970, which `now()` gives; `None` if the expression is evaluated outside of a run.
    pub now: Option<Duration>,
}

impl Default for EvaluationLimits {
    fn default() -> Self {
        Self {
            cost: 1_000_000,
            now: None,
        }
    }
}

/// The remaining budget of an evaluation.
#[derive(Debug)]
pub(super) struct EvaluationBudget {
    limit: u64,
    left: u64,
    now: Option<Duration>,
}

impl EvaluationBudget {
    pub(super) fn new(limits: &EvaluationLimits) -> Self {
        Self {
            limit: limits.cost,
            left: limits.cost,
            now: limits.now,
        }
    }

    /// Returns the time of the run since 1970.
    pub(super) fn now(&self) -> Option<Duration> {
        self.now
    }

    pub(super) fn spend(&mut self, units: usize) -> Result<()> {
        let units = u64::try_from(units).unwrap_or(u64::MAX);
        let left = self.left.checked_sub(units);
        // A spent budget stays spent: `has` and `??` must not continue after it.
        self.left = left.unwrap_or(0);
        left.map(drop)
            .ok_or(EvaluationError::TooCostly { limit: self.limit })
    }

    /// Spends the units for reading or writing `bytes` of text.
    pub(super) fn spend_text(&mut self, bytes: usize) -> Result<()> {
        self.spend(1 + bytes / 8)
    }
}
