//! A stored run, as its store has it.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use planwright_core::check::CheckedPlan;
use planwright_core::flow::PlannerLabel;
use planwright_core::{Object, PlanConsent, StepId, Tool, ToolName};
use planwright_engine::journal::{Entry, Record};
use planwright_engine::options::RunOptions;
use planwright_engine::run::{History, contains_mask};
use planwright_engine::{Durations, RunStatus};
use planwright_store::Store;

use super::{EarlierConsents, RetainedResults, StoredRunError, tools_of};
use crate::format::{
    FlowModeV1, PlanTextV1, ProcessV1, RecalledLabelsV1, RevisionV1, RunV1, ToolV1, from_unix_ms,
};
use crate::loaded_plan::{LoadedPlan, ResultLabels};

#[cfg(feature = "config")]
use crate::config::Config;

/// A stored run.
#[derive(Debug)]
#[non_exhaustive]
pub struct StoredRun {
    /// The header of the run.
    pub run: RunV1,
    /// The journal, in order.
    pub entries: Vec<Entry>,
    /// The latest plan.
    pub plan: PlanTextV1,
    /// The inputs of the latest process.
    pub vars: Object,
    /// The header of the latest process.
    pub process: Option<ProcessV1>,
    /// The results that stay although a later plan changed their sources.
    pub retained: RetainedResults,
    /// The number of imported entries, if the run was imported. Their consent does not count, and their sources of tools are not used.
    pub imported: Option<usize>,
}

/// A change of the run's plan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlanChange {
    /// The reason, if a model wrote it after a failure.
    pub revision: Option<RevisionV1>,
    /// True if the previous plan was a beginning from which the model deviated.
    pub ends_beginning: bool,
}

impl StoredRun {
    /// Reads the run `id`.
    ///
    /// # Errors
    ///
    /// The run does not exist, or another version wrote it.
    pub fn read(store: &Store, id: &str) -> Result<Self, StoredRunError> {
        let run = RunV1::from_value(&store.header(id)?)?;
        let imported = store.run(id)?.imported;
        let entries = store
            .entries(id)
            .and_then(Iterator::collect::<Result<Vec<Entry>, _>>)?;
        Self::of(run, entries, imported)
    }

    /// Reads the entries that were stored after those of this run, whose id is `id`; `None` if there are none.
    ///
    /// # Errors
    ///
    /// Those of [`StoredRun::read`].
    pub fn updated(&self, store: &Store, id: &str) -> Result<Option<Self>, StoredRunError> {
        let new = store
            .entries_from(id, self.entries.len())
            .and_then(Iterator::collect::<Result<Vec<Entry>, _>>)?;
        if new.is_empty() {
            return Ok(None);
        }
        let entries = self.entries.iter().cloned().chain(new).collect();
        Self::of(self.run.clone(), entries, self.imported).map(Some)
    }

    fn of(
        run: RunV1,
        entries: Vec<Entry>,
        imported: Option<usize>,
    ) -> Result<Self, StoredRunError> {
        let mut plan = run.plan.clone();
        let mut vars = run.vars.clone();
        let mut process = None;
        let mut retained = RetainedResults::default();
        for (index, entry) in entries.iter().enumerate() {
            if let Record::Opened { header, .. } = &entry.record {
                let mut opened = ProcessV1::from_value(header)?;
                // The file claims that a person approved the plan, but no person has approved it here.
                if imported.is_some_and(|imported| index < imported) {
                    opened.approved_plan = None;
                    opened.plan_consent = None;
                }
                if let Some(new) = &opened.plan {
                    plan = new.clone();
                }
                if let Some(new) = &opened.vars {
                    vars.clone_from(new);
                }
                retained.add(&opened);
                process = Some(opened);
            }
        }
        Ok(Self {
            run,
            entries,
            plan,
            vars,
            process,
            retained,
            imported,
        })
    }

    /// Returns the address of the workflow engine that drives the run, if it has not ended; `None` for an imported run, which no engine here knows.
    pub fn driving_engine(&self) -> Option<&str> {
        let last = self.entries.last().map(|entry| &entry.record);
        let is_open = !matches!(last, Some(Record::Ended { .. }));
        let engine = self.run.driven_by.as_deref();
        engine.filter(|_| is_open && self.imported.is_none())
    }

    /// Returns the digest that an approval of the whole plan is bound to; `None` if the plan is still being written, or was imported.
    pub fn plan_consent(&self) -> Option<&PlanConsent> {
        let latest = |is: fn(&Record) -> bool| {
            let mut entries = self.entries.iter();
            entries.rposition(|entry| is(&entry.record))
        };
        let extended = latest(|record| matches!(record, Record::Extended { .. }));
        let is_extended = extended > latest(|record| matches!(record, Record::Opened { .. }));
        let process = self.process.as_ref();
        let process = process.filter(|process| process.beginning.is_none() && !is_extended);
        process?.plan_consent.as_ref()
    }

