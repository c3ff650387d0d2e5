//! Tasks of a run: their data, and their creation from the steps of a plan.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::check::CheckedPlan;
use planwright_core::{Object, Tool, Value};

use crate::backend::ToolError;
use crate::event::{Address, RunEvent};
use crate::run::effects::Effect;
use crate::run::outcome::Outcome;
use crate::run::report::cost_model::{CostModel, PlanPaths};
use crate::run::run_machine::RunMachine;
use crate::run::values::slots::{Frame, Slots};
use crate::schedule::TaskId;

/// The part of a step that a task runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskKind {
    /// The whole step.
    Step,
    /// An item of its `for_each`.
    Item,
    /// A round of its `repeat`.
    Round,
}

/// The data of one task. Rare parts are boxed, since there can be many tasks.
#[derive(Debug)]
pub(crate) struct TaskData {
    pub(crate) frame: usize,
    pub(crate) step: u32,
    pub(crate) kind: TaskKind,
    pub(crate) address: Arc<Address>,
    /// The item or the round, if it is one.
    pub(crate) iteration: Option<Box<Iteration>>,
    pub(crate) tool: Option<Arc<Tool>>,
    pub(crate) args: Option<Value>,
    pub(crate) group: Option<Box<Group>>,
    /// The outcome, until the scheduler has settled the task.
    pub(crate) pending_outcome: Option<Box<Outcome>>,
    /// The error of its last attempt.
    pub(crate) last_error: Option<Box<ToolError>>,
    /// The final outcome.
    pub(crate) outcome: Option<Arc<Outcome>>,
    /// Items, rounds, or steps of an inner plan, in order.
    pub(crate) parts: Vec<TaskId>,
    pub(crate) attempts: u32,
    /// The number of attempts of earlier processes.
    pub(crate) earlier_attempts: u32,
    /// True if an earlier process sent a call whose outcome is unknown.
    pub(crate) outcome_unknown: bool,
    /// True if a question about its call is open.
    pub(crate) question_is_open: bool,
    /// True if its call was postponed by a rate limit.
    pub(crate) postponed: bool,
    /// The longest path from its end to that of the run, in microseconds.
    pub(crate) path_after: u64,
    /// The index of its last call.
    pub(crate) last_call: Option<usize>,
    pub(crate) started: Option<Duration>,
    pub(crate) ended: Option<Duration>,
}

/// An item of a `for_each`, or a round of a `repeat`.
#[derive(Debug)]
pub(crate) struct Iteration {
    /// The item; in a round, that of the enclosing `for_each`.
    pub(crate) item: Option<Value>,
    /// The position of the item, or the number of the round.
    pub(crate) index: u64,
    /// The output of the previous round.
    pub(crate) last: Option<Value>,
}

/// The progress of a group.
#[derive(Debug)]
pub(crate) enum Group {
    /// The items of a `for_each`.
    Items {
        /// The list.
        items: Arc<Vec<Value>>,
        /// The position of the next item to start.
        next: usize,
        /// The expected duration of one item, in microseconds.
        item_cost: u64,
        /// The maximum number of concurrent items.
        parallelism: u64,
    },
    /// The rounds of a `repeat`.
    Rounds {
        /// The current round, from 0.
        number: u64,
        /// The maximum number of rounds.
        max: u64,
        /// The number of latest consecutive rounds with the same output.
        same: u64,
    },
    /// An inner plan.
    Plan {
        /// The index of its frame.
        frame: usize,
    },
}

/// An attempt at a call, for the report.
#[derive(Clone, Debug)]
pub(crate) struct CallRecord {
    pub(crate) task: TaskId,
    pub(crate) attempt: u32,
    pub(crate) args: Value,
    pub(crate) error: Option<Box<ToolError>>,
    pub(crate) sent: Duration,
    pub(crate) ended: bool,
}

impl TaskData {
    pub(crate) fn new(frame: usize, step: u32, kind: TaskKind, address: Arc<Address>) -> Self {
        Self {
            frame,
            step,
            kind,
            address,
            iteration: None,
            tool: None,
            args: None,
            group: None,
            pending_outcome: None,
            last_error: None,
            outcome: None,
            parts: Vec::new(),
            attempts: 0,
            earlier_attempts: 0,
            outcome_unknown: false,
            question_is_open: false,
            postponed: false,
            path_after: 0,
            last_call: None,
            started: None,
            ended: None,
        }
    }
}

