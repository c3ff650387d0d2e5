//! Resumption of a stored run: the prepared run with its options, and the effects of a new plan: calls that the run must not forget, and
//! results that become stale.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use planwright_core::check::{CheckedPlan, DependencyKind};
use planwright_core::expression::EvaluationLimits;
use planwright_core::{PlanConsent, StepId};
use planwright_engine::approval::SealKey;
use planwright_engine::event::Address;
use planwright_engine::run::{Choice, History, PastCall, redacted_inputs};
use planwright_engine::{RunId, RunOptions, SecretValues, StepStatus};
use planwright_store::Store;

use super::new_run::reason_to_make_no_call;
use super::{
    EarlierConsents, OrphanedServers, StoredRun, StoredRunError, process, resolve_choices, tools_of,
};
use crate::format::{ChoiceV1, PlanTextV1, ProcessV1, RetainedStepV1};

/// A request to resume a stored run.
#[derive(Debug)]
pub struct ResumeRequest<'a> {
    /// The run's id.
    pub id: &'a RunId,
    /// The plan, checked against the current tools.
    pub plan: &'a CheckedPlan,
    /// The text of the new plan, if there is one.
    pub new_plan: Option<PlanTextV1>,
    /// The results that stay although the new plan changes their sources. The plan was checked with their labels.
    pub retained: Vec<RetainedStepV1>,
    /// The results that the choices set, with [labels](super::set_results). The plan was checked with them.
    pub set: Vec<RetainedStepV1>,
    /// The options of this process.
    pub options: &'a RunOptions,
    /// The choices for steps, items and rounds, by address.
    pub choices: Vec<(Arc<str>, Choice)>,
    /// The current time.
    pub now: SystemTime,
}

/// The data with which the engine resumes a stored run.
#[derive(Debug)]
#[non_exhaustive]
pub struct PreparedResume {
    /// The history of earlier processes.
    pub history: History,
    /// The header of this process.
    pub process: ProcessV1,
    /// The finished steps that run again, because the new plan changes the inputs of their results.
    pub rerun: Vec<StaleStep>,
    /// True if the run undoes another one.
    pub is_revert: bool,
    /// True if the run ends as cancelled, without a call, once its journal has the choices: a later run makes its remaining calls.
    pub only_settles: bool,
    earlier_consents: EarlierConsents,
}

impl PreparedResume {
    /// Returns the digest that consent to the whole plan is bound to in this process.
    pub fn plan_consent(&self, plan: &CheckedPlan, options: &RunOptions) -> PlanConsent {
        self.earlier_consents.next(&self.process, plan, options)
    }
}

