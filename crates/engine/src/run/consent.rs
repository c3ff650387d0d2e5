//! Consent: which calls need it, what a decision is about, and whether an earlier one covers the call that is due.

use std::sync::Arc;

use planwright_core::plan::Approval;
use planwright_core::{Tool, Value};

use super::history::{Past, PastDecision};
use super::redact::MASK;
use super::state::Run;
use crate::approval::CallSubject;
use crate::event::Address;
use crate::schedule::TaskId;

impl Run {
    /// Whether a person must agree to the call of a task.
    pub(super) fn needs_consent(&self, task: TaskId, tool: &Tool) -> bool {
        let step = self.step_of(task).map(|(_, step)| step);
        tool.needs_approval() || step.is_some_and(|step| step.approval == Approval::Ask)
    }

    /// Why a person is asked about the call of a task.
    pub(super) fn reason_to_ask(&self, task: TaskId, tool: &Tool) -> Option<Arc<str>> {
        let step = self.step_of(task).map(|(_, step)| step);
        let by_step = step.is_some_and(|step| step.approval == Approval::Ask);
        let by_plan = || by_step.then(|| Arc::from("the plan asks before this step"));
        let by_tool = tool.approval_reason.clone().filter(|_| tool.approval);
        by_tool.or_else(by_plan)
    }

    /// What a decision about a call of `tool` with `args` is about.
    pub(super) fn subject(&self, tool: &Arc<Tool>, args: &Value) -> CallSubject {
        let mut shown = args.clone();
        self.redactor.value(&mut shown);
        let seal = (shown != *args).then(|| match &self.options.seal_key {
            Some(key) => key.seal(args),
            // No later process can tell whether the secret is the same.
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

    /// The digest of the definition of a tool, computed once for each tool of the run.
    fn definition(&self, tool: &Arc<Tool>) -> Arc<str> {
        let mut known = self.definitions.borrow_mut();
        if let Some((_, digest)) = known.iter().find(|(known, _)| Arc::ptr_eq(known, tool)) {
            return Arc::clone(digest);
        }
        let digest: Arc<str> = tool.definition_digest().into();
        known.push((Arc::clone(tool), Arc::clone(&digest)));
        digest
    }

    /// What differs from the call that a person was asked about before at this place.
    pub(super) fn changes_since_question(
        &self,
        at: &Address,
        subject: &CallSubject,
    ) -> Vec<String> {
        let history = self.history.as_ref();
        history.map_or_else(Vec::new, |history| {
            history.changes_since_question(at, subject, false)
        })
    }

    /// The decision that an earlier process was given about just this call, if it has not been used.
    pub(super) fn earlier_decision<'a>(
        &self,
        at: &Address,
        past: &'a Past,
        tool: &Arc<Tool>,
        args: &Value,
    ) -> Option<&'a PastDecision> {
        let decided = past.decided.as_ref().filter(|decided| !decided.is_spent)?;
        let covers = match &self.replayed_questions {
            // Secrets and definitions are not in a journal, but whether the question was asked anew is.
            Some(asked) => !asked.contains(at),
            None => {
                let subject = self.subject(tool, args);
                subject == decided.subject && subject.seal.as_deref() != Some(UNSEALED)
            }
        };
        covers.then_some(decided)
    }

    /// Whether each call of an earlier process whose outcome is unknown was this very call, with consent. To say that it is to
    /// be made again is consent to it then.
    pub(super) fn was_consented(
        &self,
        at: &Address,
        past: &Past,
        tool: &Arc<Tool>,
        args: &Value,
    ) -> bool {
        if let Some(asked) = &self.replayed_questions {
            return !asked.contains(at);
        }
        let subject = self.subject(tool, args);
        let digest = subject.digest(&self.id, at);
        let mut in_doubt = past.calls_in_doubt();
        let is_same = in_doubt.all(|call| call.consent.as_deref() == Some(&*digest));
        is_same && subject.seal.as_deref() != Some(UNSEALED)
    }
}

/// The seal of arguments with secrets in a run without a key.
const UNSEALED: &str = MASK;