/// The tasks of a run by id, and the attempts at their calls in the order of sending.
#[derive(Debug, Default)]
pub(in crate::run) struct TaskTable {
    tasks: Vec<TaskData>,
    calls: Vec<CallRecord>,
}

impl TaskTable {
    /// Adds the data of the task that the scheduler has added last: ids of tasks count from 0.
    pub(in crate::run) fn push(&mut self, data: TaskData) {
        self.tasks.push(data);
    }

    /// Reserves room for `more` tasks with one call each.
    fn reserve(&mut self, more: usize) {
        self.tasks.reserve(more);
        self.calls.reserve(more);
    }

    pub(in crate::run) fn get(&self, task: TaskId) -> Option<&TaskData> {
        self.tasks.get(task.0 as usize)
    }

    pub(in crate::run) fn get_mut(&mut self, task: TaskId) -> Option<&mut TaskData> {
        self.tasks.get_mut(task.0 as usize)
    }

    pub(in crate::run) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// The tasks from the index `first` on.
    pub(in crate::run) fn since(&self, first: usize) -> impl Iterator<Item = &TaskData> {
        self.tasks.iter().skip(first)
    }

    /// Adds an attempt and returns its index.
    pub(in crate::run) fn push_call(&mut self, call: CallRecord) -> usize {
        self.calls.push(call);
        self.calls.len() - 1
    }

    /// The last attempt of a task.
    pub(in crate::run) fn last_call(&self, task: TaskId) -> Option<&CallRecord> {
        self.calls.get(self.get(task)?.last_call?)
    }

    /// The last attempt of a task, if it is number `attempt` and has not ended. It ends with `error`, if there is one.
    pub(in crate::run) fn end_call(
        &mut self,
        task: TaskId,
        attempt: u32,
        error: Option<&ToolError>,
    ) -> bool {
        let index = self.get(task).and_then(|data| data.last_call);
        match index.and_then(|index| self.calls.get_mut(index)) {
            Some(call) if call.attempt == attempt && !call.ended => {
                call.ended = true;
                call.error = error.cloned().map(Box::new);
                true
            }
            Some(_) | None => false,
        }
    }

    pub(in crate::run) fn calls(&self) -> &[CallRecord] {
        &self.calls
    }
}

impl RunMachine {
    pub(in crate::run) fn instantiate_roots(&mut self, plan: CheckedPlan) {
        let instances = plan.plan().instances.clone();
        if instances.is_empty() {
            self.instantiate(plan, None, None, &Object::default(), None);
        } else {
            for instance in instances {
                let shared = Some(Arc::clone(self.frames.shared_slots()));
                self.instantiate(
                    plan.clone(),
                    None,
                    Some(instance),
                    &Object::default(),
                    shared,
                );
            }
        }
        self.frames.end_roots();
    }

    /// Adds a plan's steps as tasks, without starting them.
    pub(in crate::run) fn instantiate(
        &mut self,
        plan: CheckedPlan,
        owner: Option<TaskId>,
        instance: Option<Arc<str>>,
        arguments: &Object,
        shared: Option<Arc<Slots>>,
    ) -> usize {
        let frame = Frame::new(plan, owner, instance, arguments, shared);
        let frame = self.frames.push(frame);
        self.add_steps(frame, 0);
        frame
    }

