//! Adaptation of a failed run: it continues with a plan that a model writes, by `run --replan` or `run --repair`.

use std::collections::BTreeSet;
use std::sync::Arc;

use planwright::config::Config;
use planwright::core::check::{CheckedPlan, Policy};
use planwright::core::{Diagnostics, Value};
use planwright::engine::RunSummary;
use planwright::engine::journal::{Journal, MemoryJournal};
use planwright::engine::options::RunOptions;
use planwright::engine::run::History;
use planwright::format::{PlanTextV1, RevisionV1};
use planwright::loaded_plan::LoadedPlan;
use planwright::planner::adapt::{
    CorrectionFailure, FailedCall, FailedRun, ReplanRequest, correct, replan,
};
use planwright::planner::create::CreateSettings;
use planwright::planner::dates::Now;
use planwright::planner::model::{Model, ModelError, Usage};
use planwright::service::RunStorage;
use planwright::stored::{
    self, CalledStep, EarlierConsents, StoredRun, StoredRunError, is_result_of,
};

use super::session::{
    AdaptationSettings, ConsentOutcome, RevisedPlan, RunSegment, RunSession, request_plan_approval,
};
use crate::args::{AdaptArguments, TimeArguments};
use crate::error::CommandError;
use crate::planning::dates::{self, PlanningDay};
use crate::planning::{model, progress};
use crate::runs::store;

impl AdaptArguments {
    /// Opens the model that may revise plans, if the arguments ask for one.
    pub(crate) fn open<'c>(
        &self,
        config: &'c Config,
    ) -> Result<Option<AdaptationSettings<'c>>, CommandError> {
        if self.replan == 0 && !self.repair {
            return Ok(None);
        }
        let model = model::open(&self.model, config)?;
        let moment = TimeArguments::default();
        self.with(&model, config, &moment)
    }

    /// The same, with an open model.
    pub(crate) fn with<'c>(
        &self,
        model: &Arc<dyn Model>,
        config: &'c Config,
        moment: &TimeArguments,
    ) -> Result<Option<AdaptationSettings<'c>>, CommandError> {
        if self.replan == 0 && !self.repair {
            return Ok(None);
        }
        Ok(Some(AdaptationSettings {
            model: Arc::clone(model),
            config,
            now: dates::now(moment, config)?,
            zone: dates::zone(moment)?,
            replans: self.replan,
            repairs: self.repair,
            memory: MemoryJournal::new(),
        }))
    }
}

impl AdaptationSettings<'_> {
    /// Starts an adaptation without revisions.
    pub(crate) fn begin(&self) -> Adaptation<'_> {
        Adaptation {
            adapting: self,
            replans_left: self.replans,
            corrected: BTreeSet::new(),
            forgotten: BTreeSet::new(),
            usage: Usage::default(),
        }
    }

    /// The day, and the meanings that the phrases of time in the goal of `plan` had at the time of the request.
    fn day(&self, goal: &str, plan: &CheckedPlan) -> PlanningDay {
        let asked = plan.plan().metadata.get("timestamp");
        let asked = asked.and_then(Value::as_text);
        let asked = asked.and_then(|text| Now::parse(text, &self.zone).ok());
        let calendar = dates::calendar(self.config);
        let asked = asked.map(|asked| asked.with_calendar(calendar));
        PlanningDay::of(goal, asked.as_ref().unwrap_or(&self.now), &self.now)
    }

    /// Loads the plan `text` in place of `old`, with the labels of the results that stay: steps in `forgotten` run again.
    fn read(
        old: &PlanTextV1,
        text: &str,
        session: &RunSession<'_>,
        forgotten: &BTreeSet<Arc<str>>,
    ) -> LoadedPlan {
        let new = PlanTextV1 {
            source: "revision".to_owned(),
            text: text.to_owned(),
            dialect: "native".to_owned(),
            ..old.clone()
        };
        let mut retained = session.loaded.labels().retained.clone();
        let is_forgotten = |path: &str| forgotten.iter().any(|step| is_result_of(path, step));
        retained.retain(|path, _| !is_forgotten(path));
        LoadedPlan::from_stored(&new, session.loaded.inputs.clone()).with_retained(retained)
    }

    /// Returns the history of the run so far, and the digests of consent to its plans.
    fn history(
        &self,
        session: &RunSession<'_>,
    ) -> Result<(History, EarlierConsents), CommandError> {
        match session.store {
            None => {
                let entries = self.memory.entries();
                let consents = EarlierConsents::of(&entries).map_err(StoredRunError::from)?;
                Ok((stored::history(&entries)?, consents))
            }
            Some(store) => {
                let stored = StoredRun::read(store, session.id.as_str())?;
                Ok((stored.history()?, stored.earlier_consents()?))
            }
        }
    }
}

