//! Approvals: questions to people about calls, and their decisions.

use std::sync::Arc;

use planwright_core::Value;

use crate::approval::{ApprovalRequest, ChangedSecretError, Decision, with_secrets};
use crate::backend::{ErrorKind, ToolError};
use crate::event::{Address, RunEvent};
use crate::journal::Record;
use crate::run::effect::Effect;
use crate::run::state::Run;
use crate::schedule::{Event, TaskId, TaskState};

impl Run {
    pub(in crate::run) fn ask(&mut self, task: TaskId, effects: &mut Vec<Effect>) {
        // The task may have been ended since the command was issued.
        if self.scheduler.state(task) != TaskState::AwaitingApproval {
            return;
        }
        let Some(data) = self.task_data(task) else {
            return;
        };
        let (Some(tool), Some(args)) = (data.tool.clone(), data.args.clone()) else {
            return;
        };
        let at = Arc::clone(&data.address);
        // This is no question of consent: a person has to find out whether the call happened.
        if data.outcome_unknown {
            let tool = Arc::clone(&tool.name);
            self.emit(effects, || RunEvent::OutcomeUnknown { at, tool, args });
            return;
        }
        let refused = self.refusal_before_asking(data);
        if let Some(error) = refused.or_else(|| self.write_value(&args).err()) {
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
        let request = Box::new(ApprovalRequest {
            run: Arc::clone(&self.id),
            shown: subject.args.clone(),
            changes: self.changes_since_question(&at, &subject),
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
        if self.scheduler.state(task) != TaskState::AwaitingApproval {
            return;
        }
        let Some(data) = self.task_data_mut(task) else {
            return;
        };
        data.question_is_open = false;
        let at = Arc::clone(&data.address);
        // Refused arguments are not recorded: they may be a secret that the run does not know.
        let decision = match decision {
            Decision::Approve { args: Some(args) } => match self.with_own_secrets(task, &args) {
                Ok(args) => Decision::Approve { args: Some(args) },
                Err(error) => Decision::Reject {
                    because: Some(format!("the changed arguments cannot be used: {error}")),
                },
            },
            decision => decision,
        };
        self.record(effects, || decision_record(&at, &decision));
        match decision {
            Decision::Later => {}
            Decision::Approve { args } => {
                self.emit(effects, || RunEvent::ApprovalDecided {
                    at,
                    approved: true,
                    changed_args: args.clone(),
                });
                if let Some(args) = args {
                    if let Err(error) = self.check_args(task, &args) {
                        self.reject(task, error);
                        return;
                    }
                    if let Some(data) = self.task_data_mut(task) {
                        data.args = Some(args);
                    }
                }
                self.notify(Event::Approved(task));
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
        self.notify(Event::Rejected(task));
    }

    /// Restores the secrets in arguments that a person wrote in place of the call's own.
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
