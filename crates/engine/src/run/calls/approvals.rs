//! Approvals: the calls that need consent, questions to people, and their decisions.

use std::sync::Arc;

use planwright_core::flow::{FlowParameter, OnViolation};
use planwright_core::plan::Approval;
use planwright_core::{Tool, Value};

use crate::address::Address;
use crate::approval::{ApprovalRequest, CallSubject, ChangedSecretError, Decision, with_secrets};
use crate::backend::{ErrorKind, ToolError};
use crate::event::RunEvent;
use crate::journal::Record;
use crate::run::effects::Effect;
use crate::run::journaling::history::{PastDecision, StepHistory};
use crate::run::redaction::redactor::MASK;
use crate::run::run_machine::RunMachine;
use crate::schedule::{SchedulerEvent, TaskId, TaskState};

impl RunMachine {
    pub(in crate::run) fn ask(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        // The task may have been ended since the command was issued.
        if self.queue.scheduler().state(task) != TaskState::AwaitingApproval {
            return;
        }
        let Some(data) = self.task_data(task) else {
            return;
        };
        let (Some(tool), Some(args)) = (data.tool.clone(), data.args.clone()) else {
            return;
        };
        let at = Arc::clone(&data.address);
        // A person must first find out whether the call happened, so consent is not asked for.
        if data.outcome_unknown {
            let tool = Arc::clone(&tool.name);
            self.emit(effects, || RunEvent::OutcomeUnknown { at, tool, args });
            return;
        }
        // A call that would be refused in any case is not asked about.
        let refused = self.refusal_before_asking(data);
        if let Some(error) = refused.or_else(|| self.charge_value(&args).err()) {
            self.reject(task, error);
            return;
        }
        self.emit(effects, || RunEvent::ApprovalAsked {
            at: Arc::clone(&at),
            tool: Arc::clone(&tool.name),
            args: args.clone(),
        });
        let reason = self.reason_to_ask(task, &tool);
        let subject = self.subject(&tool, &args);
        self.record(effects, || {
            Some(Record::Asked {
                at: Arc::clone(&at),
                subject: Box::new(subject.clone()),
                reason: reason.clone(),
            })
        });
        let history = self.journal.history();
        let request = Box::new(ApprovalRequest {
            run: self.id().clone(),
            shown: subject.args.clone(),
            changes: self.changes_since_question(&at, &subject),
            was_rejected: history.is_some_and(|history| history.was_rejected(&at)),
            at,
            tool,
            args,
            subject,
            reason,
        });
        effects.push(Effect::Ask { task, request });
        if let Some(data) = self.task_data_mut(task) {
            data.question_is_open = true;
        }
    }

    pub(in crate::run) fn decided(
        &mut self,
        task: TaskId,
        decision: Decision,
        effects: &mut Vec<Effect>,
    ) {
        // The task may have been ended while a person was deciding.
        if self.queue.scheduler().state(task) != TaskState::AwaitingApproval {
            return;
        }
        let Some(data) = self.task_data_mut(task) else {
            return;
        };
        // The question is answered, so the driver need not withdraw it.
        data.question_is_open = false;
        let at = Arc::clone(&data.address);
        // Refused arguments are not recorded: they may contain a secret that the run does not know.
        let decision = match decision {
            Decision::Approve { args: Some(args) } => match self.with_own_secrets(task, &args) {
                Ok(args) => Decision::Approve { args: Some(args) },
                Err(error) => Decision::Reject {
                    because: Some(format!("the changed arguments cannot be used: {error}")),
                },
            },
            decision @ (Decision::Approve { args: None }
            | Decision::Reject { .. }
            | Decision::Later) => decision,
        };
        self.record(effects, || decision_record(&at, &decision));
        match decision {
            // The task stays as it is, and the run ends as waiting.
            Decision::Later => {}
            Decision::Approve { args } => {
                self.emit(effects, || RunEvent::ApprovalDecided {
                    at,
                    approved: true,
                    changed_args: args.clone(),
                });
                if let Some(args) = args {
                    // People can write anything, so their arguments are checked like those of the plan.
                    if let Err(error) = self.check_args(task, &args) {
                        self.reject(task, error);
                        return;
                    }
                    if let Some(data) = self.task_data_mut(task) {
                        data.args = Some(args);
                    }
                }
                self.queue.notify(SchedulerEvent::Approved(task));
            }
            Decision::Reject { because } => {
                self.emit(effects, || RunEvent::ApprovalDecided {
                    at,
                    approved: false,
                    changed_args: None,
                });
                let message = because.map_or_else(
                    || "the call was rejected".to_owned(),
                    |because| format!("the call was rejected: {because}"),
                );
                self.reject(task, ToolError::new(ErrorKind::Approval, message));
            }
        }
    }

    fn reject(&mut self, task: TaskId, error: ToolError) {
        if let Some(data) = self.task_data_mut(task) {
            data.last_error = Some(Box::new(error));
        }
        self.queue.notify(SchedulerEvent::Rejected(task));
    }

