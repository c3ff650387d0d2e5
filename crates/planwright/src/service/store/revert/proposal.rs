//! The proposal of a revert: the undos with their arguments, what cannot be undone, and the plan.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use planwright_core::expression::print_path;
use planwright_core::flow::RecalledLabels;
use planwright_core::plan::{OnFailure, Segment};
use planwright_core::{Catalog, CheckedPlan, Diagnostic, Object, Policy, Tool, ToolName, Value};
use planwright_dialects::Dialect as _;
use planwright_dialects::native::Native;
use planwright_engine::event::Address;
use planwright_engine::run::{RevertSummary, contains_mask};
use planwright_engine::{Decision, RunId, RunStatus};
use planwright_store::{LeaseHolder, LeasedRun, Store};

use super::arguments::undo_arguments;
use super::calls::{MadeCall, RecordedOutcome, made_calls};
use super::labels::argument_labels;
use super::outcomes::{UndoOutcome, undo_outcomes};
use crate::format::{PlanTextV1, RevertedCallV1, RevertsV1, ToolSourcesV1};
use crate::loaded_plan::{LoadedPlan, RECALLED};
use crate::stored::{NewStoredRun, OpenQuestion, StoredRun, StoredRunError, reverts_of};

/// A request to undo what a run did.
pub struct RevertRequest<'a> {
    /// The run, or the beginning of its id.
    pub run: &'a str,
    /// The step, item or round whose calls are the first to undo, in the order in which they ended; `None` for all.
    pub from: Option<&'a str>,
    /// Gives a tool the settings of the configuration: its undo, and whether it only reads.
    pub configured: &'a (dyn Fn(Tool) -> Tool + Sync),
    /// The policy under which the plan will be checked.
    pub policy: &'a Policy,
    /// The name of this process.
    pub holder: &'a LeaseHolder,
    /// True if the caller has leased the run.
    pub is_leased: bool,
}

impl fmt::Debug for RevertRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RevertRequest")
            .field("run", &self.run)
            .field("from", &self.from)
            .field("is_leased", &self.is_leased)
            .finish_non_exhaustive()
    }
}

/// A revert before it starts. As long as it exists, no other process can resume or revert the run.
#[non_exhaustive]
pub struct Revert {
    /// The id of the run that reverts.
    pub id: RunId,
    /// The run that it reverts.
    pub run: RunId,
    /// The undos, in the order in which they are made.
    pub undos: Vec<PlannedUndo>,
    /// The calls that happened and that nothing undoes, in the order in which they ended.
    pub unreverted: Vec<UnrevertedCall>,
    /// The calls in doubt: they may or may not have happened, or be undone.
    pub in_doubt: Vec<DoubtfulCall>,
    /// The calls that ended before those to undo and that nothing can undo, or that may or may not be undone, in the order in which they ended.
    pub left_out: Vec<UnrevertedCall>,
    /// The number of calls that earlier reverts have undone.
    pub undone_before: usize,
    sources: ToolSourcesV1,
    client: Option<String>,
    reverts: RevertsV1,
    /// The labels of the arguments of the undos.
    labels: RecalledLabels,
    /// The largest number of steps of the plan.
    max_steps: usize,
    /// The leases of the run and of the latest revert, which must not go on meanwhile.
    leases: Vec<LeasedRun>,
}

/// A call that is undone.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlannedUndo {
    /// The step that undoes it.
    pub step: String,
    /// The step, item or round that made the call.
    pub at: Arc<Address>,
    /// The tool that was called.
    pub called: ToolName,
    /// The tool that undoes the call, as the plan or the configuration names it.
    pub tool: Arc<str>,
    /// The arguments.
    pub arguments: Value,
    /// The number of the journal entry with which the call ended.
    ended: usize,
}

/// A call that happened, and that nothing undoes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnrevertedCall {
    /// The step, item or round that made the call.
    pub at: Arc<Address>,
    /// The tool.
    pub tool: ToolName,
    /// The reason, if it has an undo, as one clause.
    pub reason: Option<String>,
    /// The number of the journal entry with which the call ended.
    ended: usize,
}

