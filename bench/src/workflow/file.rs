//! Recorded workflows of WfCommons: WfFormat 1.4, 1.5 and 1.6.
//!
//! Of each task, only the id, the dependencies and the duration are read; files and machines do not matter to an order.

mod read;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use planwright_core::Value;
use planwright_engine::forecast::{Job, Jobs};

/// The versions that are read.
pub const VERSIONS: &[&str] = &["1.4", "1.5", "1.6"];

/// A workflow: tasks with their parents and the times that they took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workflow {
    /// The name of the workflow.
    pub name: String,
    /// The tasks, in the order in which they were written.
    pub tasks: Vec<Task>,
}

/// A task of a workflow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// The id of the task.
    pub id: String,
    /// The run time, in microseconds.
    pub micros: u64,
    /// The positions of the tasks that this one waits for, without duplicates.
    pub parents: Vec<u32>,
}

/// An error in a workflow's file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct WorkflowFault {
    /// The place in the file, as a JSON pointer.
    pub pointer: String,
    /// The problem.
    pub message: String,
}

impl fmt::Display for WorkflowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{} at {}", self.message, self.pointer)
        }
    }
}

impl Workflow {
    /// Reads a workflow.
    ///
    /// # Errors
    ///
    /// Every error of the file, each with its place.
    pub fn from_value(value: &Value) -> Result<Self, Vec<WorkflowFault>> {
        read::workflow(value)
    }

    /// Returns the tasks as jobs of one tool.
    pub fn jobs(&self) -> Jobs {
        let mut jobs = Jobs::new();
        let lane = Some(jobs.lane(&"workflow".into(), &Arc::from("task")));
        for task in &self.tasks {
            let job = Job {
                takes: task.micros,
                lane,
                is_exclusive: false,
            };
            jobs.add(job, task.parents.clone());
        }
        jobs
    }
}
