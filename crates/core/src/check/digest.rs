//! Digests of plans and steps: SHA-256 over their meaning, without places, layout and notes.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::checked_plan::{CheckedPlan, CheckedStep};
use crate::plan::{
    Action, Alternative, Approval, Concurrency, Form, Idempotency, InputKind, Keyword, Method,
    Missing, Mode, Node, NodeKind, OnError, OnFailure, Ordering, Output, Path, PlanTarget, Read,
    Reference, RetryField, RetryFieldKind, RetryPolicy, Segment, Sharing, SlotPath, Source,
    Targets, TextPart,
};
use crate::text::hex;
use crate::{Plan, PlanDigest, Step, Value};

/// Returns the digest of `plan` in hexadecimal digits; `steps` are the results of its check.
pub(super) fn plan_digest(plan: &Plan, steps: &[CheckedStep]) -> PlanDigest {
    let mut writer = DigestWriter(Sha256::new());
    writer.word("planwright.plan/1");
    writer.before_steps(plan);
    for (step, checked) in plan.steps.iter().zip(steps) {
        // The digest of the checked plan that a step runs is part of the result.
        writer.step(step, checked.plan.as_ref());
    }
    writer.after_steps(plan);
    writer.finish().into()
}

fn step_digest(step: &Step, sub_plan: Option<&CheckedPlan>) -> String {
    let mut writer = DigestWriter(Sha256::new());
    writer.word("planwright.step/1");
    writer.step(step, sub_plan);
    writer.finish()
}

impl CheckedPlan {
    /// Returns a digest of the meaning of the step at position `step`. Equal steps share it, wherever they stand.
    pub fn step_digest(&self, step: usize) -> Option<String> {
        let checked = self.steps().get(step)?;
        let written = self.plan().steps.get(step)?;
        Some(step_digest(written, checked.plan.as_ref()))
    }
}

/// A writer that feeds parts to the digest unambiguously: every part begins with its tag or its length.
struct DigestWriter(Sha256);

impl DigestWriter {
    fn finish(self) -> String {
        hex(&self.0.finalize())
    }

    /// A field of a step's retry policy, with the policy if the step states the field.
    fn retry_field(&mut self, index: usize, field: &RetryField, stated: Option<&RetryPolicy>) {
        if index > 1 {
            // Written only if present, so that plans without it have the digest that they have always had.
            if stated.is_none() {
                return;
            }
            self.word(field.name);
        } else if index > 0 {
            self.tag(u8::from(stated.is_some()));
        }
        match (&field.kind, stated) {
            (RetryFieldKind::Count(access), Some(policy)) => {
                self.count((access.get)(policy).get() as usize);
            }
            (RetryFieldKind::Time(access), Some(policy)) => {
                self.word(&(access.get)(policy).as_nanos().to_string());
            }
            (_, None) => {}
        }
    }