/// A call in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DoubtfulCall {
    /// The step, item or round that made the call.
    pub at: Arc<Address>,
    /// The tool.
    pub tool: ToolName,
    /// The revert that called its undo, if it is that call whose outcome is unknown.
    pub undone_by: Option<RunId>,
}

impl Revert {
    /// Reads what the run did, and computes the undos of its calls. Nothing is called. [`check`](Self::check) makes the plan.
    ///
    /// # Errors
    ///
    /// The run does not exist, cannot be read, is in progress, undoes another one, or has no step `from`; its latest revert waits for a decision.
    pub async fn prepare(
        store: &Store,
        request: RevertRequest<'_>,
    ) -> Result<Self, StoredRunError> {
        let run = store.run(request.run)?.id;
        let mut leases = Vec::new();
        if !request.is_leased {
            leases.push(store.lease_run(run.as_str(), request.holder)?);
        }
        let (earlier, id) = reverts_of(store, &run)?;
        if let Some((latest, _)) = earlier.last() {
            let lease = store.lease_run(latest.as_str(), request.holder)?;
            // A person decides about its calls, and must not be asked about the same ones again.
            if has_undecided(store, latest)? {
                return Err(StoredRunError::RevertWaits(latest.clone()));
            }
            leases.push(lease);
        }
        let stored = StoredRun::read(store, run.as_str())?;
        if let Some(engine) = stored.driving_engine() {
            return Err(StoredRunError::DrivenBy(engine.to_owned()));
        }
        if let Some(reverts) = stored.run.reverts {
            return Err(StoredRunError::IsRevert(reverts.run));
        }
        let mut calls = made_calls(&stored, request.configured)?;
        calls.sort_by_key(|call| call.ended);
        let left_out = match request.from {
            Some(from) => split_before(&mut calls, from)?,
            None => Vec::new(),
        };
        // The sources and the owner in an imported file are only claims of its author.
        let is_own = stored.imported.is_none();
        let mut revert = Self {
            sources: if is_own {
                stored.run.tools.clone()
            } else {
                ToolSourcesV1::default()
            },
            client: stored.run.client.clone().filter(|_| is_own),
            reverts: RevertsV1 {
                run: run.clone(),
                calls: Vec::new(),
            },
            labels: RecalledLabels::new(),
            max_steps: stored.plan.max_steps,
            id,
            run,
            undos: Vec::new(),
            unreverted: Vec::new(),
            in_doubt: Vec::new(),
            left_out: Vec::new(),
            undone_before: 0,
            leases,
        };
        let outcomes = undo_outcomes(store, &earlier, request.configured)?;
        for call in &left_out {
            let reason = match undo_of(call, outcomes.get(&call.entry)).await {
                PossibleUndo::Impossible(reason) => reason,
                PossibleUndo::InDoubt(_) => Some("it may or may not be undone".to_owned()),
                PossibleUndo::Unneeded | PossibleUndo::Made | PossibleUndo::Call(..) => continue,
            };
            revert.left_out.push(unreverted(call, reason));
        }
        let mut undone = Vec::new();
        for call in &calls {
            if revert.add(call, outcomes.get(&call.entry)).await {
                undone.push(call);
            }
        }
        revert.undos.reverse();
        revert.reverts.calls.reverse();
        undone.reverse();
        let steps = revert.undos.iter().map(|undo| undo.step.as_str());
        let labels = argument_labels(
            &stored,
            &revert.run,
            steps.zip(undone.iter().copied()),
            request.policy,
        );
        revert.labels = labels;
        Ok(revert)
    }

    /// Returns the names of the tools that undo calls.
    pub fn tool_names(&self) -> BTreeSet<String> {
        let tools = self.undos.iter().map(|undo| undo.tool.to_string());
        tools.collect()
    }

