//! Resolution of references to values.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::sync::Arc;

use planwright_core::expression::{EvaluationError, EvaluationLimits};
use planwright_core::plan::{Alternative, Form, Node, NodeKind, Reference, Segment, TextPart};
use planwright_core::schema::{PathLookup, Type};
use planwright_core::{Diagnostic, Hashing, Object, Tool, Value};

use super::slots::Frame;
use crate::backend::{ErrorKind, ToolError};
use crate::options::SecretValues;
use crate::run::budgets::MemoryBudget;
use crate::run::outcome::{Outcome, SkipReason};

/// The warnings of a run. Reads of references add some, so they are shared.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    all: RefCell<Vec<Diagnostic>>,
    /// Tools already reported for output that violates their output schema.
    mismatched_tools: Vec<Arc<Tool>>,
}

impl Warnings {
    pub(in crate::run) fn add(&self, warning: Diagnostic) {
        self.all.borrow_mut().push(warning);
    }

    /// Adds the warning that the output of `tool` violates its output schema.
    pub(in crate::run) fn add_mismatch(&mut self, tool: Arc<Tool>, warning: Diagnostic) {
        self.add(warning);
        self.mismatched_tools.push(tool);
    }

    /// Returns true if output of `tool` was reported already.
    pub(in crate::run) fn reports_mismatch(&self, tool: &Arc<Tool>) -> bool {
        self.mismatched_tools
            .iter()
            .any(|other| Arc::ptr_eq(other, tool))
    }

    pub(in crate::run) fn to_vec(&self) -> Vec<Diagnostic> {
        self.all.borrow().clone()
    }
}

/// The reason why a reference has no value. Errors are boxed, since every read returns a result of this type.
#[derive(Clone, Debug)]
pub(crate) enum ResolveError {
    /// The steps that must settle first.
    Wait(Vec<u32>),
    /// The value will never exist, so the step is skipped.
    Skip(SkipReason),
    /// The path of the reference has no value. A later alternative may have one.
    Missing(Box<ToolError>),
    /// The reference cannot be resolved.
    Fail(Box<ToolError>),
}

impl ResolveError {
    /// The error, if it is one.
    pub(crate) fn into_error(self) -> Option<ToolError> {
        match self {
            Self::Missing(error) | Self::Fail(error) => Some(*error),
            Self::Wait(_) | Self::Skip(_) => None,
        }
    }
}

impl From<ToolError> for ResolveError {
    fn from(error: ToolError) -> Self {
        Self::Fail(Box::new(error))
    }
}

pub(super) type Resolution<T> = Result<T, ResolveError>;

/// The values that references can read.
#[derive(Debug)]
pub(crate) struct ReferenceScope<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) item: Option<&'a Value>,
    pub(crate) index: Option<u64>,
    pub(crate) last: Option<&'a Value>,
    /// The reader's own outcome so far: that of the last round, or the failure to replace.
    pub(crate) own_outcome: Option<(u32, &'a Outcome)>,
    pub(crate) secret_values: &'a SecretValues,
    pub(crate) limits: &'a EvaluationLimits,
    /// Warnings for the reader, beside the value.
    pub(crate) warnings: &'a Warnings,
    /// The memory that computed values take.
    pub(crate) memory: &'a MemoryBudget,
}

/// A value with its verbatim text, if it arrived as a text and differs from it.
pub(super) struct ReadValue {
    pub(super) value: Value,
    pub(super) text: Option<Arc<str>>,
}

impl ReadValue {
    pub(super) fn plain(value: Value) -> Self {
        Self { value, text: None }
    }

    /// Returns the text if there is one and the receiver takes text but not the value, else the value. `expected` is evaluated only if
    /// there is a text.
    fn fitting<T: Borrow<Type>>(self, expected: impl FnOnce() -> Option<T>) -> Value {
        match self.text {
            Some(text)
                if expected()
                    .is_some_and(|expected| wants_text(expected.borrow(), &self.value)) =>
            {
                Value::Text(text)
            }
            _ => self.value,
        }
    }

    /// Returns the value that a longer text contains. Servers wrap a text in an object of one field, such as `content` or `result`, and repeat it beside
    /// it: then it is the text, as for a parameter that takes text.
    fn in_text(&self) -> &Value {
        let (Value::Object(fields), Some(text)) = (&self.value, &self.text) else {
            return &self.value;
        };
        match fields.values().next() {
            Some(only @ Value::Text(field)) if fields.len() == 1 && field == text => only,
            _ => &self.value,
        }
    }
}