    fn word(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text.as_bytes());
    }

    fn count(&mut self, count: usize) {
        // Eight bytes on every platform, so that digests are portable.
        self.0.update((count as u64).to_le_bytes());
    }

    fn tag(&mut self, tag: u8) {
        self.0.update([tag]);
    }

    fn optional<T>(&mut self, part: Option<&T>, write: impl FnOnce(&mut Self, &T)) {
        match part {
            None => self.tag(0),
            Some(part) => {
                self.tag(1);
                write(self, part);
            }
        }
    }

    fn list<'a, T: 'a>(
        &mut self,
        parts: impl ExactSizeIterator<Item = &'a T>,
        mut write: impl FnMut(&mut Self, &'a T),
    ) {
        self.count(parts.len());
        for part in parts {
            write(self, part);
        }
    }

    fn shared_word(&mut self, text: &Arc<str>) {
        self.word(text);
    }

    fn before_steps(&mut self, plan: &Plan) {
        self.list(plan.inputs.iter(), |writer, input| {
            writer.word(&input.name);
            writer.tag(match input.kind {
                InputKind::Input => 0,
                InputKind::Variable => 1,
            });
            writer.value(&input.schema);
            writer.optional(input.default.as_ref(), Self::value);
        });
        self.list(plan.contents.iter(), |writer, content| {
            writer.word(content.kind.as_str());
            writer.optional(content.instance.as_ref(), Self::shared_word);
            writer.value(&content.value);
        });
        self.list(plan.slot_schemas.iter(), |writer, slots| {
            writer.word(slots.kind.as_str());
            writer.value(&slots.schema);
        });
        self.list(plan.instances.iter(), Self::shared_word);
        self.count(plan.steps.len());
    }

    fn after_steps(&mut self, plan: &Plan) {
        match &plan.output {
            Output::All => self.tag(0),
            Output::Steps(names) => {
                self.tag(1);
                self.list(names.iter(), |writer, name| writer.word(&name.text));
            }
            Output::Value(node) => {
                self.tag(2);
                self.node(node);
            }
        }
        self.tag(match plan.ordering {
            Ordering::Dataflow => 0,
            Ordering::Listed => 1,
        });
        self.tag(match plan.on_failure {
            OnFailure::KeepGoing => 0,
            OnFailure::Stop => 1,
            OnFailure::Revert => 2,
        });
        self.tag(match plan.sharing {
            Sharing::Open => 0,
            Sharing::MarkedOnly => 1,
        });
        self.tag(match plan.mode {
            Mode::Run => 0,
            Mode::Show => 1,
        });
    }

    fn step(&mut self, step: &Step, sub_plan: Option<&CheckedPlan>) {
        self.word(step.id.as_str());
        match &step.action {
            Action::Tool(name) => {
                self.tag(0);
                self.word(&name.text);
            }
            Action::Plan(call) => {
                self.tag(1);
                match &call.target {
                    PlanTarget::Named(name) => self.word(&name.text),
                    // The digest of an inline plan follows and identifies it.
                    PlanTarget::Inline(_) => self.word(""),
                }
                self.word(sub_plan.map_or("", |plan| plan.digest()));
                self.list(call.scopes.iter(), |writer, kind| {
                    writer.word(kind.as_str());
                });
            }
            Action::Value(node) => {
                self.tag(2);
                self.node(node);
            }
        }
        self.node(&step.args);
        self.list(step.after.iter(), |writer, name| writer.word(&name.text));
        self.optional(step.when.as_ref(), Self::node);
        self.optional(step.for_each.as_ref(), |writer, for_each| {
            writer.node(&for_each.over);
            writer.count(
                for_each
                    .max_parallel
                    .map_or(0, |limit| limit.get() as usize),
            );
            // Written only if present, so that plans without them have the digest that they have always had.
            if let Some(name) = &for_each.item_name {
                writer.tag(2);
                writer.word(name);
            }
            if for_each.with_item {
                writer.tag(3);
            }
        });
        self.optional(step.repeat.as_ref(), |writer, repeat| {
            writer.node(&repeat.until);
            writer.count(repeat.max.get() as usize);
        });
        self.optional(step.writes.as_ref(), |writer, writes| {
            match &writes.targets {
                Targets::All(paths) => {
                    writer.tag(0);
                    writer.list(paths.iter(), Self::slot);
                }
                Targets::OneOf(paths) => {
                    writer.tag(1);
                    writer.list(paths.iter(), Self::slot);
                }
            }
            writer.tag(match writes.method {
                Method::Set => 0,
                Method::Merge => 1,
                Method::Assign => 2,
                Method::Push => 3,
                Method::Concat => 4,
            });
        });
        match &step.on_error {
            OnError::Fail => self.tag(0),
            OnError::Continue => self.tag(1),
            OnError::Output(node) => {
                self.tag(2);
                self.node(node);
            }
        }
        self.optional(step.retry.as_ref(), |writer, retry| {
            for (index, (field, stated)) in retry.fields().enumerate() {
                writer.retry_field(index, field, stated);
            }
        });
        self.optional(step.timeout.as_ref(), |writer, timeout| {
            writer.word(&timeout.as_nanos().to_string());
        });
        self.tag(match step.approval {
            Approval::AsTool => 0,
            Approval::Ask => 1,
        });
        self.tag(match step.idempotency {
            Idempotency::AsTool => 0,
            Idempotency::Idempotent => 1,
        });
        self.tag(match step.concurrency {
            Concurrency::Any => 0,
            Concurrency::Alone => 1,
        });
        // Written only if present, so that plans without it have the digest that they have always had. No instance has this tag.
        if let Some(undo) = &step.undo {
            self.tag(2);
            self.word(&undo.tool.text);
            self.node(&undo.args);
        }
        self.optional(step.instance.as_ref(), Self::shared_word);
    }

    fn slot(&mut self, slot: &SlotPath) {
        self.word(slot.kind.as_str());
        self.list(slot.keys.iter(), Self::shared_word);
    }

    fn node(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::Literal(value) => {
                self.tag(0);
                self.value(value);
            }
            NodeKind::Reference(reference) => {
                self.tag(1);
                self.reference(reference);
            }
            NodeKind::Text(parts) => {
                self.tag(2);
                self.list(parts.iter(), |writer, part| match part {
                    TextPart::Literal(text) => {
                        writer.tag(0);
                        writer.word(text);
                    }
                    TextPart::Reference(reference) => {
                        writer.tag(1);
                        writer.reference(reference);
                    }
                });
            }
            NodeKind::List(items) => {
                self.tag(3);
                self.list(items.iter(), Self::node);
            }
            NodeKind::Object(fields) => {
                self.tag(4);
                self.list(fields.iter(), |writer, field| {
                    writer.word(&field.key);
                    writer.node(&field.value);
                });
            }
        }
    }

    fn reference(&mut self, reference: &Reference) {
        match &reference.form {
            Form::First(alternatives) => {
                self.tag(0);
                self.list(
                    alternatives.iter(),
                    |writer, alternative| match alternative {
                        Alternative::Read(read) => {
                            writer.tag(0);
                            writer.read(read);
                        }
                        Alternative::Literal(value) => {
                            writer.tag(1);
                            writer.value(value);
                        }
                        Alternative::Expression(expression) => {
                            writer.tag(2);
                            // The text determines the meaning of an expression.
                            writer.word(expression.text());
                        }
                    },
                );
            }
            Form::All(reads) => {
                self.tag(1);
                self.list(reads.iter(), Self::read);
            }
        }
    }

    fn read(&mut self, read: &Read) {
        match &read.source {
            Source::Step(id) => {
                self.tag(0);
                self.word(id.as_str());
            }
            Source::Result(id) => {
                self.tag(1);
                self.word(id.as_str());
            }
            Source::Slot(kind) => {
                self.tag(2);
                self.word(kind.as_str());
            }
            Source::Item => self.tag(3),
            Source::Index => self.tag(4),
            Source::Last => self.tag(5),
            Source::ExternalValue(what, name) => {
                self.tag(6);
                self.word(what.as_str());
                self.word(name);
            }
        }
        self.path(&read.path);
        self.tag(match read.meaning_of_missing() {
            Missing::Fail => 0,
            Missing::Null => 1,
            Missing::NullInItems => 2,
        });
    }

    fn path(&mut self, path: &Path) {
        self.list(path.iter(), |writer, segment| match segment {
            Segment::Key(key) => {
                writer.tag(0);
                writer.word(key);
            }
            Segment::Index(index) => {
                writer.tag(1);
                writer.0.update(index.to_le_bytes());
            }
            Segment::Each => writer.tag(2),
        });
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.tag(0),
            Value::Bool(value) => {
                self.tag(1);
                self.tag(u8::from(*value));
            }
            Value::Number(number) => {
                self.tag(2);
                self.word(&number.to_string());
            }
            Value::Text(text) => {
                self.tag(3);
                self.word(text);
            }
            Value::List(items) => {
                self.tag(4);
                self.list(items.iter(), Self::value);
            }
            Value::Object(fields) => {
                self.tag(5);
                // JSON objects are unordered, so the digest must not depend on the order of fields.
                let mut sorted: Vec<_> = fields.iter().collect();
                sorted.sort_unstable_by_key(|(key, _)| *key);
                self.count(sorted.len());
                for (key, value) in sorted {
                    self.word(key);
                    self.value(value);
                }
            }
        }
    }
}