    /// Checks the plan that undoes the calls; `None` if there is nothing to undo. An undo that is not sound is left out, and its call is
    /// [one that nothing undoes](Self::unreverted), with the reason.
    ///
    /// # Errors
    ///
    /// The plan as a whole is not sound.
    pub fn check(
        &mut self,
        catalog: &Catalog,
        policy: &Policy,
    ) -> Result<Option<(CheckedPlan, LoadedPlan)>, Box<LoadedPlan>> {
        // A revert is not reverted, so the undos of its own calls do not matter.
        let catalog = &catalog.map(|tool| tool.undo = None);
        loop {
            if self.undos.is_empty() {
                return Ok(None);
            }
            let (checked, loaded) = self.plan_of(&self.undos).check(catalog, policy);
            if let Some(checked) = checked {
                return Ok(Some((checked, loaded)));
            }
            if !self.remove_unsound(catalog, policy) {
                return Err(Box::new(loaded));
            }
        }
    }

    /// Removes the undos that are not sound by themselves. Returns false if there are none.
    fn remove_unsound(&mut self, catalog: &Catalog, policy: &Policy) -> bool {
        let undos = std::mem::take(&mut self.undos);
        let count = undos.len();
        for undo in undos {
            let alone = self.plan_of(std::slice::from_ref(&undo));
            let (checked, loaded) = alone.check(catalog, policy);
            if checked.is_some() {
                self.undos.push(undo);
                continue;
            }
            self.reverts.calls.retain(|call| call.step != undo.step);
            let mut errors = loaded.diagnostics.into_iter().filter(Diagnostic::is_error);
            let reason = errors.next().map(|error| error.message);
            self.unreverted.push(UnrevertedCall {
                at: undo.at,
                tool: undo.called,
                reason: Some(reason.unwrap_or_else(|| "its undo is not sound".to_owned())),
                ended: undo.ended,
            });
        }
        self.unreverted.sort_by_key(|call| call.ended);
        self.undos.len() < count
    }

    /// Returns the plan that makes `undos` one after the other. Their arguments are results of the reverted run, so that they keep their labels.
    fn plan_of(&self, undos: &[PlannedUndo]) -> LoadedPlan {
        let run = &self.run;
        let mut before: Option<&str> = None;
        let steps = undos.iter().map(|undo| {
            let read = |key: &Arc<str>| {
                let path = [run.as_str(), &undo.step, key].map(Segment::key);
                Value::text(format!("${{{RECALLED}{}}}", print_path(&path)))
            };
            let fields = undo.arguments.as_object().into_iter().flatten();
            let args: Object = fields
                .map(|(key, _)| (Arc::clone(key), read(key)))
                .collect();
            let mut step = vec![
                ("id", Value::text(undo.step.as_str())),
                ("title", Value::text(format!("Undo `{}`", undo.at))),
                ("tool", Value::Text(Arc::clone(&undo.tool))),
                ("args", Value::from(args)),
            ];
            // A call may depend on an earlier one in ways that no plan knows, so the order of the calls is reversed strictly.
            if let Some(before) = before.replace(&undo.step) {
                step.push(("after", Value::list([Value::text(before)])));
            }
            Value::object(step)
        });
        let plan = Value::object([
            ("name", Value::text(format!("revert-{run}"))),
            (
                "title",
                Value::text(format!("Undo the calls of the run {run}")),
            ),
            ("steps", Value::list(steps)),
            (
                "on_failure",
                Value::text(planwright_core::plan::Keyword::as_str(OnFailure::Stop)),
            ),
        ]);
        let text = PlanTextV1 {
            source: self.id.to_string(),
            text: plan.to_json(),
            dialect: Native.name().to_owned(),
            reorder: false,
            share: false,
            is_unfinished: false,
            recalled: Object::default(),
            recalled_labels: Vec::new(),
            max_steps: self.max_steps.max(undos.len().saturating_add(1)),
            library: Vec::new(),
        };
        let results = undos.iter();
        let results = results.map(|undo| (Arc::from(&*undo.step), undo.arguments.clone()));
        let results = Value::from(results.collect::<Object>());
        let results = [(Arc::from(run.as_str()), results)];
        LoadedPlan::from_stored(&text, Object::default())
            .with_recalled(results.into_iter().collect(), self.labels.clone())
    }

