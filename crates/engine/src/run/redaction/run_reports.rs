//! The redaction of all that a run reports: events, journal records and summaries.

use std::borrow::Cow;

use planwright_core::{Diagnostic, Value};

use super::redactor::Redactor;
use crate::backend::{ToolError, ToolOutput};
use crate::event::RunEvent;
use crate::journal::Record;
use crate::run::outcome::Choice;
use crate::run::report::summary::{RunSummary, StepSummary};

impl Redactor {
    fn error(&self, error: &mut ToolError) {
        if let Cow::Owned(redacted) = self.text(&error.message) {
            error.message = redacted;
        }
        self.value(&mut error.data);
    }

    pub(in crate::run) fn event(&self, event: &mut RunEvent) {
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

    pub(in crate::run) fn record(&self, record: &mut Record) {
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

    fn output(&self, output: &mut ToolOutput) {
        self.value(&mut output.value);
        if let Some(text) = &output.text
            && let Cow::Owned(redacted) = self.text(text)
        {
            output.text = Some(redacted.into());
        }
        self.blocks(&mut output.content);
    }

    pub(in crate::run) fn summary(&self, summary: &mut RunSummary) {
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

    /// Redacts content blocks as one text, as their reader sees them.
    fn blocks(&self, blocks: &mut Vec<Value>) {
        let mut whole = Value::from(std::mem::take(blocks));
        self.value(&mut whole);
        *blocks = whole.as_list().unwrap_or_default().to_vec();
    }

    fn step(&self, step: &mut StepSummary) {
        for value in [&mut step.args, &mut step.output].into_iter().flatten() {
            self.value(value);
        }
        self.blocks(&mut step.content);
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
