//! The exit of all that a run reports, events, journal records and summaries, and its redaction.

use std::borrow::Cow;

use planwright_core::{Diagnostic, Value};

use super::redactor::Redactor;
use crate::backend::{ToolError, ToolOutput};
use crate::event::{RunEvent, StampedEvent};
use crate::journal::Record;
use crate::run::effects::Effect;
use crate::run::outcome::Choice;
use crate::run::report::summary::{CallSummary, RunSummary, StepSummary};
use crate::run::run_machine::RunMachine;

impl RunMachine {
    /// Emits an event to the listeners. Without listeners, `event` is not even created.
    pub(in crate::run) fn emit(&self, effects: &mut Vec<Effect>, event: impl FnOnce() -> RunEvent) {
        if self.no_listeners {
            return;
        }
        let mut event = event();
        // All events leave the run here, so no event can contain a secret.
        self.redactor.event(&mut event);
        effects.push(Effect::Emit(Box::new(StampedEvent {
            at: self.now(),
            event,
        })));
    }

    /// The redacted form of a record.
    pub(crate) fn redacted(&self, mut record: Record) -> Record {
        self.redactor.record(&mut record);
        record
    }

    /// Appends a record to the journal. Without a journal, `record` is not even created.
    pub(in crate::run) fn record(
        &self,
        effects: &mut Vec<Effect>,
        record: impl FnOnce() -> Option<Record>,
    ) {
        if !self.journal.is_enabled() {
            return;
        }
        if let Some(mut record) = record() {
            // No record may leave the run with a secret.
            self.redactor.record(&mut record);
            effects.push(Effect::AppendRecord {
                at: self.now(),
                record: Box::new(record),
            });
        }
    }
}

impl Redactor {
    fn error(&self, error: &mut ToolError) {
        if let Cow::Owned(redacted) = self.text(&error.message) {
            error.message = redacted;
        }
        self.value(&mut error.data);
    }

    fn event(&self, event: &mut RunEvent) {
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
            // There is no wildcard, so that a new event with data of a tool does not compile until it is handled here.
            | RunEvent::PlanExtended { .. }
            // Its message is redacted before it is cut.
            | RunEvent::CallProgress { .. }
            | RunEvent::StepStarted { .. }
            | RunEvent::RetryScheduled { .. }
            | RunEvent::RunDraining
            | RunEvent::RunEnded { .. } => {}
        }
    }

    fn record(&self, record: &mut Record) {
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
            Record::Aborted { .. }
            | Record::Chosen { .. }
            | Record::TimerFired { .. }
            | Record::Extended { .. }
            | Record::Closed
            | Record::Draining
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::Resumed
            | Record::Ended { .. } => {}
        }
    }

    // All fields are listed here and below, so that a new one does not compile until it is handled.
    fn output(&self, output: &mut ToolOutput) {
        let ToolOutput {
            value,
            text,
            content,
            branch: _,
            labels: _,
        } = output;
        self.value(value);
        if let Some(text) = text
            && let Cow::Owned(redacted) = self.text(text)
        {
            *text = redacted.into();
        }
        self.blocks(content);
    }

    pub(in crate::run) fn summary(&self, summary: &mut RunSummary) {
        if self.is_idle() {
            return;
        }
        let RunSummary {
            run: _,
            plan: _,
            digest: _,
            status: _,
            duration: _,
            output,
            steps,
            calls,
            vars,
            state,
            data,
            instances,
            instance_data,
            durations: _,
            warnings,
            written_bytes: _,
            journal_error: _,
            is_handed_over: _,
            flow: _,
            stated: _,
            unfitting: _,
            revert: _,
        } = summary;
        for step in steps {
            self.step(step);
        }
        for call in calls {
            let CallSummary {
                at: _,
                attempt: _,
                tool: _,
                args,
                ok: _,
                error,
            } = call;
            self.value(args);
            if let Some(error) = error {
                self.error(error);
            }
        }
        for value in [output, vars, state, data] {
            self.value(value);
        }
        for state in instances.values_mut().chain(instance_data.values_mut()) {
            self.value(state);
        }
        for warning in warnings {
            self.diagnostic(warning);
        }
    }

    /// Redacts content blocks as one text, as their reader sees them.
    fn blocks(&self, blocks: &mut Vec<Value>) {
        let mut whole = Value::from(std::mem::take(blocks));
        self.value(&mut whole);
        *blocks = whole.as_list().unwrap_or_default().to_vec();
    }

    fn step(&self, step: &mut StepSummary) {
        let StepSummary {
            at: _,
            tool: _,
            status: _,
            args,
            output,
            content,
            attempts: _,
            started: _,
            ended: _,
            error,
            handled: _,
            reason: _,
            is_in_doubt: _,
            parts,
        } = step;
        for value in [args, output].into_iter().flatten() {
            self.value(value);
        }
        self.blocks(content);
        if let Some(error) = error {
            self.error(error);
        }
        for part in parts {
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
