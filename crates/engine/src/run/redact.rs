//! Keeps secrets out of everything that a run tells: they stand as `[redacted]`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::plan::{Input, SlotKind};
use planwright_core::value::SharedPart;
use planwright_core::{Diagnostic, Hashing, Object, Value};

use super::history::Choice;
use super::spelling::Finder;
use super::summary::{RunSummary, StepSummary};
use crate::backend::{ToolError, ToolOutput};
use crate::event::RunEvent;
use crate::journal::Record;

/// What stands in place of a secret.
pub const MASK: &str = "[redacted]";

/// What a plan is given, as it may be written down: secrets stand as `[redacted]`, those of its own inputs and `others`.
pub fn shown_inputs(plan: &CheckedPlan, others: &[Arc<str>]) -> Object {
    let secrets = secret_inputs(plan)
        .into_iter()
        .chain(others.iter().cloned());
    let redactor = Redactor::new(secrets);
    let declared = plan.plan().inputs.iter();
    let declared: HashMap<&Arc<str>, &Input, Hashing> =
        declared.map(|input| (&input.name, input)).collect();
    let secret = plan.plan().secret_inputs();
    plan.inputs()
        .iter()
        .filter_map(|(name, value)| {
            let input = declared.get(name).copied();
            // A default stands in the plan, and comes from there again.
            if input.is_some_and(|input| input.default.as_ref() == Some(value)) {
                return None;
            }
            let mut value = value.clone();
            if secret.contains(name) {
                value = Value::from(MASK);
            } else {
                redactor.value(&mut value);
            }
            Some((Arc::clone(name), value))
        })
        .collect()
}

/// The texts and numbers of inputs that are secret, however deep they are in them.
pub(super) fn secret_inputs(plan: &CheckedPlan) -> Vec<Arc<str>> {
    let mut secrets = Vec::new();
    let contents = plan.plan().contents.iter();
    let contents: Vec<&Object> = contents
        .filter(|content| content.kind == SlotKind::Inputs)
        .filter_map(|content| content.value.as_object())
        .collect();
    for name in plan.plan().secret_inputs() {
        let held = contents.iter().filter_map(|fields| fields.get(name));
        for value in plan.inputs().get(name).into_iter().chain(held) {
            add_secrets(value, &mut secrets);
        }
    }
    secrets
}

fn add_secrets(value: &Value, secrets: &mut Vec<Arc<str>>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => secrets.push(number.to_string().into()),
        Value::Text(text) => secrets.push(text.as_ref().into()),
        Value::List(items) => items.iter().for_each(|item| add_secrets(item, secrets)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(_, field)| add_secrets(field, secrets)),
    }
}

/// What parts that are shared look like without secrets, by their identities.
type Masked = HashMap<SharedPart, Option<Value>, Hashing>;

/// Texts shorter than this would blank out half of every message.
pub const SHORTEST: usize = 4;