/// The revisions of a run so far.
pub(crate) struct Adaptation<'a> {
    adapting: &'a AdaptationSettings<'a>,
    replans_left: u32,
    /// The steps whose arguments were examined.
    corrected: BTreeSet<Arc<str>>,
    /// The steps that revised plans run again.
    forgotten: BTreeSet<Arc<str>>,
    /// The tokens and the cost of the model's answers.
    pub(crate) usage: Usage,
}

impl Adaptation<'_> {
    /// Returns the plan with which the failed run continues, if any.
    pub(crate) async fn next(
        &mut self,
        session: &RunSession<'_>,
        before: &CheckedPlan,
        summary: &RunSummary,
        (options, journal): (&RunOptions, Option<&Arc<dyn Journal>>),
    ) -> Result<Option<(RevisedPlan, RunSegment)>, CommandError> {
        let Some(journal) = journal else {
            return Ok(None);
        };
        let Some(old) = session.loaded.to_stored() else {
            return Ok(None);
        };
        let Some(failed_run) = FailedRun::of(before, summary) else {
            session.printer.status(
                "the plan cannot be revised: it runs for several instances, or cannot be stored",
            );
            return Ok(None);
        };
        let adapting = self.adapting;
        let (mut history, consents) = adapting.history(session)?;
        let pinned = stored::called_steps(&history, before);
        let is_failed = |pinned: &&CalledStep| {
            let mut failed = failed_run.failed.iter();
            failed.any(|failed_call| *failed_call.step == *pinned.step.as_str())
        };
        if let Some(pinned) = pinned.iter().find(is_failed) {
            report_pinned_call(pinned, "no revised plan was requested", session);
            return Ok(None);
        }
        // The model has read the failure and the results of the previous steps.
        let config = adapting.config.clone().with_exposed_planner();
        let policy = config.restrict(Policy::new());
        let before_this = self.forgotten.clone();
        let check = |text: &str| {
            let loaded = AdaptationSettings::read(&old, text, session, &before_this);
            let (plan, loaded) = loaded.check(&session.toolbox.catalog, &policy);
            (plan, loaded.diagnostics)
        };
        let goal = failed_run.goal.as_deref().unwrap_or_default();
        let day = adapting.day(goal, before);
        let revision = ReplanRequest {
            model: self.adapting.model.as_ref(),
            failed_run: &failed_run,
            before,
            moment: day.moment(),
            catalog: &session.toolbox.catalog,
            check: &check,
            settings: &CreateSettings::default(),
        };
        let written = match self.corrected(&revision, session).await {
            Some(written) => Some(written),
            None => self.replanned(&revision, session).await,
        };
        let Some((text, kind, failed_call)) = written else {
            return Ok(None);
        };
        let loaded = AdaptationSettings::read(&old, &text, session, &self.forgotten);
        let (Some(plan), loaded) = loaded.check(&session.toolbox.catalog, &policy) else {
            return Ok(None);
        };
        let changed = stored::changed(before, &plan);
        if let Some(pinned) = pinned.iter().find(|pinned| changed.contains(&pinned.step)) {
            report_pinned_call(
                pinned,
                "the new plan, which would forget that, does not run",
                session,
            );
            return Ok(None);
        }
        let stale = stored::stale_steps(&plan, &changed, &[], &history);
        if let Some(stale) = stale.iter().find(|stale| stale.has_effects) {
            session.printer.quote(&format!(
                "`{}` is done and is not called again, so the new plan, which changes `{}` before it, does not run",
                stale.step, stale.from
            ));
            return Ok(None);
        }
        let mut process = stored::process(&plan, options, store::now());
        let forgotten: Vec<_> = stale.into_iter().map(|stale| stale.step).collect();
        let forgotten = [changed, forgotten].concat();
        process.forgotten = forgotten
            .iter()
            .map(|step| step.as_str().to_owned())
            .collect();
        let digest = consents.next(&process, &plan, options);
        process.plan_consent = Some(digest.clone());
        let approved = request_plan_approval(
            session.consent,
            (&plan, digest),
            session.store,
            session.printer,
        )?;
        let ConsentOutcome::Run(approved) = approved else {
            return Ok(None);
        };
        let revision = RevisionV1 {
            kind: kind.to_owned(),
            step: failed_call.step.to_string(),
            error: failed_call.message.clone(),
            model: self.adapting.model.name().to_owned(),
        };
        process.plan = loaded.to_stored();
        process.revision = Some(revision.clone());
        process.approved_plan.clone_from(&approved);
        for step in &forgotten {
            history.forget(step);
        }
        let forgotten = forgotten.iter();
        self.forgotten
            .extend(forgotten.map(|step| Arc::clone(step.text())));
        let segment = RunSegment {
            plan: plan.clone(),
            options: options.clone(),
            storage: RunStorage::Journal {
                journal: Arc::clone(journal),
                header: process.to_value(),
                history: Some(history),
                store: session.store.cloned(),
            },
            leases: Vec::new(),
            is_approved: approved.is_some(),
        };
        let revised = RevisedPlan {
            plan,
            loaded,
            revision,
        };
        Ok(Some((revised, segment)))
    }

    /// Returns a plan with corrected arguments of the first step that was not examined yet; `None` if the model corrects nothing.
    async fn corrected<'t>(
        &mut self,
        revision: &ReplanRequest<'t>,
        session: &RunSession<'_>,
    ) -> Option<(String, &'static str, &'t FailedCall)> {
        if !self.adapting.repairs {
            return None;
        }
        for failed_call in revision.failed_run.correctable(revision.before) {
            if !self.corrected.insert(Arc::clone(&failed_call.step)) {
                continue;
            }
            let waiting = progress::Waiting::new(&format!(
                "{} corrects the arguments of `{}`",
                self.adapting.model.name(),
                failed_call.step
            ));
            let correction = correct(revision, failed_call).await;
            waiting.end();
            self.usage += correction.usage;
            if let Some(error) = &correction.failure {
                report_model_error(error, session);
                return None;
            }
            if let Some(correction_failure) = &correction.correction_failure {
                session.printer.quote(&format!(
                    "the arguments of `{}` stay as they are: {} {correction_failure}",
                    failed_call.step,
                    self.adapting.model.name()
                ));
                if let CorrectionFailure::Unsound(diagnostics) = correction_failure {
                    report_diagnostics(diagnostics, session);
                }
            }
            if let Some((text, _)) = correction.plan {
                session.printer.quote(&format!(
                    "`{}` was refused ({}); {} corrected its arguments",
                    failed_call.step,
                    failed_call.message,
                    self.adapting.model.name()
                ));
                return Some((text, "repaired", failed_call));
            }
        }
        None
    }

    /// Returns a plan with other next steps; `None` if the model writes none.
    async fn replanned<'t>(
        &mut self,
        revision: &ReplanRequest<'t>,
        session: &RunSession<'_>,
    ) -> Option<(String, &'static str, &'t FailedCall)> {
        let failed_call = revision.failed_run.failed.first()?;
        self.replans_left = self.replans_left.checked_sub(1)?;
        let (model, number) = (
            self.adapting.model.name(),
            self.adapting.replans - self.replans_left,
        );
        let waiting = progress::Waiting::new(&format!("{model} revises the plan"));
        let revised = replan(revision).await;
        waiting.end();
        self.usage += revised.usage;
        let Some((text, _)) = revised.plan else {
            if let Some(declined) = &revised.declined {
                session.printer.quote(&format!("{model} {declined}"));
                return None;
            }
            if let Some(last) = revised.attempts.last() {
                report_diagnostics(&last.diagnostics, session);
            }
            match &revised.failure {
                Some(error) => report_model_error(error, session),
                None => session
                    .printer
                    .quote(&format!("{model} wrote no valid plan to continue with")),
            }
            return None;
        };
        session.printer.quote(&format!(
            "`{}` failed ({}); the run continues with a revised plan by {model} ({number} of {})",
            failed_call.step, failed_call.message, self.adapting.replans
        ));
        Some((text, "replanned", failed_call))
    }
}