    /// Adds a call. Returns true if the plan undoes it.
    async fn add(&mut self, call: &MadeCall, earlier: Option<&UndoOutcome>) -> bool {
        match undo_of(call, earlier).await {
            PossibleUndo::Unneeded => {}
            PossibleUndo::Made => self.undone_before += 1,
            PossibleUndo::InDoubt(undone_by) => self.in_doubt.push(DoubtfulCall {
                at: Arc::clone(&call.at),
                tool: call.tool.qualified_name(),
                undone_by,
            }),
            PossibleUndo::Impossible(reason) => self.unreverted.push(unreverted(call, reason)),
            PossibleUndo::Call(tool, arguments) => {
                let step = self.step_for(&call.at);
                self.reverts.calls.push(RevertedCallV1 {
                    step: step.clone(),
                    at: call.at.to_string(),
                    entry: call.entry,
                });
                self.undos.push(PlannedUndo {
                    step,
                    at: Arc::clone(&call.at),
                    called: call.tool.qualified_name(),
                    tool,
                    arguments,
                    ended: call.ended,
                });
                return true;
            }
        }
        false
    }

    /// Returns a new id for the step that undoes a call of `at`.
    fn step_for(&self, at: &Address) -> String {
        let text = at.to_string();
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let id = format!("undo_{}", words.join("_"));
        let is_free = |id: &String| self.undos.iter().all(|undo| undo.step != *id);
        let numbered = (2..).map(|number| format!("{id}_{number}"));
        let mut ids = std::iter::once(id.clone()).chain(numbered);
        ids.find(is_free).unwrap_or(id)
    }

    /// Returns true if nothing happened that is not undone or going to be.
    pub fn is_complete(&self) -> bool {
        self.unreverted.is_empty() && self.in_doubt.is_empty()
    }

    /// Returns what is known before the run that reverts has started.
    pub fn summary(&self) -> RevertSummary {
        let mut summary = RevertSummary::default();
        let unreverted = self.unreverted.iter().map(|call| &call.at);
        summary.unreverted = unreverted.map(|at| at.to_string().into()).collect();
        let in_doubt = self.in_doubt.iter().map(|call| &call.at);
        summary.in_doubt = in_doubt.map(|at| at.to_string().into()).collect();
        summary
    }

    /// Takes the leases that protect the revert, for the [specification](crate::service::RunSpec::leases) of its run.
    pub fn take_leases(&mut self) -> Vec<LeasedRun> {
        std::mem::take(&mut self.leases)
    }

    /// Returns the sources of the tools, for a process that resumes the revert: those of the reverted run, none if that was imported.
    pub fn sources(&self) -> &ToolSourcesV1 {
        &self.sources
    }

    /// Replaces the sources of the tools, which a person has named.
    pub fn set_sources(&mut self, sources: ToolSourcesV1) {
        self.sources = sources;
    }

    /// Returns the client that the reverted run belongs to; none if it was imported.
    pub fn client(&self) -> Option<&str> {
        self.client.as_deref()
    }

    /// Returns the storage of the run of `plan`, the plan of this revert, which begins at `now`. Only with it does the
    /// store know what the run undoes.
    pub fn new_run(&self, plan: &LoadedPlan, now: SystemTime) -> NewStoredRun {
        NewStoredRun {
            client: self.client.clone(),
            reverts: Some(self.reverts.clone()),
            ..plan.new_run(self.sources.clone(), now)
        }
    }
}

