//! From references to values.

use std::borrow::Borrow;
use std::cell::RefCell;
use std::sync::Arc;

use planwright_core::expression::{EvaluationError, EvaluationLimits};
use planwright_core::path::read_path;
use planwright_core::plan::{
    Alternative, Form, Missing, Node, NodeKind, Read, Reference, Segment, SlotKind, Source,
    TextPart,
};
use planwright_core::schema::{Reach, Type};
use planwright_core::{Code, Diagnostic, Object, StepId, Value};

use super::frame::Frame;
use super::inserted::insert;
use super::made::Made;
use super::outcome::{Because, Outcome, SkipReason, StepStatus};
use crate::backend::{ErrorKind, ToolError};
use crate::confidential::Confidential;
use planwright_core::Hashing;

/// Why there is no value.
#[derive(Clone, Debug)]
pub(crate) enum Unbound {
    /// These steps must settle first.
    Wait(Vec<u32>),
    /// There will never be one: the reader has no reason to run.
    Skip(SkipReason),
    /// There should be one, but the way to it leads nowhere. A later alternative may serve.
    Missing(ToolError),
    /// There should be one, but something is wrong.
    Fail(ToolError),
}

impl Unbound {
    /// The failure, if it is one.
    pub(crate) fn into_error(self) -> Option<ToolError> {
        match self {
            Self::Missing(error) | Self::Fail(error) => Some(error),
            Self::Wait(_) | Self::Skip(_) => None,
        }
    }
}

impl From<ToolError> for Unbound {
    fn from(error: ToolError) -> Self {
        Self::Fail(error)
    }
}

type Bound<T> = Result<T, Unbound>;

/// What references may look at.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) frame: &'a Frame,
    pub(crate) item: Option<&'a Value>,
    pub(crate) index: Option<u64>,
    pub(crate) last: Option<&'a Value>,
    /// The reader's own outcome so far: the round that has just ended, or the failure to be replaced.
    pub(crate) own: Option<(u32, &'a Outcome)>,
    pub(crate) outside: &'a Confidential,
    pub(crate) limits: &'a EvaluationLimits,
    /// What the reader should know though it gets a value.
    pub(crate) warnings: &'a RefCell<Vec<Diagnostic>>,
    /// What was made of what is there.
    pub(crate) made: &'a Made,
}

/// A value, and the text that it arrived as, if it is not that text.
struct Found {
    value: Value,
    text: Option<Arc<str>>,
}

impl Found {
    fn plain(value: Value) -> Self {
        Self { value, text: None }
    }

    /// The text, where there is one and whoever receives it takes text and not the value; else the value. What type is expected
    /// is asked only where there is a text.
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
}