/// Returns the message that another plan must not repeat a call.
fn report_pinned_call(pinned: &CalledStep, therefore: &str, session: &RunSession<'_>) {
    let happened = if pinned.happened {
        "was made"
    } else {
        "may have been made: no answer came"
    };
    session.printer.quote(&format!(
        "`{}` is not done, and its call of `{}` {happened}; {therefore}",
        pinned.at, pinned.tool
    ));
    let advice = match (session.store, pinned.happened) {
        (None, _) => "check whether it happened before you continue".to_owned(),
        (Some(_), true) => format!(
            "`planwright resume {}` continues with the unchanged plan; completed steps are not repeated",
            session.id
        ),
        (Some(_), false) => format!(
            "check whether it happened, then resume: `planwright resume {}` with `{}`, `{}` or `{}=VALUE`",
            session.id,
            store::option("--retry", &pinned.at),
            store::option("--skip", &pinned.at),
            store::option("--set", &pinned.at)
        ),
    };
    session.printer.hint(advice);
}

fn report_model_error(error: &ModelError, session: &RunSession<'_>) {
    progress::report_model_error("the plan was not revised", error, true, session.printer);
}

fn report_diagnostics(diagnostics: &Diagnostics, session: &RunSession<'_>) {
    for diagnostic in diagnostics {
        session.printer.quote(&format!("  {diagnostic}"));
    }
}