impl ReferenceScope<'_> {
    /// Resolves `node`. `expected` is the type of the parameter that receives it, if that is known.
    pub(crate) fn node(&self, node: &Node, expected: Option<&Type>) -> Resolution<Value> {
        match &node.kind {
            NodeKind::Literal(value) => Ok(value.clone()),
            NodeKind::Reference(reference) => {
                let found = self.reference(reference)?;
                self.count_new(found.fitting(|| expected))
            }
            NodeKind::Text(parts) => self.text(parts),
            NodeKind::List(items) => {
                let inner = expected.and_then(|expected| element_type(expected, Segment::Index(0)));
                let mut values = Vec::with_capacity(items.len());
                // The parts are read to the end even if one must wait, so that the task waits once for all of them.
                let mut waits = Vec::new();
                for item in items {
                    values.extend(collect_wait(self.node(item, inner.as_ref()), &mut waits)?);
                }
                require_settled(waits)?;
                self.memory.add_parts(values.len(), 0)?;
                Ok(values.into())
            }
            NodeKind::Object(fields) => {
                let mut values = Object::with_capacity_and_hasher(fields.len(), Hashing::default());
                let mut waits = Vec::new();
                for field in fields {
                    let bound = self.field(&field.key, &field.value, expected);
                    if let Some(value) = collect_wait(bound, &mut waits)? {
                        values.insert(Arc::clone(&field.key), value);
                    }
                }
                require_settled(waits)?;
                self.memory.add_parts(0, values.len())?;
                Ok(values.into())
            }
        }
    }

    fn count_new(&self, value: Value) -> Resolution<Value> {
        // A value that is only passed on is shared and costs nothing.
        self.memory.add_new(&value)?;
        Ok(value)
    }

    /// Resolves a field of an object of type `whole`.
    fn field(&self, key: &str, node: &Node, whole: Option<&Type>) -> Resolution<Value> {
        let expected = || whole.and_then(|whole| whole.property(key));
        match &node.kind {
            NodeKind::Literal(value) => Ok(value.clone()),
            NodeKind::Reference(reference) => {
                self.count_new(self.reference(reference)?.fitting(expected))
            }
            NodeKind::Text(_) | NodeKind::List(_) | NodeKind::Object(_) => {
                self.node(node, expected().as_ref())
            }
        }
    }

    /// Resolves `node` as far as possible before a run. References without a value stand as written.
    pub(crate) fn preview(&self, node: &Node) -> Value {
        match &node.kind {
            NodeKind::Literal(value) => value.clone(),
            NodeKind::Reference(reference) => self
                .reference(reference)
                .and_then(|found| self.count_new(found.value))
                .unwrap_or_else(|_| as_written(&reference.text)),
            NodeKind::Text(parts) => {
                let mut whole = String::new();
                for element_type in parts {
                    match element_type {
                        TextPart::Literal(text) => whole.push_str(text),
                        TextPart::Reference(reference) => {
                            let found = self.reference(reference);
                            let pushed = found
                                .and_then(|found| self.push_value(&mut whole, found.in_text()));
                            if pushed.is_err() {
                                whole.push_str(&reference.text);
                            }
                        }
                    }
                }
                // An exceeded budget is not an error here: the next value that does not fit is left out.
                let _ = self.memory.add(whole.len());
                Value::text(whole)
            }
            NodeKind::List(items) => Value::list(items.iter().map(|item| self.preview(item))),
            NodeKind::Object(fields) => Value::object(
                fields
                    .iter()
                    .map(|field| (Arc::clone(&field.key), self.preview(&field.value))),
            ),
        }
    }

    fn text(&self, parts: &[TextPart]) -> Resolution<Value> {
        let mut whole = String::new();
        let mut waits = Vec::new();
        for element_type in parts {
            match element_type {
                TextPart::Literal(text) => whole.push_str(text),
                TextPart::Reference(reference) => {
                    if let Some(found) = collect_wait(self.reference(reference), &mut waits)? {
                        self.push_value(&mut whole, found.in_text())?;
                    }
                }
            }
        }
        require_settled(waits)?;
        self.memory.add(whole.len())?;
        Ok(Value::text(whole))
    }

    fn reference(&self, reference: &Reference) -> Resolution<ReadValue> {
        self.form(&reference.form, reference)
    }

    /// Resolves `form`, which is part of `reference`.
    fn form(&self, form: &Form, reference: &Reference) -> Resolution<ReadValue> {
        match form {
            Form::First(alternatives) => self.first(alternatives, reference),
            Form::All(reads) => {
                let mut last = None;
                let mut waits = Vec::new();
                for read in reads {
                    last = collect_wait(self.read(read, reference), &mut waits)?;
                }
                require_settled(waits)?;
                last.ok_or_else(|| fail(ErrorKind::Internal, "a reference names nothing to read"))
            }
        }
    }

    /// Resolves the first alternative that exists. If none does, a missing path is a better reason than a step that
    /// did not run.
    fn first(&self, alternatives: &[Alternative], reference: &Reference) -> Resolution<ReadValue> {
        let mut reason: Option<ResolveError> = None;
        for alternative in alternatives {
            let tried = match alternative {
                Alternative::Read(read) => self.read(read, reference),
                Alternative::Literal(value) => Ok(ReadValue::plain(value.clone())),
                Alternative::Expression(expression) => {
                    self.expression(expression, reference).map(ReadValue::plain)
                }
            };
            match tried {
                Ok(found) => return Ok(found),
                // A later alternative is read only once this one is known to be missing, because waiting for both would delay the step
                // for data that it does not need.
                Err(now @ (ResolveError::Wait(_) | ResolveError::Fail(_))) => return Err(now),
                Err(new @ ResolveError::Missing(_))
                    if !matches!(reason, Some(ResolveError::Missing(_))) =>
                {
                    reason = Some(new);
                }
                Err(new) => reason = reason.or(Some(new)),
            }
        }
        Err(reason
            .unwrap_or_else(|| fail(ErrorKind::Internal, "a reference names nothing to read")))
    }

    fn expression(
        &self,
        expression: &planwright_core::Expression,
        reference: &Reference,
    ) -> Resolution<Value> {
        let mut values = Vec::new();
        let mut waits = Vec::new();
        for binding in expression.bindings() {
            let found = collect_wait(self.form(binding, reference), &mut waits)?;
            values.extend(found.map(|found| found.value));
        }
        require_settled(waits)?;
        // The time of an evaluation is not known in advance, so the driver checks the clock after it.
        self.memory.mark_slow();
        expression
            .evaluate(&values, self.limits)
            .map_err(|error| match error {
                EvaluationError::Missing(_) => missing(format!(
                    "`{}` reads a missing value: {error}",
                    reference.shown()
                )),
                EvaluationError::TooCostly { .. } => fail(
                    ErrorKind::Budget,
                    format!("`{}` costs too much: {error}", reference.shown()),
                ),
                EvaluationError::Failed(_) => fail(
                    ErrorKind::Reference,
                    format!("`{}` cannot be computed: {error}", reference.shown()),
                ),
            })
    }
}