    /// Returns the digests that consent to the whole plan was bound to under the processes so far. Those of an imported file are not
    /// among them, since no consent in it counts.
    ///
    /// # Errors
    ///
    /// If another version wrote the journal.
    pub fn earlier_consents(&self) -> Result<EarlierConsents, StoredRunError> {
        let local_entries = self.entries.get(self.imported.unwrap_or(0)..);
        Ok(EarlierConsents::of(local_entries.unwrap_or_default())?)
    }

    /// Returns the label of the planner of the latest process, if its plan was checked by the flow analysis.
    pub fn planner(&self) -> Option<PlannerLabel> {
        let process = self.process.as_ref()?;
        Some(match process.flow? {
            FlowModeV1::Clean => PlannerLabel::Clean,
            FlowModeV1::Exposed => PlannerLabel::Exposed,
        })
    }

    /// Returns the configuration under which the run continues. The flow analysis stays enabled if it was, and a planner that had read
    /// untrusted text stays exposed.
    #[cfg(feature = "config")]
    #[must_use]
    pub fn with_flow(&self, config: Config) -> Config {
        match self.planner() {
            None => config,
            Some(PlannerLabel::Clean) => config.with_flow(),
            Some(PlannerLabel::Exposed) => config.with_flow().with_exposed_planner(),
        }
    }

    /// Returns the time for which no process has driven the run at `now`; zero if the clock was set back.
    pub(super) fn idle(&self, now: SystemTime) -> Duration {
        let mut opened = self.entries.iter().rev();
        let opened = opened.find(|entry| matches!(entry.record, Record::Opened { .. }));
        let (Some(opened), Some(last), Some(process)) =
            (opened, self.entries.last(), &self.process)
        else {
            return Duration::ZERO;
        };
        let began = from_unix_ms(process.began_unix_ms);
        let ended = began.checked_add(last.at.saturating_sub(opened.at));
        let since = ended.and_then(|ended| now.duration_since(ended).ok());
        since.unwrap_or_default()
    }

    /// Returns the reasons for changes of the plan that a model wrote.
    pub fn revisions(&self) -> Vec<RevisionV1> {
        let changes = self.changes().into_iter();
        changes.filter_map(|change| change.revision).collect()
    }

    /// The changes of the plan, in order. The run had one plan more than the number of changes.
    pub fn changes(&self) -> Vec<PlanChange> {
        let headers = self.entries.iter().filter_map(|entry| {
            let header = entry.record.header()?;
            ProcessV1::from_value(header).ok()
        });
        let mut was_begun = false;
        let mut changes = Vec::new();
        for process in headers {
            if process.plan.is_some() {
                changes.push(PlanChange {
                    ends_beginning: was_begun && changes.is_empty(),
                    revision: process.revision,
                });
            }
            was_begun |= process.beginning.is_some();
        }
        changes
    }