impl fmt::Debug for Revert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Revert")
            .field("id", &self.id)
            .field("run", &self.run)
            .field("undos", &self.undos)
            .field("unreverted", &self.unreverted)
            .field("in_doubt", &self.in_doubt)
            .field("leases", &self.leases.len())
            .finish_non_exhaustive()
    }
}

/// Returns true if `revert` waits for decisions, and not all of its calls that wait were rejected. A rejection counts before the run
/// is resumed, since a change of its tools may prevent that.
fn has_undecided(store: &Store, revert: &RunId) -> Result<bool, StoredRunError> {
    let stored = StoredRun::read(store, revert.as_str())?;
    if stored.status() != Some(RunStatus::Waiting) {
        return Ok(false);
    }
    let decided = store.decisions(revert.as_str())?;
    let is_rejected = |question: &OpenQuestion| {
        let digest = question.digest();
        let latest = decided.iter().rev().find(|one| one.digest == digest);
        latest.is_some_and(|one| matches!(one.decision, Decision::Reject { .. }))
    };
    let questions = OpenQuestion::of(revert, &stored.history()?);
    Ok(!questions.iter().all(is_rejected))
}

/// The undo of a call.
enum PossibleUndo {
    /// The call changed nothing.
    Unneeded,
    /// An earlier revert has undone the call.
    Made,
    /// The call may or may not have happened, or be undone by this run.
    InDoubt(Option<RunId>),
    /// A call that stays as it is; with the reason, if it has an undo.
    Impossible(Option<String>),
    /// A call of this tool with these arguments.
    Call(Arc<str>, Value),
}

/// Returns the undo of a call; `earlier` is the outcome of its undo in an earlier revert.
async fn undo_of(call: &MadeCall, earlier: Option<&UndoOutcome>) -> PossibleUndo {
    match earlier {
        Some(UndoOutcome::Undone) => return PossibleUndo::Made,
        Some(UndoOutcome::InDoubt(by)) => return PossibleUndo::InDoubt(Some(by.clone())),
        None => {}
    }
    let configured = call.tool.undo.as_deref();
    let undo = call.undo.as_ref().or(configured.map(|one| &*one.undo));
    // What changes nothing needs no undo, unless its author wants one.
    if undo.is_none() && call.tool.merely_reads() {
        return PossibleUndo::Unneeded;
    }
    let RecordedOutcome::Happened(output) = &call.outcome else {
        return PossibleUndo::InDoubt(None);
    };
    let Some(undo) = undo else {
        return PossibleUndo::Impossible(None);
    };
    if contains_mask(output) || contains_mask(&call.args) {
        return PossibleUndo::Impossible(Some("the stored call contains a secret".to_owned()));
    }
    match undo_arguments(undo, &call.args, output).await {
        Ok(arguments) => PossibleUndo::Call(Arc::clone(&undo.tool.text), arguments),
        Err(reason) => PossibleUndo::Impossible(Some(reason)),
    }
}

/// Returns a call that nothing undoes.
fn unreverted(call: &MadeCall, reason: Option<String>) -> UnrevertedCall {
    UnrevertedCall {
        at: Arc::clone(&call.at),
        tool: call.tool.qualified_name(),
        reason,
        ended: call.ended,
    }
}

/// Removes and returns the calls that ended before the first one of the step, item or round `from`, without those whose end is not known.
fn split_before(calls: &mut Vec<MadeCall>, from: &str) -> Result<Vec<MadeCall>, StoredRunError> {
    let is_from = |call: &&MadeCall| {
        let at = &call.at;
        at.outermost().as_str() == from || at.steps() == from || at.to_string() == from
    };
    let first = calls.iter().filter(is_from).map(|call| call.ended).min();
    let first = first.ok_or_else(|| StoredRunError::NoCall(from.to_owned()))?;
    let is_before =
        |call: &MadeCall| call.ended < first && !matches!(call.outcome, RecordedOutcome::Unknown);
    let (before, rest) = std::mem::take(calls).into_iter().partition(is_before);
    *calls = rest;
    Ok(before)
}