/// The reference as written: an object in some dialects, a text in most.
fn as_written(text: &Arc<str>) -> Value {
    match Value::from_json(text) {
        Ok(object @ Value::Object(_)) => object,
        _ => Value::Text(Arc::clone(text)),
    }
}

pub(super) fn missing(message: String) -> ResolveError {
    ResolveError::Missing(Box::new(ToolError::new(ErrorKind::Reference, message)))
}

pub(in crate::run) fn fail(kind: ErrorKind, message: impl Into<String>) -> ResolveError {
    ResolveError::Fail(Box::new(ToolError::new(kind, message)))
}

/// Returns true if a parameter of type `expected` takes text but not `value`.
fn wants_text(expected: &Type, value: &Value) -> bool {
    expected.takes_text() && !expected.admits(value)
}

fn element_type(whole: &Type, segment: Segment) -> Option<Type> {
    match whole.at(&[segment]) {
        PathLookup::Found(element_type) => Some(element_type),
        PathLookup::Impossible { .. } | PathLookup::Unlisted { .. } | PathLookup::Unknown => None,
    }
}

/// Collects the steps to wait for, so a reader waits for all of them at once. A failure goes before a wait, since it
/// is final.
fn collect_wait<T>(bound: Resolution<T>, waits: &mut Vec<u32>) -> Resolution<Option<T>> {
    match bound {
        Ok(value) => Ok(Some(value)),
        Err(ResolveError::Wait(on)) => {
            waits.extend(on);
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

pub(super) fn require_settled(waits: Vec<u32>) -> Resolution<()> {
    if waits.is_empty() {
        Ok(())
    } else {
        Err(ResolveError::Wait(waits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, text: Option<&str>, expected: &str) {
        let read = ReadValue {
            value: Value::from_json(value).unwrap(),
            text: text.map(Arc::from),
        };
        assert_eq!(read.in_text().to_json(), expected);
    }

    #[test]
    fn a_wrapped_text_is_a_text_within_texts() {
        check(r#"{"content": "a,b"}"#, Some("a,b"), r#""a,b""#);
        check(r#"{"content": "a,b"}"#, None, r#"{"content":"a,b"}"#);
        check(r#"{"id": "7"}"#, Some("booked"), r#"{"id":"7"}"#);
        check(r#"{"a": "x", "b": "x"}"#, Some("x"), r#"{"a":"x","b":"x"}"#);
        check(r#"{"n": 1}"#, Some("1"), r#"{"n":1}"#);
    }
}
