//! Reads of references: outputs of steps, slots, items, paths into them, and their insertion into texts within a size limit.

use std::io;
use std::io::Write;
use std::sync::Arc;

use planwright_core::path::read_path;
use planwright_core::plan::{Missing, Read, Reference, Segment, SlotKind, Source};
use planwright_core::{Code, Diagnostic, StepId, Value};

use super::resolve::{
    ReadValue, ReferenceScope, Resolution, ResolveError, fail, missing, require_settled,
};
use crate::backend::ErrorKind;
use crate::run::outcome::{Outcome, SkipKind, SkipReason, StepStatus};

impl ReferenceScope<'_> {
    pub(super) fn read(&self, read: &Read, reference: &Reference) -> Resolution<ReadValue> {
        match &read.source {
            Source::Step(id) => {
                let step = self.step(id, read)?;
                // A step reads its own outcome in `until` and in the replacement for a failed output.
                if let Some((own, outcome)) = self.own_outcome
                    && own == step
                {
                    return self.output_of(step, outcome, read, reference);
                }
                let outcome = self.settled_step(step)?;
                self.output_of(step, outcome, read, reference)
            }
            Source::Result(id) => {
                let step = self.step(id, read)?;
                let outcome = match self.own_outcome {
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
            Source::ExternalValue(what, name) => match self.secret_values.get(*what, name) {
                Some(text) => Ok(ReadValue::plain(Value::Text(text))),
                None => Err(fail(
                    ErrorKind::Reference,
                    format!("`{what}.{name}` has no value"),
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
    ) -> Resolution<ReadValue> {
        match value {
            Some(value) => self.walk(&value, &read.path, read, reference),
            None => Err(missing(format!("`{name}` has no value outside of a loop"))),
        }
    }

    fn step(&self, id: &StepId, read: &Read) -> Resolution<u32> {
        read.step_position()
            .or_else(|| self.frame.plan.step_index(id.as_str()))
            .ok_or_else(|| fail(ErrorKind::Reference, format!("step `{id}` does not exist")))
    }

    fn settled_step(&self, step: u32) -> Resolution<&Outcome> {
        self.frame
            .outcome(step)
            .map(Arc::as_ref)
            .ok_or_else(|| ResolveError::Wait(vec![step]))
    }

    fn output_of(
        &self,
        step: u32,
        outcome: &Outcome,
        read: &Read,
        reference: &Reference,
    ) -> Resolution<ReadValue> {
        match (&outcome.output, outcome.status) {
            (Some(output), StepStatus::Succeeded) => {
                if read.path.is_empty() {
                    return Ok(ReadValue {
                        value: output.value.clone(),
                        text: output.text.clone(),
                    });
                }
                self.walk(&output.value, &read.path, read, reference)
            }
            _ => Err(ResolveError::Skip(SkipReason::new(
                SkipKind::Step,
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

    fn slot(&self, kind: SlotKind, read: &Read, reference: &Reference) -> Resolution<ReadValue> {
        let producers = self.frame.plan.producers(read);
        // Steps of other instances have no task in this frame and never write its slots.
        let waits: Vec<u32> = producers
            .iter()
            .copied()
            .filter(|step| self.frame.task(*step).is_some() && self.frame.outcome(*step).is_none())
            .collect();
        require_settled(waits)?;
        // An earlier value must not replace the one that a failed step should have written.
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
            return Err(ResolveError::Skip(SkipReason::new(SkipKind::Step, of)));
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
            ResolveError::Skip(SkipReason::new(SkipKind::Branch, path))
        };
        let Some(value) = self.frame.slots.get(kind, name) else {
            return match read.missing {
                Missing::Null => Ok(ReadValue::plain(self.missing_null(reference, name))),
                Missing::Fail | Missing::NullInItems => Err(branch()),
            };
        };
        let walked = self.walk(value, rest, read, reference);
        match (walked, kind) {
            // A part of the state without a value is a branch that was not taken.
            (Err(ResolveError::Missing(_)), SlotKind::State | SlotKind::Data) => Err(branch()),
            (Ok(mut found), SlotKind::State | SlotKind::Data | SlotKind::Vars) => {
                // Only a path of keys can name a slot that was written as one text.
                let keys: Option<Vec<Arc<str>>> = read
                    .path
                    .iter()
                    .map(|segment| match segment {
                        Segment::Key(key) => Some(Arc::clone(key)),
                        Segment::Index(_) | Segment::Each => None,
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
    ) -> Resolution<ReadValue> {
        match read_path(value, path, read.missing) {
            Ok(found) => {
                if read.missing == Missing::Null
                    && found.is_null()
                    && let Err(error) = read_path(value, path, Missing::Fail)
                {
                    self.missing_null(reference, &error.message);
                }
                Ok(ReadValue::plain(found))
            }
            Err(error) => Err(missing(format!(
                "`{}` leads nowhere: {}",
                reference.shown(),
                error.message
            ))),
        }
    }

    /// Returns `null` for a missing value and adds a warning.
    fn missing_null(&self, reference: &Reference, what: &str) -> Value {
        let message = format!("`{}` leads nowhere and is null: {what}", reference.shown());
        self.warnings.add(
            Diagnostic::warning(Code::ImpossiblePath, message)
                .at(reference.place, &self.frame.plan.plan().sources),
        );
        Value::Null
    }
}

/// The maximum size of a text with references, in bytes.
const MAX_TEXT_BYTES: usize = 64 * 1024 * 1024;

impl ReferenceScope<'_> {
    /// Appends `value` in its text form. A value that does not fit is not serialized at all.
    pub(super) fn push_value(&self, whole: &mut String, value: &Value) -> Resolution<()> {
        let limit = MAX_TEXT_BYTES.min(self.memory.remaining());
        if append_value(whole, value, limit) {
            return Ok(());
        }
        if limit == MAX_TEXT_BYTES {
            return Err(fail(
                ErrorKind::Budget,
                format!("the text grows beyond {} MiB", MAX_TEXT_BYTES / 1024 / 1024),
            ));
        }
        // Discarded copies count as well, so repeated failures cannot keep a run busy forever.
        self.memory.add(whole.len())?;
        Err(self.memory.exhausted_error().into())
    }
}

/// Appends `value` in its text form. If the text would exceed `limit` bytes, appends nothing and returns false.
fn append_value(whole: &mut String, value: &Value, limit: usize) -> bool {
    let room = limit.saturating_sub(whole.len());
    let json;
    let text: Option<&str> = match value {
        Value::Text(text) => Some(text),
        other => {
            json = json_limited(other, room);
            json.as_deref()
        }
    };
    let text = text.filter(|text| text.len() <= room);
    whole.push_str(text.unwrap_or_default());
    text.is_some()
}

/// The JSON of `value`, unless it exceeds `limit` bytes: shared values may be far larger as JSON than in memory.
fn json_limited(value: &Value, limit: usize) -> Option<String> {
    let mut json = LimitedWriter {
        bytes: Vec::new(),
        limit,
    };
    serde_json::to_writer(&mut json, value).ok()?;
    String::from_utf8(json.bytes).ok()
}

/// A writer with a size limit.
struct LimitedWriter {
    bytes: Vec<u8>,
    limit: usize,
}

impl Write for LimitedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.limit.saturating_sub(self.bytes.len()) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, limit: usize, expected: Option<&str>) {
        let mut whole = "a ".to_owned();
        let value = Value::from_json(value).unwrap();
        let inserted = append_value(&mut whole, &value, limit);
        assert_eq!(inserted, expected.is_some());
        assert_eq!(whole, expected.unwrap_or("a "));
    }

    #[test]
    fn a_value_is_inserted_where_it_fits_as_it_is_written() {
        check(r#""été""#, 7, Some("a été"));
        check(r#""été""#, 6, None);
        check(r#"[1,"\u0001"]"#, 14, Some(r#"a [1,"\u0001"]"#));
        check(r#"[1,"\u0001"]"#, 13, None);
        check("null", 1, None);
        check(r#""""#, 2, Some("a "));
    }
}