impl ResumeRequest<'_> {
    /// Checks that the run can be resumed like this.
    ///
    /// # Errors
    /// A choice is invalid; a new plan would discard a call with an unknown outcome; the plan was never complete; or a server of an
    /// earlier process
    /// may still be executing a call that would be repeated.
    pub fn prepare(
        mut self,
        stored: &StoredRun,
        store: &Store,
    ) -> Result<PreparedResume, StoredRunError> {
        if stored.is_unfinished() && self.new_plan.is_none() {
            return Err(StoredRunError::Unfinished);
        }
        if let Some(engine) = stored.driving_engine() {
            return Err(StoredRunError::DrivenBy(engine.to_owned()));
        }
        let no_calls = reason_to_make_no_call(stored, store, self.id)?;
        // Further reverts find out by its steps what a revert has undone.
        if self.new_plan.is_some() && stored.run.reverts.is_some() {
            return Err(StoredRunError::OtherPlan);
        }
        if self.new_plan.is_some()
            && let Some(reason) = no_calls
        {
            return Err(reason);
        }
        let mut history = stored.history()?;
        // The journal would do this when it is opened, but at that time calls wait for it.
        store.delete_used_decisions(self.id, &history)?;
        let mut process = process(self.plan, self.options, self.now);
        process.revokes_consent = stored.is_just_imported();
        let idle = stored.idle(self.now);
        process.idle_ms = Some(u64::try_from(idle.as_millis()).unwrap_or(u64::MAX));
        history.add_pause(process.idle());
        self.choices = resolve_choices(self.plan, &history, self.choices)?;
        let only_settles = no_calls.is_some();
        // Only this run has the calls whose outcome it does not know, so a person says here what became of them.
        if let Some(reason) = no_calls
            && !settle_doubts(&self.choices, &history)
        {
            return Err(reason);
        }
        if self.new_plan.is_none() && !is_plan_of(self.plan, stored, &history) {
            return Err(StoredRunError::OtherPlan);
        }
        let mut rerun = Vec::new();
        self.check_orphaned_servers(store, &history)?;
        if let Some(text) = self.new_plan {
            if planwright_dialects::dialect(&text.dialect).is_none() {
                return Err(StoredRunError::UnknownDialect(text.dialect));
            }
            let before = stored.latest_plan()?;
            let mut forgotten = changed(&before, self.plan);
            let steps = self.retained.iter().map(|result| result.step.clone());
            let retained: Vec<Arc<str>> = steps.collect();
            check_retained(self.plan, &forgotten, &retained, &history)?;
            rerun = stale_steps(self.plan, &forgotten, &retained, &history);
            forgotten.extend(rerun.iter().map(|stale| stale.step.clone()));
            for step in forgotten {
                check_unknown_calls(&step, &history, &before, &self.choices)?;
                history.forget(&step);
                process.forgotten.push(step.as_str().to_owned());
            }
            process.plan = Some(text);
            process.retained = self.retained;
        }
        process.retained.extend(self.set);
        let inputs = redacted_inputs(self.plan, &self.options.masked_texts());
        if inputs != stored.vars {
            process.vars = Some(inputs);
        }
        for (step, choice) in self.choices {
            process.choices.push(ChoiceV1::new(&step, &choice));
            history = history.with_choice(step, choice);
        }
        Ok(PreparedResume {
            history,
            process,
            rerun,
            is_revert: stored.run.reverts.is_some(),
            only_settles,
            earlier_consents: stored.earlier_consents()?,
        })
    }

    /// Rejects the resumption if it would repeat a call that a server of an earlier process may still be executing.
    fn check_orphaned_servers(
        &self,
        store: &Store,
        history: &History,
    ) -> Result<(), StoredRunError> {
        let orphans = OrphanedServers::among(store.earlier_server_processes(self.id)?);
        match orphans.conflict(history, &self.choices) {
            None => Ok(()),
            Some((process, at)) => Err(StoredRunError::ServerRuns {
                server: process.server.clone(),
                pid: process.pid,
                at,
            }),
        }
    }
}

/// Returns true if there are choices, and each is about calls whose outcome is unknown.
fn settle_doubts(choices: &[(Arc<str>, Choice)], history: &History) -> bool {
    let is_doubtful = |(step, _): &(Arc<str>, Choice)| {
        let mut steps = history.steps();
        steps.any(|(at, past)| at.to_string() == **step && past.calls_in_doubt().next().is_some())
    };
    !choices.is_empty() && choices.iter().all(is_doubtful)
}

/// Returns true if `plan` is the plan that the run had last. Secret defaults are redacted in stored plans, so the
/// digest of the stored text is compared as well.
fn is_plan_of(plan: &CheckedPlan, stored: &StoredRun, history: &History) -> bool {
    let process = stored.process.as_ref();
    let was_beginning = process.is_some_and(|process| process.beginning.is_some());
    let is_last = |digest| digest == plan.digest();
    was_beginning
        || history.plan_digest().is_none_or(is_last)
        || stored
            .latest_plan()
            .is_ok_and(|stored| stored.digest() == plan.digest())
}

