//! Consent: the calls that need it, the subject of a decision, and decisions of earlier processes.

use std::sync::Arc;

use planwright_core::plan::Approval;
use planwright_core::{Tool, Value};

use crate::approval::CallSubject;
use crate::event::Address;
use crate::run::journaling::step_history::{Past, PastDecision};
use crate::run::redaction::redactor::MASK;
use crate::run::state::Run;
use crate::schedule::TaskId;

impl Run {
    /// Returns true if a person must agree to the call of a task.
    pub(in crate::run) fn needs_consent(&self, task: TaskId, tool: &Tool) -> bool {
        let step = self.step_of(task).map(|(_, step)| step);
        tool.needs_approval() || step.is_some_and(|step| step.approval == Approval::Ask)
    }

    /// The reason for asking about the call of a task.
    pub(in crate::run) fn reason_to_ask(&self, task: TaskId, tool: &Tool) -> Option<Arc<str>> {
        let step = self.step_of(task).map(|(_, step)| step);
        let by_step = step.is_some_and(|step| step.approval == Approval::Ask);
        let by_plan = || by_step.then(|| Arc::from("the plan asks before this step"));
        let by_tool = tool.approval_reason.clone().filter(|_| tool.approval);
        by_tool.or_else(by_plan)
    }

    /// The subject of a decision about a call of `tool` with `args`.
    pub(in crate::run) fn subject(&self, tool: &Arc<Tool>, args: &Value) -> CallSubject {
        let mut shown = args.clone();
        self.redactor.value(&mut shown);
        let seal = (shown != *args).then(|| match &self.options.seal_key {
            Some(key) => key.seal(args),
            // Without a key, a later process cannot verify that the secret is the same.
            None => Arc::from(UNSEALED),
        });
        CallSubject {
            server: Arc::clone(&tool.server),
            tool: Arc::clone(&tool.name),
            origin: Some(Arc::clone(&tool.origin)),
            definition: Some(self.definition(tool)),
            args: shown,
            seal,
        }
    }

    /// The digest of a tool's definition, computed once per tool.
    fn definition(&self, tool: &Arc<Tool>) -> Arc<str> {
        let mut known = self.definitions.borrow_mut();
        if let Some((_, digest)) = known.iter().find(|(known, _)| Arc::ptr_eq(known, tool)) {
            return Arc::clone(digest);
        }
        let digest: Arc<str> = tool.definition_digest().into();
        known.push((Arc::clone(tool), Arc::clone(&digest)));
        digest
    }

    /// The differences from the call that a person was asked about before at this place.
    pub(in crate::run) fn changes_since_question(
        &self,
        at: &Address,
        subject: &CallSubject,
    ) -> Vec<String> {
        let history = self.journal.history();
        history.map_or_else(Vec::new, |history| {
            history.changes_since_question(at, subject, false)
        })
    }

    /// The decision of an earlier process about exactly this call, if it has not been used.
    pub(in crate::run) fn earlier_decision<'a>(
        &self,
        at: &Address,
        past: &'a Past,
        tool: &Arc<Tool>,
        args: &Value,
    ) -> Option<&'a PastDecision> {
        let decided = past.decided.as_ref().filter(|decided| !decided.is_spent)?;
        let covers = match self.journal.replayed_questions() {
            // A journal has neither secrets nor definitions, so a replay cannot compare subjects. But it shows whether
            // the question was asked again.
            Some(asked) => !asked.contains(at),
            None => {
                let subject = self.subject(tool, args);
                subject == decided.subject && subject.seal.as_deref() != Some(UNSEALED)
            }
        };
        covers.then_some(decided)
    }

    /// Returns true if every earlier call with an unknown outcome was exactly this one, with consent. The choice to
    /// retry it is consent to it then.
    pub(in crate::run) fn was_consented(
        &self,
        at: &Address,
        past: &Past,
        tool: &Arc<Tool>,
        args: &Value,
    ) -> bool {
        if let Some(asked) = self.journal.replayed_questions() {
            return !asked.contains(at);
        }
        let subject = self.subject(tool, args);
        let digest = subject.digest(&self.id, at);
        let mut outcome_unknown = past.calls_in_doubt();
        let is_same = outcome_unknown.all(|call| call.consent.as_deref() == Some(&*digest));
        is_same && subject.seal.as_deref() != Some(UNSEALED)
    }
}

/// The seal of arguments with secrets in a run without a key.
const UNSEALED: &str = MASK;
