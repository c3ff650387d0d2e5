//! Runs the journal of a kept run again, without calling anything.

use std::collections::VecDeque;
use std::sync::Arc;

use planwright::core::check::CheckedPlan;
use planwright::core::{Catalog, Object, StepId, Tool, Value};
use planwright::engine::options::RunOptions;
use planwright::engine::run::{Opening, ReplayError, Replayed, replay};
use planwright::engine::{Confidential, Durations};
use planwright::wire::{ChoiceV1, KeptError, PlanTextV1, ProcessV1};

use super::error::CommandError;
use super::plan_file;
use super::resume::Kept;

/// What a run came to, by what it was told, and that it would decide the same again.
pub(super) fn replayed(id: &str, kept: &Kept) -> Result<Replayed, ReplayError<CommandError>> {
    let mut opener = Opener::new(kept);
    replay(&Arc::from(id), &kept.entries, |_, header| {
        opener.open(header)
    })
}

/// The latest plan of a run, checked against the tools as its latest process had them.
pub(super) fn latest_plan(kept: &Kept) -> Result<CheckedPlan, CommandError> {
    let tools = kept.process.iter().flat_map(|process| &process.tools);
    checked(&kept.plan, &kept.vars, tools.map(Tool::from).collect())
}

/// With what the processes of a run began, one after the other.
struct Opener {
    plan: PlanTextV1,
    vars: Object,
}

impl Opener {
    fn new(kept: &Kept) -> Self {
        Self {
            plan: kept.run.plan.clone(),
            vars: kept.run.vars.clone(),
        }
    }

    /// With what the next process began.
    fn open(&mut self, header: &Value) -> Result<Opening, CommandError> {
        let process = ProcessV1::from_value(header).map_err(|error| unreadable(&error))?;
        if let Some(plan) = process.plan {
            self.plan = plan;
        }
        if let Some(vars) = process.vars {
            self.vars = vars;
        }
        let tools = process.tools.iter().map(Tool::from).collect();
        let choices = process.choices.iter().map(ChoiceV1::choice);
        let plan = checked(&self.plan, &self.vars, tools)?;
        let confidential = if plan.outside().is_empty() {
            Confidential::new()
        } else {
            Confidential::masked()
        };
        Ok(Opening {
            plan,
            options: RunOptions {
                durations: Durations::from(&process.durations),
                confidential,
                ..RunOptions::from(&process.options)
            },
            choices: choices
                .collect::<Result<_, _>>()
                .map_err(|error| unreadable(&error))?,
            forgotten: process
                .forgotten
                .iter()
                .map(|step| StepId::new(step.as_str()))
                .collect(),
            extensions: VecDeque::new(),
        })
    }
}

fn checked(
    plan: &PlanTextV1,
    vars: &Object,
    catalog: Catalog,
) -> Result<CheckedPlan, CommandError> {
    let mut reading = plan_file::read_kept(plan, vars.clone())?;
    reading.release_anything();
    reading
        .check(&catalog)
        .ok_or_else(|| CommandError::new("the plan of the run is not sound any more"))
}

fn unreadable(error: &KeptError) -> CommandError {
    CommandError::new(format!("the run cannot be read: {error}"))
        .hint("use the version of the program that wrote it")
}
