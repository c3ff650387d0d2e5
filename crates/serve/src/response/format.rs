//! The form of responses to clients: our own, or that of their compat profile.

use planwright_core::check::CheckedPlan;
use planwright_core::{Diagnostics, Object, Value};
use planwright_engine::RunId;
use planwright_engine::RunSummary;
use planwright_mcp::gateway::GatewayClient;

use crate::compat;
use crate::host::PlanHost;
use crate::plans::execute::InvalidPlan;
use crate::response::answer;
use crate::runs::registry::{RunProgress, TrackedRun};

impl PlanHost {
    /// Returns the answer about a run of this process.
    pub(crate) fn progress_response(
        &self,
        client: &GatewayClient,
        running: &TrackedRun,
        progress: &RunProgress,
    ) -> Value {
        match progress {
            RunProgress::Ended(summary) => {
                self.note_run_answer(client, Some(&running.plan), summary);
                self.run_response(summary, Some(&running.plan), Some(running))
            }
            RunProgress::InProgress { done, of } => {
                let mut fields = Object::default();
                fields.insert("status".into(), Value::from("running"));
                fields.insert("run".into(), Value::Text(running.id.clone().into()));
                fields.insert("steps_done".into(), Value::from(*done as u64));
                fields.insert("steps".into(), Value::from(*of as u64));
                answer::structured(fields, false)
            }
            RunProgress::Suspended => self.interrupted_response(&running.id),
        }
    }

    /// Returns the answer about a run that another process drives.
    pub(crate) fn foreign_run_response(&self, run: &RunId) -> Value {
        if let Some(profile) = self.settings.compat {
            return compat::refusal_response(
                profile,
                &format!("another process drives the run `{run}`"),
            );
        }
        let mut fields = Object::default();
        fields.insert("status".into(), Value::from("running"));
        fields.insert("run".into(), Value::from(run.as_str()));
        answer::structured(fields, false)
    }

    /// Returns the result of a run, for a model. `running` is the run if this process has driven it.
    pub(crate) fn run_response(
        &self,
        summary: &RunSummary,
        plan: Option<&CheckedPlan>,
        running: Option<&TrackedRun>,
    ) -> Value {
        if let Some(profile) = self.settings.compat {
            return compat::run_response(profile, summary, plan, self.settings.answer_bytes);
        }
        let can_resume = self.settings.store.is_some();
        let page = self.settings.page_address.as_deref();
        answer::run(
            summary,
            plan,
            running.map_or(&[][..], |running| &running.rerun),
            running.map_or(&[][..], |running| &running.warnings),
            self.settings.answer_bytes,
            can_resume,
            page,
        )
    }

    /// Returns the answer about a run that is not in progress and has not ended.
    pub(crate) fn interrupted_response(&self, run: &RunId) -> Value {
        match self.settings.compat {
            Some(profile) => compat::interrupted_response(profile, run),
            None => interrupted_response(run),
        }
    }

    /// Returns the answer about a plan that is not valid.
    pub(crate) fn rejection_response(&self, invalid: &InvalidPlan) -> Value {
        match (self.settings.compat, invalid) {
            (Some(profile), InvalidPlan::Diagnostics(loaded)) => {
                log_violations(&loaded.diagnostics);
                compat::refusal_response(profile, &answer::rejection(&loaded.diagnostics))
            }
            (None, InvalidPlan::Diagnostics(loaded)) => {
                log_violations(&loaded.diagnostics);
                answer::rejection_response(&loaded.diagnostics)
            }
            (_, InvalidPlan::Refused(error)) => self.refusal_response(&error.0),
        }
    }

    /// Returns the answer about a request that cannot be met.
    pub(crate) fn refusal_response(&self, message: &str) -> Value {
        match self.settings.compat {
            Some(profile) => compat::refusal_response(profile, message),
            None => answer::refusal_response(message),
        }
    }
}

/// Logs the violations of the flow policy, which the client does not see.
fn log_violations(diagnostics: &Diagnostics) {
    for found in diagnostics
        .iter()
        .filter(|found| found.code.is_flow_violation())
    {
        tracing::warn!(code = %found.code, "a plan was refused: {}", found.message);
    }
}

fn interrupted_response(run: &RunId) -> Value {
    let mut fields = Object::default();
    fields.insert("status".into(), Value::from("interrupted"));
    fields.insert("run".into(), Value::from(run.as_str()));
    let next = format!("resume_plan with {{\"run\": \"{run}\"}} resumes it");
    fields.insert("next".into(), Value::from(next));
    answer::structured(fields, false)
}