    /// Adds the steps of a frame from `first` on as tasks.
    fn add_steps(&mut self, frame_index: usize, first: usize) {
        let Some(frame) = self.frames.get(frame_index) else {
            return;
        };
        let plan = frame.plan.clone();
        let owner = frame.owner;
        let instance = frame.instance.clone();
        // The path after the step that runs this plan also follows each of its steps.
        let base = owner
            .and_then(|owner| self.task_data(owner))
            .map_or(0, |owner| owner.path_after);
        let paths = self.plan_paths(&plan, owner, first);
        let at = |list: &[u64], offset: usize| {
            let own = list.get(offset - first).copied().unwrap_or(0);
            own.saturating_add(base)
        };
        let more = plan.plan().steps.len().saturating_sub(first);
        // Most steps make one call.
        self.tasks.reserve(more);
        for (offset, step) in plan.plan().steps.iter().enumerate().skip(first) {
            let mut task = None;
            // Steps of other instances have no task in this frame.
            if step.instance.is_none() || step.instance == instance {
                let id = self.queue.add(owner, at(&paths.ranks, offset));
                let address = Arc::new(Address {
                    inside: owner.and_then(|owner| self.address(owner)),
                    instance: instance.clone(),
                    step: step.id.clone(),
                    item: None,
                    round: None,
                });
                let index = u32::try_from(offset).unwrap_or(u32::MAX);
                let mut data = TaskData::new(frame_index, index, TaskKind::Step, address);
                data.path_after = at(&paths.after, offset);
                self.tasks.push(data);
                if let Some(owner) = owner.and_then(|owner| self.task_data_mut(owner)) {
                    owner.parts.push(id);
                }
                task = Some(id);
            }
            // Both lists have an entry for every step, so that the index of a step is valid in them.
            if let Some(frame) = self.frames.get_mut(frame_index) {
                frame.tasks.push(task);
                frame.outcomes.push(None);
            }
        }
    }

    /// The longest remaining paths of the steps from `first` on, by the current durations. Only the order of the run's
    /// own plan is optimized; inner plans and further steps must fit in with what is running.
    fn plan_paths(&self, plan: &CheckedPlan, owner: Option<TaskId>, first: usize) -> PlanPaths {
        let mut costs = CostModel::new(&self.options.durations, &self.options.limits);
        let is_whole = first == 0 && owner.is_none() && plan.plan().instances.is_empty();
        if is_whole {
            costs.optimized_paths(plan)
        } else {
            costs.paths(plan, first)
        }
    }

    /// Starts the steps of a frame from `first` on, each with the steps that it waits for.
    pub(in crate::run) fn start_steps(&mut self, frame_index: usize, first: usize) {
        let Some(frame) = self.frames.get(frame_index) else {
            return;
        };
        let plan = frame.plan.clone();
        let tasks = frame.tasks.clone();
        // Deferred steps are checked again, since the plan may be definite now.
        let steps = frame.deferred.iter().copied().chain(first..tasks.len());
        // The steps of an inner plan may start because its step was allowed to.
        let is_open = |step: &usize| {
            !self.lifecycle.is_provisional()
                || frame.owner.is_some()
                || plan.can_start_speculatively(*step)
        };
        let (open, deferred): (Vec<usize>, Vec<usize>) = steps.partition(is_open);
        if let Some(frame) = self.frames.get_mut(frame_index) {
            frame.deferred = deferred;
        }
        for step in open {
            let (Some(checked), Some(Some(task))) = (plan.steps().get(step), tasks.get(step))
            else {
                continue;
            };
            let waits: Vec<TaskId> = checked
                .initial_dependencies
                .iter()
                .filter_map(|on| *tasks.get(*on as usize)?)
                .collect();
            self.queue.start(*task, &waits);
        }
    }

    /// Starts the steps that waited for the plan to be complete.
    pub(in crate::run) fn start_deferred(&mut self) {
        if !self.lifecycle.accept_plan() {
            return;
        }
        for frame in self.frames.root_indices() {
            let steps = self.frames.get(frame).map_or(0, |frame| frame.tasks.len());
            self.start_steps(frame, steps);
        }
    }

    pub(in crate::run) fn extend(&mut self, plan: CheckedPlan, effects: &mut Vec<Effect>) {
        for index in self.frames.root_indices() {
            let Some(frame) = self.frames.get_mut(index) else {
                return;
            };
            let first = frame.tasks.len();
            frame.plan = plan.clone();
            // Steps of the plan itself always run: they are counted, but not refused.
            let before = self.tasks.len();
            self.add_steps(index, first);
            self.budgets.add_steps(self.tasks.len() - before);
            self.start_steps(index, first);
        }
        self.restate_labels();
        let steps = plan.steps().len();
        self.emit(effects, || RunEvent::PlanExtended { steps });
    }
}
