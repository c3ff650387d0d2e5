//! How plans become tasks: when a run begins, when a step runs another plan, when further steps come.

use std::sync::Arc;

use planwright_core::Object;
use planwright_core::check::CheckedPlan;

use super::effect::Effect;
use super::frame::Frame;
use super::pace::{Pace, Paths};
use super::slots::Slots;
use super::state::Run;
use super::work::{Layer, Work};
use crate::event::{Address, RunEvent};
use crate::schedule::TaskId;

impl Run {
    pub(super) fn open_roots(&mut self, plan: CheckedPlan) {
        let instances = plan.plan().instances.clone();
        if instances.is_empty() {
            self.open_frame(plan, None, None, &Object::default(), None);
        } else {
            for instance in instances {
                let shared = Some(Arc::clone(&self.shared));
                self.open_frame(
                    plan.clone(),
                    None,
                    Some(instance),
                    &Object::default(),
                    shared,
                );
            }
        }
        self.roots = self.frames.len();
    }

    /// Adds a plan's steps as tasks, without starting them.
    pub(super) fn open_frame(
        &mut self,
        plan: CheckedPlan,
        owner: Option<TaskId>,
        instance: Option<Arc<str>>,
        given: &Object,
        shared: Option<Arc<Slots>>,
    ) -> usize {
        let frame = self.frames.len();
        self.frames
            .push(Frame::new(plan, owner, instance, given, shared));
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
        // What comes behind the step that runs this plan comes behind each of its steps as well.
        let base = owner
            .and_then(|owner| self.work(owner))
            .map_or(0, |owner| owner.behind);
        let paths = self.paths_of(&plan, owner, first);
        let at = |list: &[u64], offset: usize| {
            let own = list.get(offset - first).copied().unwrap_or(0);
            own.saturating_add(base)
        };
        let more = plan.plan().steps.len().saturating_sub(first);
        self.work.reserve(more);
        self.calls.reserve(more);
        for (offset, step) in plan.plan().steps.iter().enumerate().skip(first) {
            let mut task = None;
            if step.instance.is_none() || step.instance == instance {
                let id = self.scheduler.add(owner, at(&paths.ranks, offset));
                let address = Arc::new(Address {
                    inside: owner.and_then(|owner| self.address(owner)),
                    instance: instance.clone(),
                    step: step.id.clone(),
                    item: None,
                    round: None,
                });
                let index = u32::try_from(offset).unwrap_or(u32::MAX);
                let mut work = Work::new(frame_index, index, Layer::Step, address);
                work.behind = at(&paths.behind, offset);
                self.work.push(work);
                if let Some(owner) = owner.and_then(|owner| self.work_mut(owner)) {
                    owner.parts.push(id);
                }
                task = Some(id);
            }
            if let Some(frame) = self.frames.get_mut(frame_index) {
                frame.tasks.push(task);
                frame.outcomes.push(None);
            }
        }
    }

    /// The longest remaining paths of the steps from `first` on, as far as durations are known now. The run's own plan is
    /// looked ahead for; what comes later (inner plans, further steps) must fit in with what is under way.
    fn paths_of(&self, plan: &CheckedPlan, owner: Option<TaskId>, first: usize) -> Paths {
        let mut pace = Pace::new(&self.options.durations, &self.options.limits);
        let is_whole = first == 0 && owner.is_none() && plan.plan().instances.is_empty();
        if is_whole {
            pace.foreseen(plan)
        } else {
            pace.paths(plan, first)
        }
    }

    /// Lets the steps of a frame from `first` on wait for each other.
    pub(super) fn start_steps(&mut self, frame_index: usize, first: usize) {
        let Some(frame) = self.frames.get(frame_index) else {
            return;
        };
        let plan = frame.plan.clone();
        let tasks = frame.tasks.clone();
        let steps = frame.held.iter().copied().chain(first..tasks.len());
        // An inner plan has begun because its step may.
        let is_open =
            |step: &usize| !self.tentative || frame.owner.is_some() || plan.may_start_early(*step);
        let (open, held): (Vec<usize>, Vec<usize>) = steps.partition(is_open);
        if let Some(frame) = self.frames.get_mut(frame_index) {
            frame.held = held;
        }
        for step in open {
            let (Some(checked), Some(Some(task))) = (plan.steps().get(step), tasks.get(step))
            else {
                continue;
            };
            let waits: Vec<TaskId> = checked
                .first_waits
                .iter()
                .filter_map(|on| *tasks.get(*on as usize)?)
                .collect();
            self.start_task(*task, &waits);
        }
    }

    /// Starts what had to wait until the plan is whole.
    pub(super) fn start_held(&mut self) {
        if !std::mem::take(&mut self.tentative) {
            return;
        }
        for frame in 0..self.roots {
            let steps = self.frames.get(frame).map_or(0, |frame| frame.tasks.len());
            self.start_steps(frame, steps);
        }
    }

    pub(super) fn extend(&mut self, plan: CheckedPlan, effects: &mut Vec<Effect>) {
        for index in 0..self.roots {
            let Some(frame) = self.frames.get_mut(index) else {
                return;
            };
            let first = frame.tasks.len();
            frame.plan = plan.clone();
            let before = self.work.len();
            self.add_steps(index, first);
            self.promised += self.work.len() - before;
            self.start_steps(index, first);
        }
        let steps = plan.steps().len();
        self.emit(effects, || RunEvent::PlanExtended { steps });
    }
}
