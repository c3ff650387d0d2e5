//! The budgets of a run: calls, written bytes, memory and tasks.

use planwright_core::check::CheckedPlan;

use crate::backend::{ErrorKind, ToolError};
use crate::guard::{Guard, WrittenBudget, written_bytes};
use crate::options::RunOptions;
use crate::run::values::memory_budget::MemoryBudget;

/// The usage of a run, counted against its bounds.
#[derive(Debug)]
pub(super) struct Budgets {
    pub(super) guard: Guard,
    pub(super) written: WrittenBudget,
    pub(super) memory: MemoryBudget,
    /// The number of tasks, including future ones of loops that have begun.
    tasks: usize,
    max_tasks: usize,
}

impl Budgets {
    pub(super) fn new(plan: &CheckedPlan, options: &RunOptions) -> Self {
        let bound = options.guards.written_bytes.clone();
        let mut written = WrittenBudget::new(bound, options.meter.clone());
        for value in plan.inputs().values() {
            written.receive(written_bytes(value));
        }
        Self {
            guard: Guard::new(options.guards.clone()),
            written,
            memory: MemoryBudget::new(options.computed_bytes),
            tasks: 0,
            max_tasks: options.max_tasks,
        }
    }

    /// Counts the plan's own steps, which always run.
    pub(super) fn add_steps(&mut self, count: usize) {
        self.tasks += count;
    }

    /// Reserves `more` tasks, within the maximum of the run.
    pub(super) fn reserve_tasks(&mut self, more: usize) -> Result<(), ToolError> {
        let max = self.max_tasks;
        let tasks = self.tasks.saturating_add(more);
        if tasks > max {
            return Err(ToolError::new(
                ErrorKind::Budget,
                format!(
                    "the run comes to {tasks} tasks (steps, items, rounds), more than the {max} that are allowed"
                ),
            ));
        }
        self.tasks = tasks;
        Ok(())
    }
}