/// Rejects a new plan that would discard a call with an unknown outcome: each such step that it changes or drops needs a choice.
fn check_unknown_calls(
    step: &StepId,
    history: &History,
    before: &CheckedPlan,
    choices: &[(Arc<str>, Choice)],
) -> Result<(), StoredRunError> {
    let tools = tools_of(before);
    let is_repeatable = |call: &PastCall| {
        tools.iter().any(|tool| {
            tool.server == call.server && tool.name == call.tool && tool.is_repeatable()
        })
    };
    let is_chosen = |at: &str| choices.iter().any(|(chosen, _)| **chosen == *at);
    let mut doubtful = history.steps().filter(|(at, past)| {
        at.outermost() == step
            && past.calls_in_doubt().any(|call| !is_repeatable(call))
            && !is_chosen(&at.to_string())
    });
    match doubtful.next() {
        None => Ok(()),
        Some((at, _)) => Err(StoredRunError::Doubt {
            step: step.clone(),
            at: Arc::clone(at),
        }),
    }
}

/// Returns the steps of `before` that `now` lacks or changes.
pub fn changed(before: &CheckedPlan, now: &CheckedPlan) -> Vec<StepId> {
    let is_same = |index: usize, id: &StepId| {
        let at = now.step_index(id.as_str()).map(|at| at as usize);
        at.is_some_and(|at| now.step_digest(at) == before.step_digest(index))
    };
    let ids = before.plan().steps.iter().map(|step| &step.id);
    ids.enumerate()
        .filter(|(index, id)| !is_same(*index, id))
        .map(|(_, id)| id.clone())
        .collect()
}

/// A call of an unfinished step that may have happened, of a tool that is not idempotent. A plan that
/// changes the step would make the call again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CalledStep {
    /// The step of the plan.
    pub step: StepId,
    /// The caller: the step itself, an item or round of it, or a step inside.
    pub at: Arc<Address>,
    /// The tool.
    pub tool: Arc<str>,
    /// True if the call is known to have happened.
    pub happened: bool,
}

/// Returns the calls for `plan` that must not be forgotten, at most one for each step.
pub fn called_steps(history: &History, plan: &CheckedPlan) -> Vec<CalledStep> {
    let tools = tools_of(plan);
    let is_repeatable = |call: &PastCall| {
        let mut tools = tools.iter();
        tools.any(|tool| {
            tool.server == call.server && tool.name == call.tool && tool.is_repeatable()
        })
    };
    let is_outermost =
        |at: &Address| at.inside.is_none() && at.item.is_none() && at.round.is_none();
    let done: BTreeSet<&StepId> = history
        .steps()
        .filter(|(at, past)| {
            let end = past.settled.as_ref();
            is_outermost(at) && end.is_some_and(|end| end.status == StepStatus::Succeeded)
        })
        .map(|(at, _)| at.outermost())
        .collect();
    let mut pinned: Vec<CalledStep> = history
        .steps()
        .filter(|(at, _)| !done.contains(at.outermost()))
        .flat_map(|(at, past)| past.calls.iter().map(move |call| (at, call)))
        .filter(|(_, call)| call.happened() != Some(false) && !is_repeatable(call))
        .map(|(at, call)| CalledStep {
            step: at.outermost().clone(),
            at: Arc::clone(at),
            tool: Arc::clone(&call.tool),
            happened: call.happened().is_some(),
        })
        .collect();
    pinned.sort_by_key(|pinned| pinned.at.to_string());
    let mut seen = BTreeSet::new();
    pinned.retain(|pinned| seen.insert(pinned.step.clone()));
    pinned
}

/// A completed step whose result was computed from a step that the new plan changes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StaleStep {
    /// The step.
    pub step: StepId,
    /// The changed step that its result was computed from, directly or through others.
    pub from: StepId,
    /// True if one of its calls may have had an effect that a second call would repeat.
    pub has_effects: bool,
}