    /// Returns the state of the run when its plan with this number, from 0, was replaced; `None` if it had no such plan.
    ///
    /// # Errors
    ///
    /// If another version wrote it.
    pub fn with_plan(self, number: usize) -> Result<Option<Self>, StoredRunError> {
        let has_plan = |entry: &Entry| {
            let header = entry.record.header();
            let process = header.and_then(|header| ProcessV1::from_value(header).ok());
            process.is_some_and(|process| process.plan.is_some())
        };
        let changes = self
            .entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| has_plan(entry));
        let changes: Vec<usize> = changes.map(|(index, _)| index).collect();
        if number > changes.len() {
            return Ok(None);
        }
        let mut entries = self.entries;
        entries.truncate(changes.get(number).copied().unwrap_or(entries.len()));
        Self::of(self.run, entries, self.imported).map(Some)
    }

    /// The ids of the steps of the latest plan.
    pub fn step_ids(&self) -> Vec<String> {
        let loaded = LoadedPlan::from_stored(&self.plan, self.vars.clone());
        let steps = loaded.plan.iter().flat_map(|plan| &plan.steps);
        steps.map(|step| step.id.to_string()).collect()
    }

    /// Returns the labels of the results that the latest plan uses and does not compute.
    pub fn labels(&self) -> ResultLabels {
        ResultLabels {
            recalled: RecalledLabelsV1::decode(&self.plan.recalled_labels),
            retained: self.retained.labels(),
        }
    }

    /// Loads the latest plan with the inputs of the latest process, overridden by `more`.
    ///
    /// # Errors
    ///
    /// A secret input, which is not stored, is missing.
    pub fn loaded(&self, more: Object) -> Result<LoadedPlan, StoredRunError> {
        let mut inputs = self.vars.clone();
        inputs.extend(more);
        let mut hidden = inputs.iter().filter(|(_, value)| contains_mask(value));
        match hidden.next() {
            Some((name, _)) => Err(StoredRunError::Hidden(name.clone())),
            None => {
                let loaded = LoadedPlan::from_stored(&self.plan, inputs);
                Ok(loaded.with_retained(self.retained.labels()))
            }
        }
    }

    /// Returns the history of the steps that the plan has now, without imported consent.
    ///
    /// # Errors
    ///
    /// If another version wrote it.
    pub fn history(&self) -> Result<History, StoredRunError> {
        let imported = self.imported.unwrap_or(0).min(self.entries.len());
        let (foreign, own) = self.entries.split_at(imported);
        let mut history = history(foreign)?;
        if self.imported.is_some() {
            history.revoke_consent();
        }
        add(&mut history, own)?;
        Ok(history)
    }

    /// Returns true if the run was imported, and no process of this store has driven it since.
    pub(super) fn is_just_imported(&self) -> bool {
        self.imported
            .is_some_and(|imported| self.entries.len() <= imported)
    }

    /// Returns the status at the end of its last process, if that process ended the run.
    pub fn status(&self) -> Option<RunStatus> {
        match &self.entries.last()?.record {
            Record::Ended { status } => Some(*status),
            Record::Opened { .. }
            | Record::Sent { .. }
            | Record::Answered { .. }
            | Record::Aborted { .. }
            | Record::Asked { .. }
            | Record::Decided { .. }
            | Record::Chosen { .. }
            | Record::TimerFired { .. }
            | Record::Extended { .. }
            | Record::Closed
            | Record::Draining
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::Resumed
            | Record::Settled { .. } => None,
        }
    }

    /// Returns true if the plan was never complete: the model broke off, or the plan was not sound. Such a run cannot be resumed.
    pub fn is_unfinished(&self) -> bool {
        self.plan.is_unfinished
    }

    /// Returns the options of the last process, with the durations that are known now.
    pub fn options(&self) -> RunOptions {
        match &self.process {
            Some(process) => RunOptions {
                durations: Durations::from(&process.durations),
                ..process.run_options()
            },
            None => RunOptions::default(),
        }
    }

    /// Returns true if calls of `tool` needed a decision when the run was last resumed.
    pub fn asks(&self, tool: &Tool) -> bool {
        let mut known = self.process.iter().flat_map(|process| &process.tools);
        known
            .any(|known| known.approval && known.server == *tool.server && known.name == *tool.name)
    }

    /// Returns true if calls of `tool` that undo those of the run need a decision, whatever the configuration says. The run knew nothing of a
    /// tool that only the configuration names, so nothing says that it needs none.
    pub fn asks_in_revert(&self, tool: &Tool) -> bool {
        let mut known = self.process.iter().flat_map(|process| &process.tools);
        let is_known = known.any(|known| known.server == *tool.server && known.name == *tool.name);
        !is_known || self.asks(tool)
    }

    /// Returns the tools of `plan` that have changed, with their changes.
    pub fn changed_tools(&self, plan: &CheckedPlan) -> Vec<(ToolName, String)> {
        let known = self.process.iter().flat_map(|process| &process.tools);
        let before: BTreeMap<(&str, &str), &ToolV1> = known
            .map(|tool| ((&*tool.server, &*tool.name), tool))
            .collect();
        let tools = tools_of(plan);
        let changes = tools.iter().filter_map(|tool| {
            let before = before.get(&(&*tool.server, &*tool.name))?;
            Some((tool.qualified_name(), before.changes(tool)?))
        });
        changes.collect()
    }
}

/// Returns the history of the steps that the plan has now, from a journal with headers of [`ProcessV1`].
///
/// # Errors
///
/// If another version wrote it.
pub fn history(entries: &[Entry]) -> Result<History, StoredRunError> {
    let mut history = History::default();
    add(&mut history, entries)?;
    Ok(history)
}

fn add(history: &mut History, entries: &[Entry]) -> Result<(), StoredRunError> {
    for entry in entries {
        if let Record::Opened { header, .. } = &entry.record {
            let process = ProcessV1::from_value(header)?;
            if history.entry_count() > 0 {
                history.add_pause(process.idle());
            }
            if process.revokes_consent {
                history.revoke_consent();
            }
            for step in &process.forgotten {
                history.forget(&StepId::new(step.as_str()));
            }
        }
        history.add(entry);
    }
    Ok(())
}