impl Scope<'_> {
    /// The value of `node`. `expected` is the type of the parameter that receives it, where that is known.
    pub(crate) fn node(&self, node: &Node, expected: Option<&Type>) -> Bound<Value> {
        match &node.kind {
            NodeKind::Literal(value) => Ok(value.clone()),
            NodeKind::Reference(reference) => {
                let found = self.reference(reference)?;
                self.counted(found.fitting(|| expected))
            }
            NodeKind::Text(parts) => self.text(parts),
            NodeKind::List(items) => {
                let inner = expected.and_then(|expected| part(expected, Segment::Index(0)));
                let mut values = Vec::with_capacity(items.len());
                let mut waits = Vec::new();
                for item in items {
                    values.extend(or_wait(self.node(item, inner.as_ref()), &mut waits)?);
                }
                settled(waits)?;
                self.made.add_parts(values.len(), 0)?;
                Ok(values.into())
            }
            NodeKind::Object(fields) => {
                let mut values = Object::with_capacity_and_hasher(fields.len(), Hashing::default());
                let mut waits = Vec::new();
                for field in fields {
                    let bound = self.field(&field.key, &field.value, expected);
                    if let Some(value) = or_wait(bound, &mut waits)? {
                        values.insert(Arc::clone(&field.key), value);
                    }
                }
                settled(waits)?;
                self.made.add_parts(0, values.len())?;
                Ok(values.into())
            }
        }
    }

    fn counted(&self, value: Value) -> Bound<Value> {
        self.made.add_new(&value)?;
        Ok(value)
    }

    /// The value of a field of an object, of which `whole` is the type.
    fn field(&self, key: &str, node: &Node, whole: Option<&Type>) -> Bound<Value> {
        let expected = || whole.and_then(|whole| whole.property(key));
        match &node.kind {
            NodeKind::Literal(value) => Ok(value.clone()),
            NodeKind::Reference(reference) => {
                self.counted(self.reference(reference)?.fitting(expected))
            }
            _ => self.node(node, expected().as_ref()),
        }
    }

    /// The value of `node` as far as it can be known now; a reference that cannot stands as it was written.
    pub(crate) fn preview(&self, node: &Node) -> Value {
        match &node.kind {
            NodeKind::Literal(value) => value.clone(),
            NodeKind::Reference(reference) => self
                .reference(reference)
                .and_then(|found| self.counted(found.value))
                .unwrap_or_else(|_| as_written(&reference.text)),
            NodeKind::Text(parts) => {
                let mut whole = String::new();
                for part in parts {
                    match part {
                        TextPart::Literal(text) => whole.push_str(text),
                        TextPart::Reference(reference) => {
                            let found = self.reference(reference);
                            let pushed =
                                found.and_then(|found| self.push_within(&mut whole, &found.value));
                            if pushed.is_err() {
                                whole.push_str(&reference.text);
                            }
                        }
                    }
                }
                // What is too much is left out before it is made.
                let _ = self.made.add(whole.len());
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

    fn text(&self, parts: &[TextPart]) -> Bound<Value> {
        let mut whole = String::new();
        let mut waits = Vec::new();
        for part in parts {
            match part {
                TextPart::Literal(text) => whole.push_str(text),
                TextPart::Reference(reference) => {
                    if let Some(found) = or_wait(self.reference(reference), &mut waits)? {
                        self.push_within(&mut whole, &found.value)?;
                    }
                }
            }
        }
        settled(waits)?;
        self.made.add(whole.len())?;
        Ok(Value::text(whole))
    }

    /// Appends `value` as it looks inside a text. One for which there is no room is not even written.
    fn push_within(&self, whole: &mut String, value: &Value) -> Bound<()> {
        let most = LONGEST_TEXT.min(self.made.left());
        if insert(whole, value, most) {
            return Ok(());
        }
        if most == LONGEST_TEXT {
            return Err(fail(
                ErrorKind::Budget,
                format!("the text grows beyond {} MiB", LONGEST_TEXT / 1024 / 1024),
            ));
        }
        // What was copied for nothing counts as well, so that failures do not make a run endless.
        self.made.add(whole.len())?;
        Err(self.made.used_up().into())
    }

    fn reference(&self, reference: &Reference) -> Bound<Found> {
        self.form(&reference.form, reference)
    }

    /// The value of `form`, which stands in `reference`.
    fn form(&self, form: &Form, reference: &Reference) -> Bound<Found> {
        match form {
            Form::First(alternatives) => self.first(alternatives, reference),
            Form::All(reads) => {
                let mut last = None;
                let mut waits = Vec::new();
                for read in reads {
                    last = or_wait(self.read(read, reference), &mut waits)?;
                }
                settled(waits)?;
                last.ok_or_else(|| fail(ErrorKind::Internal, "a reference names nothing to read"))
            }
        }
    }

    /// The first alternative that exists. Of several that do not, a path that leads nowhere says more than a step that
    /// did not run.
    fn first(&self, alternatives: &[Alternative], reference: &Reference) -> Bound<Found> {
        let mut reason: Option<Unbound> = None;
        for alternative in alternatives {
            let tried = match alternative {
                Alternative::Read(read) => self.read(read, reference),
                Alternative::Literal(value) => Ok(Found::plain(value.clone())),
                Alternative::Expression(expression) => {
                    self.expression(expression, reference).map(Found::plain)
                }
            };
            match tried {
                Ok(found) => return Ok(found),
                Err(now @ (Unbound::Wait(_) | Unbound::Fail(_))) => return Err(now),
                Err(new @ Unbound::Missing(_)) if !matches!(reason, Some(Unbound::Missing(_))) => {
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
    ) -> Bound<Value> {
        let mut values = Vec::new();
        let mut waits = Vec::new();
        for binding in expression.bindings() {
            let found = or_wait(self.form(binding, reference), &mut waits)?;
            values.extend(found.map(|found| found.value));
        }
        settled(waits)?;
        self.made.may_take_long();
        expression
            .evaluate(&values, self.limits)
            .map_err(|error| match error {
                EvaluationError::Missing(_) => missing(format!(
                    "`{}` needs what is not there: {error}",
                    reference.shown()
                )),
                EvaluationError::TooCostly { .. } => fail(
                    ErrorKind::Budget,
                    format!("`{}` costs too much: {error}", reference.shown()),
                ),
                EvaluationError::Failed(_) => fail(
                    ErrorKind::Reference,
                    format!("`{}` cannot be worked out: {error}", reference.shown()),
                ),
            })
    }

    fn read(&self, read: &Read, reference: &Reference) -> Bound<Found> {
        match &read.source {
            Source::Step(id) => {
                let step = self.step(id, read)?;
                if let Some((own, outcome)) = self.own
                    && own == step
                {
                    return self.output_of(step, outcome, read, reference);
                }
                let outcome = self.settled_step(step)?;
                self.output_of(step, outcome, read, reference)
            }
            Source::Result(id) => {
                let step = self.step(id, read)?;
                let outcome = match self.own {
                    Some((own, outcome)) if own == step => outcome,
                    _ => self.settled_step(step)?,
                };
                let tool = self
                    .frame
                    .plan
                    .plan()
                    .steps
                    .get(step as usize)
                    .and_then(|step| step.tool())
                    .map_or("", |name| &name.text);
                self.walk(&outcome.as_value(tool), &read.path, read, reference)
            }
            Source::Slot(kind) => self.slot(*kind, read, reference),
            Source::Item => self.local(self.item.cloned(), "item", read, reference),
            Source::Index => self.local(self.index.map(Value::from), "index", read, reference),
            Source::Outside(what, name) => match self.outside.get(*what, name) {
                Some(text) => Ok(Found::plain(Value::Text(text))),
                None => Err(fail(
                    ErrorKind::Reference,
                    format!("nobody gave `{what}.{name}`"),
                )),
            },
            Source::Last => match self.last {
                Some(value) => self.walk(value, &read.path, read, reference),
                None => Err(missing(format!(
                    "`{}` has no value in the first round",
                    reference.shown()
                ))),
            },
        }
    }

    fn local(
        &self,
        value: Option<Value>,
        name: &str,
        read: &Read,
        reference: &Reference,
    ) -> Bound<Found> {
        match value {
            Some(value) => self.walk(&value, &read.path, read, reference),
            None => Err(missing(format!("`{name}` has no value outside of a loop"))),
        }
    }

    fn step(&self, id: &StepId, read: &Read) -> Bound<u32> {
        read.step_position()
            .or_else(|| self.frame.plan.step_index(id.as_str()))
            .ok_or_else(|| fail(ErrorKind::Reference, format!("step `{id}` does not exist")))
    }

    fn settled_step(&self, step: u32) -> Bound<&Outcome> {
        self.frame
            .outcome(step)
            .map(Arc::as_ref)
            .ok_or_else(|| Unbound::Wait(vec![step]))
    }

    fn output_of(
        &self,
        step: u32,
        outcome: &Outcome,
        read: &Read,
        reference: &Reference,
    ) -> Bound<Found> {
        match (&outcome.output, outcome.status) {
            (Some(output), StepStatus::Succeeded) => {
                if read.path.is_empty() {
                    return Ok(Found {
                        value: output.value.clone(),
                        text: output.text.clone(),
                    });
                }
                self.walk(&output.value, &read.path, read, reference)
            }
            _ => Err(Unbound::Skip(SkipReason::new(
                Because::Step,
                Arc::clone(self.id_of(step)),
            ))),
        }
    }

    fn id_of(&self, step: u32) -> &Arc<str> {
        static UNKNOWN: std::sync::LazyLock<Arc<str>> = std::sync::LazyLock::new(|| Arc::from("?"));
        self.frame
            .plan
            .plan()
            .steps
            .get(step as usize)
            .map_or(&UNKNOWN, |step| step.id.text())
    }

    fn slot(&self, kind: SlotKind, read: &Read, reference: &Reference) -> Bound<Found> {
        let producers = self.frame.plan.producers(read);
        let waits: Vec<u32> = producers
            .iter()
            .copied()
            .filter(|step| self.frame.task(*step).is_some() && self.frame.outcome(*step).is_none())
            .collect();
        settled(waits)?;
        // What was there before does not stand in for what a failed step should have put there.
        let outcomes = || {
            producers
                .iter()
                .filter_map(|step| Some((*step, self.frame.outcome(*step)?)))
        };
        let filled = outcomes().any(|(_, outcome)| outcome.status == StepStatus::Succeeded);
        let broken = outcomes()
            .find(|(_, outcome)| outcome.status == StepStatus::Failed && !outcome.handled)
            .map(|(step, _)| step);
        if let (false, Some(step)) = (filled, broken) {
            let of = Arc::clone(self.id_of(step));
            return Err(Unbound::Skip(SkipReason::new(Because::Step, of)));
        }
        let Some((Segment::Key(name), rest)) = read.path.split_first() else {
            return self.walk(&self.frame.slots.all(kind), &read.path, read, reference);
        };
        let branch = || {
            let mut path = kind.to_string();
            for segment in &read.path {
                let Segment::Key(key) = segment else {
                    break;
                };
                path.push('.');
                path.push_str(key);
            }
            Unbound::Skip(SkipReason::new(Because::Branch, path))
        };
        let Some(value) = self.frame.slots.get(kind, name) else {
            return match read.missing {
                Missing::Null => Ok(Found::plain(self.missing_null(reference, name))),
                Missing::Fail | Missing::NullInItems => Err(branch()),
            };
        };
        let walked = self.walk(value, rest, read, reference);
        match (walked, kind) {
            // A part of the state that nobody filled is a branch that was not taken.
            (Err(Unbound::Missing(_)), SlotKind::State | SlotKind::Data) => Err(branch()),
            (Ok(mut found), SlotKind::State | SlotKind::Data | SlotKind::Vars) => {
                let keys: Option<Vec<Arc<str>>> = read
                    .path
                    .iter()
                    .map(|segment| match segment {
                        Segment::Key(key) => Some(Arc::clone(key)),
                        _ => None,
                    })
                    .collect();
                found.text = keys.and_then(|keys| self.frame.slots.text(kind, &keys).cloned());
                Ok(found)
            }
            (other, _) => other,
        }
    }

    fn walk(
        &self,
        value: &Value,
        path: &[Segment],
        read: &Read,
        reference: &Reference,
    ) -> Bound<Found> {
        match read_path(value, path, read.missing) {
            Ok(found) => {
                if read.missing == Missing::Null
                    && found.is_null()
                    && let Err(error) = read_path(value, path, Missing::Fail)
                {
                    self.missing_null(reference, &error.message);
                }
                Ok(Found::plain(found))
            }
            Err(error) => Err(missing(format!(
                "`{}` leads nowhere: {}",
                reference.shown(),
                error.message
            ))),
        }
    }

    /// A missing value that counts as `null`: the run goes on, but says so.
    fn missing_null(&self, reference: &Reference, what: &str) -> Value {
        let message = format!(
            "`{}` leads nowhere and counts as null: {what}",
            reference.shown()
        );
        self.warnings.borrow_mut().push(
            Diagnostic::warning(Code::ImpossiblePath, message)
                .at(reference.place, &self.frame.plan.plan().sources),
        );
        Value::Null
    }
}

/// A reference as it was written: some dialects write an object, most a text.
fn as_written(text: &Arc<str>) -> Value {
    match Value::from_json(text) {
        Ok(object @ Value::Object(_)) => object,
        _ => Value::Text(Arc::clone(text)),
    }
}

fn missing(message: String) -> Unbound {
    Unbound::Missing(ToolError::new(ErrorKind::Reference, message))
}

fn fail(kind: ErrorKind, message: impl Into<String>) -> Unbound {
    Unbound::Fail(ToolError::new(kind, message))
}

/// Whether a parameter of type `expected` takes text, and not what `value` is.
fn wants_text(expected: &Type, value: &Value) -> bool {
    expected.takes_text() && !expected.admits(value)
}

fn part(whole: &Type, segment: Segment) -> Option<Type> {
    match whole.at(&[segment]) {
        Reach::Found(part) => Some(part),
        _ => None,
    }
}

/// The most bytes of a text that references are put into.
const LONGEST_TEXT: usize = 64 * 1024 * 1024;

/// The value; nothing where it must be waited for, which is noted, so that everything is waited for at once. A failure comes
/// before a wait, since it will not go away.
fn or_wait<T>(bound: Bound<T>, waits: &mut Vec<u32>) -> Bound<Option<T>> {
    match bound {
        Ok(value) => Ok(Some(value)),
        Err(Unbound::Wait(on)) => {
            waits.extend(on);
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

fn settled(waits: Vec<u32>) -> Bound<()> {
    if waits.is_empty() {
        Ok(())
    } else {
        Err(Unbound::Wait(waits))
    }
}