    /// Returns arguments that a person changed, with the secrets of the call in place of their masks.
    pub(in crate::run) fn with_own_secrets(
        &self,
        task: TaskId,
        changed: &Value,
    ) -> Result<Value, ChangedSecretError> {
        let own = self.task_data(task).and_then(|data| data.args.as_ref());
        let own = own.cloned().unwrap_or_default();
        let mut shown = own.clone();
        self.redactor.value(&mut shown);
        with_secrets(changed, &shown, &own)
    }
}

/// The journal record of a decision; none for [`Decision::Later`].
fn decision_record(at: &Arc<Address>, decision: &Decision) -> Option<Record> {
    let (approved, changed_args, because) = match decision {
        Decision::Later => return None,
        Decision::Approve { args } => (true, args.clone(), None),
        Decision::Reject { because } => (false, None, because.as_deref().map(Arc::from)),
    };
    Some(Record::Decided {
        at: Arc::clone(at),
        approved,
        changed_args,
        because,
    })
}

impl RunMachine {
    /// Returns true if a person must agree to the call of a task.
    pub(in crate::run) fn needs_consent(&self, task: TaskId, tool: &Tool) -> bool {
        let step = self.step_of(task).map(|(_, step)| step);
        tool.needs_approval()
            || step.is_some_and(|step| step.approval == Approval::Ask)
            || !self.violations_to_decide(task).is_empty()
            || self.replayed_call_needed_consent(task)
    }

    /// Returns true if this is a replay, and the call of a task needed consent in the recorded run.
    fn replayed_call_needed_consent(&self, task: TaskId) -> bool {
        let (Some(recorded), Some(data)) = (self.journal.replayed_consent(), self.task_data(task))
        else {
            return false;
        };
        let at = &data.address;
        recorded.asked.contains(at) || recorded.consented.contains(at)
    }

    /// Returns the violations of the flow policy that a person must decide about before the call of a task.
    fn violations_to_decide(&self, task: TaskId) -> Vec<&FlowParameter> {
        match self.flow() {
            Some(flow) if flow.on_violation == OnViolation::Ask => self.flow_violations(task),
            _ => Vec::new(),
        }
    }

    /// The reason for asking about the call of a task.
    fn reason_to_ask(&self, task: TaskId, tool: &Tool) -> Option<Arc<str>> {
        let step = self.step_of(task).map(|(_, step)| step);
        let by_step = step.is_some_and(|step| step.approval == Approval::Ask);
        let by_plan = || by_step.then(|| Arc::from("the plan asks before this step"));
        let by_tool = tool.approval_reason.clone().filter(|_| tool.approval);
        let by_flow = self.violations_to_decide(task);
        let mut reasons: Vec<String> = by_tool
            .or_else(by_plan)
            .iter()
            .map(ToString::to_string)
            .collect();
        reasons.extend(by_flow.into_iter().flat_map(FlowParameter::explanation));
        (!reasons.is_empty()).then(|| reasons.join("\n").into())
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
            server: tool.server.clone(),
            tool: Arc::clone(&tool.name),
            origin: Some(Arc::clone(&tool.origin)),
            definition: Some(self.definitions.digest(tool)),
            args: shown,
            seal,
            flow: self.flow().map(|flow| Arc::clone(&flow.policy)),
        }
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
        past: &'a StepHistory,
        tool: &Arc<Tool>,
        args: &Value,
    ) -> Option<&'a PastDecision> {
        let decided = past.decided.as_ref().filter(|decided| !decided.is_spent)?;
        let covers = match self.journal.replayed_consent() {
            // A journal has neither secrets nor definitions, so a replay cannot compare subjects. But it shows whether
            // the question was asked again.
            Some(recorded) => !recorded.asked.contains(at),
            None => {
                let subject = self.subject(tool, args);
                subject == decided.subject && subject.seal.as_deref() != Some(UNSEALED)
            }
        };
        covers.then_some(decided)
    }

    /// Returns true if every earlier call with an unknown outcome was exactly this one, with consent. In that
    /// case, the choice to retry the call is consent to it.
    pub(in crate::run) fn was_consented(
        &self,
        at: &Address,
        past: &StepHistory,
        tool: &Arc<Tool>,
        args: &Value,
    ) -> bool {
        if let Some(recorded) = self.journal.replayed_consent() {
            return !recorded.asked.contains(at);
        }
        let subject = self.subject(tool, args);
        let digest = subject.digest(self.id(), at);
        let mut outcome_unknown = past.calls_in_doubt();
        let is_same = outcome_unknown.all(|call| call.consent.as_deref() == Some(&*digest));
        is_same && subject.seal.as_deref() != Some(UNSEALED)
    }
}

/// The seal of arguments with secrets in a run without a key.
const UNSEALED: &str = MASK;