/// Returns the steps of `now` whose results were computed from a step in `changed`. Steps in `retained`, and steps computed only from
/// these, are left out. So are steps that are not done, because they run in any case.
pub fn stale_steps(
    now: &CheckedPlan,
    changed: &[StepId],
    retained: &[Arc<str>],
    history: &History,
) -> Vec<StaleStep> {
    let steps = &now.plan().steps;
    let mut origins: Vec<Option<StepId>> = steps
        .iter()
        .map(|step| changed.contains(&step.id).then(|| step.id.clone()))
        .collect();
    // Dependencies may point backwards and forwards, so marks are propagated until no new one is added.
    let mut spreads = true;
    while spreads {
        spreads = false;
        for (index, (step, checked)) in steps.iter().zip(now.steps()).enumerate() {
            if origins.get(index).is_some_and(Option::is_some) || retained.contains(step.id.text())
            {
                continue;
            }
            let reads = |kind| matches!(kind, DependencyKind::Data | DependencyKind::Slot);
            let mut read = checked.dependencies.iter().filter(|one| reads(one.kind));
            let from = read.find_map(|one| origins.get(one.on as usize)?.clone());
            if let (Some(from), Some(origin)) = (from, origins.get_mut(index)) {
                *origin = Some(from);
                spreads = true;
            }
        }
    }
    let marked = steps.iter().zip(origins);
    marked
        .filter_map(|(step, from)| {
            let is_stale = !changed.contains(&step.id) && is_done(history, &step.id);
            Some(StaleStep {
                step: step.id.clone(),
                from: from.filter(|_| is_stale)?,
                has_effects: has_effects(history, now, &step.id),
            })
        })
        .collect()
}

/// Checks that each name in `retained` is a step whose result would be stale.
fn check_retained(
    now: &CheckedPlan,
    changed: &[StepId],
    retained: &[Arc<str>],
    history: &History,
) -> Result<(), StoredRunError> {
    if retained.is_empty() {
        return Ok(());
    }
    let stale: BTreeSet<Arc<str>> = stale_steps(now, changed, &[], history)
        .iter()
        .map(|stale| Arc::clone(stale.step.text()))
        .collect();
    match retained.iter().find(|step| !stale.contains(*step)) {
        Some(step) => Err(StoredRunError::NotStale(step.to_string())),
        None => Ok(()),
    }
}

fn is_done(history: &History, step: &StepId) -> bool {
    let is_whole = |at: &Address| {
        at.step == *step && at.inside.is_none() && at.item.is_none() && at.round.is_none()
    };
    history.steps().any(|(at, past)| {
        let end = past.settled.as_ref();
        is_whole(at) && end.is_some_and(|end| end.status == StepStatus::Succeeded || end.handled)
    })
}

fn has_effects(history: &History, plan: &CheckedPlan, step: &StepId) -> bool {
    let tools = tools_of(plan);
    let is_repeatable = |call: &PastCall| {
        let mut tools = tools.iter();
        tools.any(|tool| {
            tool.server == call.server && tool.name == call.tool && tool.is_repeatable()
        })
    };
    history
        .steps()
        .filter(|(at, _)| at.outermost() == step)
        .flat_map(|(_, past)| &past.calls)
        .any(|call| call.happened() != Some(false) && !is_repeatable(call))
}

/// The options of a run that are never stored, so that each process brings its own.
#[derive(Default)]
pub struct ProcessSecrets {
    /// Texts that no event and no summary may show.
    pub texts: Vec<Arc<str>>,
    /// The values of `env` and `secrets` references.
    pub values: SecretValues,
    /// The key of the store, which seals consent.
    pub seal_key: Option<SealKey>,
}

impl StoredRun {
    /// Returns the options of a process that resumes the run, from its own [`options`](Self::options) or other ones. The moment and the
    /// durations stay those of the run, and `own` takes the place of what no run stores.
    pub fn resumed_options(&self, options: RunOptions, own: ProcessSecrets) -> RunOptions {
        let before = self.options();
        RunOptions {
            durations: before.durations,
            evaluation: EvaluationLimits {
                // A plan that asks for the time again gets the same one, or its done steps would not fit the others.
                now: before.evaluation.now,
                ..options.evaluation
            },
            secrets: own.texts,
            secret_values: own.values,
            seal_key: own.seal_key,
            ..options
        }
    }
}

impl fmt::Debug for ProcessSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessSecrets").finish_non_exhaustive()
    }
}