/// Knows the secrets of a run. The values that steps hand each other are not touched, only what is told about them.
#[derive(Clone, Default)]
pub(super) struct Redactor {
    /// Nothing where there are no secrets.
    finder: Option<Arc<Finder>>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl Redactor {
    pub(super) fn new(secrets: impl IntoIterator<Item = Arc<str>>) -> Self {
        let mut secrets: Vec<Arc<str>> = secrets
            .into_iter()
            .filter(|secret| secret.len() >= SHORTEST)
            .collect();
        secrets.sort();
        secrets.dedup();
        let finder = || Arc::new(Finder::new(secrets.iter().map(|secret| &**secret)));
        Self {
            finder: (!secrets.is_empty()).then(finder),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.finder.is_none()
    }

    fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let found = self.finder.iter().flat_map(|finder| finder.find(text));
        let mut redacted = String::new();
        let mut rest = 0;
        for range in found {
            redacted.push_str(text.get(rest..range.start).unwrap_or_default());
            redacted.push_str(MASK);
            rest = range.end;
        }
        if rest == 0 {
            return Cow::Borrowed(text);
        }
        redacted.push_str(text.get(rest..).unwrap_or_default());
        Cow::Owned(redacted)
    }

    pub(super) fn value(&self, value: &mut Value) {
        if self.is_idle() {
            return;
        }
        if let Some(masked) = self.masked(value, &mut Masked::default()) {
            *value = masked;
        }
    }

    /// What `value` looks like without secrets; nothing where it holds none. Looks at each part once, and parts that are shared
    /// are shared again.
    fn masked(&self, value: &Value, known: &mut Masked) -> Option<Value> {
        let address = value.shared_part();
        if let Some(masked) = address.and_then(|address| known.get(&address)) {
            return masked.clone();
        }
        let masked = self.masked_part(value, known);
        if let Some(address) = address {
            known.insert(address, masked.clone());
        }
        masked
    }

    fn masked_part(&self, value: &Value, known: &mut Masked) -> Option<Value> {
        match value {
            Value::Null | Value::Bool(_) => None,
            Value::Number(_) => self.occurs(value).then(|| Value::from(MASK)),
            Value::Text(text) => match self.text(text) {
                Cow::Owned(redacted) => Some(Value::from(redacted)),
                Cow::Borrowed(_) => None,
            },
            Value::List(items) => {
                let mut changed: Option<Vec<Value>> = None;
                for (position, item) in items.iter().enumerate() {
                    if let Some(masked) = self.masked(item, known) {
                        let changed = changed.get_or_insert_with(|| items.to_vec());
                        if let Some(item) = changed.get_mut(position) {
                            *item = masked;
                        }
                    }
                }
                changed.map(Value::from)
            }
            Value::Object(fields) => {
                let mut hits: HashMap<&Arc<str>, _, Hashing> = HashMap::default();
                for (key, value) in fields.iter() {
                    let name = match self.text(key) {
                        Cow::Owned(redacted) => Some(Arc::from(redacted)),
                        Cow::Borrowed(_) => None,
                    };
                    let masked = self.masked(value, known);
                    if name.is_some() || masked.is_some() {
                        hits.insert(key, (name, masked));
                    }
                }
                if hits.is_empty() {
                    return None;
                }
                let redacted = fields.iter().map(|(key, value)| {
                    let (name, masked) = hits.remove(key).unwrap_or_default();
                    let name = name.unwrap_or_else(|| Arc::clone(key));
                    (name, masked.unwrap_or_else(|| value.clone()))
                });
                Some(Value::object(redacted))
            }
        }
    }

    fn in_text(&self, text: &str) -> bool {
        self.finder
            .as_ref()
            .is_some_and(|finder| finder.is_in(text))
    }

    pub(super) fn occurs(&self, value: &Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) => false,
            Value::Number(number) => self
                .finder
                .as_ref()
                .is_some_and(|finder| finder.finds_numbers() && finder.is_in(&number.to_string())),
            Value::Text(text) => self.in_text(text),
            Value::List(items) => items.iter().any(|item| self.occurs(item)),
            Value::Object(fields) => fields
                .iter()
                .any(|(key, value)| self.in_text(key) || self.occurs(value)),
        }
    }

    fn error(&self, error: &mut ToolError) {
        if let Cow::Owned(redacted) = self.text(&error.message) {
            error.message = redacted;
        }
        self.value(&mut error.data);
    }

    pub(super) fn event(&self, event: &mut RunEvent) {
        if self.is_idle() {
            return;
        }
        match event {
            RunEvent::AttemptStarted { args, .. }
            | RunEvent::ApprovalAsked { args, .. }
            | RunEvent::OutcomeUnknown { args, .. } => {
                self.value(args);
            }
            RunEvent::AttemptEnded { error, .. } => {
                if let Some(error) = error {
                    self.error(error);
                }
            }
            RunEvent::ApprovalDecided { changed_args, .. } => {
                if let Some(args) = changed_args {
                    self.value(args);
                }
            }
            RunEvent::StepEnded { output, error, .. } => {
                if let Some(output) = output {
                    self.value(output);
                }
                if let Some(error) = error {
                    self.error(error);
                }
            }
            RunEvent::RunStarted { .. }
            | RunEvent::PlanExtended { .. }
            | RunEvent::StepStarted { .. }
            | RunEvent::RetryScheduled { .. }
            | RunEvent::RunEnded { .. } => {}
        }
    }

    pub(super) fn record(&self, record: &mut Record) {
        if self.is_idle() {
            return;
        }
        match record {
            Record::Sent { args, .. } => self.value(args),
            Record::Asked { subject, .. } => self.value(&mut subject.args),
            Record::Answered {
                result: Ok(output), ..
            } => self.output(output),
            Record::Answered {
                result: Err(error), ..
            } => self.error(error),
            Record::Decided {
                changed_args,
                because,
                ..
            } => {
                if let Some(args) = changed_args {
                    self.value(args);
                }
                if let Some(because) = because
                    && let Cow::Owned(redacted) = self.text(because)
                {
                    *because = redacted.into();
                }
            }
            Record::Settled { output, error, .. } => {
                if let Some(output) = output {
                    self.value(output);
                }
                if let Some(error) = error {
                    self.error(error);
                }
            }
            Record::Chosen {
                choice: Choice::Set(value),
                ..
            } => self.value(value),
            Record::Opened { header, .. } => self.value(header),
            Record::GivenUp { .. }
            | Record::Chosen { .. }
            | Record::TimerFired { .. }
            | Record::Extended { .. }
            | Record::Closed
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::WentOn
            | Record::Ended { .. } => {}
        }
    }

    fn output(&self, output: &mut ToolOutput) {
        self.value(&mut output.value);
        if let Some(text) = &output.text
            && let Cow::Owned(redacted) = self.text(text)
        {
            output.text = Some(redacted.into());
        }
        for block in &mut output.content {
            self.value(block);
        }
    }

    pub(super) fn summary(&self, summary: &mut RunSummary) {
        if self.is_idle() {
            return;
        }
        for step in &mut summary.steps {
            self.step(step);
        }
        for call in &mut summary.calls {
            self.value(&mut call.args);
            if let Some(error) = &mut call.error {
                self.error(error);
            }
        }
        for value in [
            &mut summary.output,
            &mut summary.vars,
            &mut summary.state,
            &mut summary.data,
        ] {
            self.value(value);
        }
        let instances = summary.instances.values_mut();
        for state in instances.chain(summary.instance_data.values_mut()) {
            self.value(state);
        }
        for warning in &mut summary.warnings {
            self.diagnostic(warning);
        }
    }

    fn step(&self, step: &mut StepSummary) {
        for value in [&mut step.args, &mut step.output].into_iter().flatten() {
            self.value(value);
        }
        for block in &mut step.content {
            self.value(block);
        }
        if let Some(error) = &mut step.error {
            self.error(error);
        }
        for part in &mut step.parts {
            self.step(part);
        }
    }

    fn diagnostic(&self, diagnostic: &mut Diagnostic) {
        if let Cow::Owned(redacted) = self.text(&diagnostic.message) {
            diagnostic.message = redacted;
        }
        if let Some(help) = &mut diagnostic.help
            && let Cow::Owned(redacted) = self.text(help)
        {
            *help = redacted;
        }
    }
}

#[cfg(test)]
mod tests;
