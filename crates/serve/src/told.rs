//! Responses to clients: in our own form, or in that of their compatibility profile.

use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::{Object, Value};
use planwright_engine::RunSummary;

use super::execute::Unsound;
use super::host::PlanHost;
use super::running::{Running, Stand};
use super::{answer, faces};
use planwright::stored::StaleStep;

impl PlanHost {
    /// Returns the answer about a run of this process.
    pub(super) fn standing(&self, running: &Running, stand: &Stand) -> Value {
        match stand {
            Stand::Ended(summary) => self.came_to(summary, Some(&running.plan), &running.rerun),
            Stand::Going { done, of } => {
                let mut fields = Object::default();
                fields.insert("status".into(), Value::from("running"));
                fields.insert("run".into(), Value::Text(Arc::clone(&running.id)));
                fields.insert("steps_done".into(), Value::from(*done as u64));
                fields.insert("steps".into(), Value::from(*of as u64));
                answer::answer(fields, false)
            }
            Stand::Suspended => self.interrupted(&running.id),
        }
    }

    /// Returns the answer about a run that another process drives.
    pub(super) fn driven_elsewhere(&self, run: &str) -> Value {
        if let Some(face) = self.settings.face {
            return faces::refused(face, &format!("another process drives the run `{run}`"));
        }
        let mut fields = Object::default();
        fields.insert("status".into(), Value::from("running"));
        fields.insert("run".into(), Value::from(run));
        answer::answer(fields, false)
    }

    /// Returns the result of a run, for a model.
    pub(super) fn came_to(
        &self,
        summary: &RunSummary,
        plan: Option<&CheckedPlan>,
        rerun: &[StaleStep],
    ) -> Value {
        if let Some(face) = self.settings.face {
            return faces::came_to(face, summary, plan, self.settings.answer_bytes);
        }
        let can_resume = self.settings.store.is_some();
        answer::run(summary, plan, rerun, self.settings.answer_bytes, can_resume)
    }

    /// Returns the answer about a run that is not in progress and has not ended.
    pub(super) fn interrupted(&self, run: &str) -> Value {
        match self.settings.face {
            Some(face) => faces::interrupted(face, run),
            None => interrupted(run),
        }
    }

    /// Returns the answer about a plan that is not valid.
    pub(super) fn rejected(&self, unsound: &Unsound) -> Value {
        match (self.settings.face, unsound) {
            (Some(face), Unsound::Findings(loaded)) => {
                faces::refused(face, &answer::rejection(loaded.diagnostics.iter()))
            }
            (None, Unsound::Findings(loaded)) => answer::rejected(loaded.diagnostics.iter()),
            (_, Unsound::Refused(error)) => self.refused(&error.0),
        }
    }

    /// Returns the answer about a request that cannot be met.
    pub(super) fn refused(&self, message: &str) -> Value {
        match self.settings.face {
            Some(face) => faces::refused(face, message),
            None => answer::refused(message),
        }
    }
}

fn interrupted(run: &str) -> Value {
    let mut fields = Object::default();
    fields.insert("status".into(), Value::from("interrupted"));
    fields.insert("run".into(), Value::from(run));
    let next = format!("resume_plan with {{\"run\": \"{run}\"}} goes on with it");
    fields.insert("next".into(), Value::from(next));
    answer::answer(fields, false)
}
