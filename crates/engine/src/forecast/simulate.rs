//! The scheduler in virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use super::jobs::{JobId, Jobs};
use crate::schedule::{
    AttemptEnd, CallTerms, ConcurrencyLimits, Event, LaneId, Prepared, Scheduler, SchedulerCommand,
    TaskId,
};

/// The order in which ready jobs start.
#[derive(Clone, Copy, Debug)]
pub enum Order<'a> {
    /// The highest rank first; the job added first on a tie.
    Ranked(&'a [u64]),
    /// The job that became ready first; the job added first on a tie.
    FirstCome,
}

/// The start and the end of each job, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The start of each job, by position.
    pub starts: Vec<u64>,
    /// The end of each job, by position.
    pub ends: Vec<u64>,
    /// The end of the last job.
    pub makespan: u64,
}

/// Runs `jobs` under `limits` in virtual time. Takes `O((jobs + waits) log jobs)`.
pub fn simulate(jobs: &Jobs, limits: &ConcurrencyLimits, order: Order<'_>) -> Timeline {
    let mut simulation = Simulation::new(jobs, limits, order);
    simulation.run();
    simulation.timeline
}

struct Simulation<'a> {
    jobs: &'a Jobs,
    order: Order<'a>,
    scheduler: Scheduler,
    lanes: Vec<LaneId>,
    now: u64,
    in_flight: BinaryHeap<Reverse<(u64, TaskId)>>,
    queue: VecDeque<SchedulerCommand>,
    scratch: Vec<SchedulerCommand>,
    timeline: Timeline,
}

impl<'a> Simulation<'a> {
    fn new(jobs: &'a Jobs, limits: &ConcurrencyLimits, order: Order<'a>) -> Self {
        let mut scheduler = Scheduler::new(limits.clone());
        let lanes = jobs
            .lanes()
            .iter()
            .map(|(server, tool)| scheduler.lane(server, tool))
            .collect();
        Self {
            jobs,
            order,
            scheduler,
            lanes,
            now: 0,
            in_flight: BinaryHeap::new(),
            queue: VecDeque::new(),
            scratch: Vec::new(),
            timeline: Timeline {
                starts: vec![0; jobs.len()],
                ends: vec![0; jobs.len()],
                makespan: 0,
            },
        }
    }

    fn run(&mut self) {
        for id in 0..self.jobs.len() {
            let rank = match self.order {
                Order::Ranked(ranks) => ranks.get(id).copied().unwrap_or(0),
                Order::FirstCome => 0,
            };
            self.scheduler.add(None, rank);
        }
        let mut on = Vec::new();
        // All jobs have been added, so waits may refer to later ones.
        for (id, waits) in (0..).zip(self.jobs.waits()) {
            on.clear();
            on.extend(waits.iter().copied().map(TaskId));
            self.scheduler.start(TaskId(id), &on, &mut self.scratch);
            self.queue.extend(self.scratch.drain(..));
        }
        self.execute_commands();
        while let Some(Reverse((at, _))) = self.in_flight.peek().copied() {
            self.now = at;
            // All jobs that end at this time release their slots before anything starts.
            while let Some(Reverse((end, task))) = self.in_flight.peek().copied()
                && end == at
            {
                self.in_flight.pop();
                self.end(task);
            }
            self.execute_commands();
        }
        self.timeline.makespan = self.timeline.ends.iter().copied().max().unwrap_or(0);
    }

    /// Executes commands and starts ready jobs until nothing is left to do at the current time.
    fn execute_commands(&mut self) {
        loop {
            while let Some(command) = self.queue.pop_front() {
                match command {
                    SchedulerCommand::Prepare(task) => self.prepare(task),
                    SchedulerCommand::Call { task, .. } => self.begin(task),
                    SchedulerCommand::Close(task) => self.notify(Event::Closed(task)),
                    SchedulerCommand::Settled(task, _) => {
                        if let Some(end) = self.timeline.ends.get_mut(task.0 as usize) {
                            *end = self.now;
                        }
                    }
                    // Jobs need no approval and do not fail, and their groups have no children.
                    SchedulerCommand::Ask(_)
                    | SchedulerCommand::Abort { .. }
                    | SchedulerCommand::RetryLater { .. }
                    | SchedulerCommand::SetTimer { .. }
                    | SchedulerCommand::ClearTimer(..)
                    | SchedulerCommand::ChildSettled { .. } => {}
                }
            }
            self.scheduler.start_ready(&mut self.scratch);
            self.queue.extend(self.scratch.drain(..));
            if self.queue.is_empty() {
                return;
            }
        }
    }

    fn prepare(&mut self, task: TaskId) {
        let Some(job) = self.jobs.jobs().get(task.0 as usize) else {
            return;
        };
        let lane = job
            .lane
            .and_then(|lane| self.lanes.get(lane as usize).copied());
        let prepared = match lane {
            Some(lane) => {
                if matches!(self.order, Order::FirstCome) {
                    // The earlier a job becomes ready, the higher it ranks.
                    self.scheduler.rank_as(task, u64::MAX - self.now);
                }
                Prepared::Call(CallTerms {
                    lane,
                    alone: job.alone,
                    approval: false,
                    attempts: 1,
                    retry_pause: Duration::ZERO,
                    attempt_timeout: None,
                    step_timeout: None,
                    retry_uncertain: false,
                })
            }
            // A barrier needs no event of its own.
            None if job.takes == 0 => {
                self.set_start(task);
                Prepared::Done
            }
            None => {
                self.begin(task);
                // A group without children takes no slot.
                Prepared::Group(None)
            }
        };
        self.notify(Event::Prepared(task, prepared));
    }

    fn begin(&mut self, task: TaskId) {
        self.set_start(task);
        if let Some(job) = self.jobs.jobs().get(task.0 as usize) {
            let end = self.now.saturating_add(job.time());
            self.in_flight.push(Reverse((end, task)));
        }
    }

    fn set_start(&mut self, task: TaskId) {
        if let Some(start) = self.timeline.starts.get_mut(task.0 as usize) {
            *start = self.now;
        }
    }

    fn end(&mut self, task: TaskId) {
        let has_lane = |job: &super::Job| job.lane.is_some();
        let event = if self.jobs.jobs().get(task.0 as usize).is_some_and(has_lane) {
            let end = AttemptEnd::Final;
            Event::AttemptEnded {
                task,
                attempt: 1,
                end,
            }
        } else {
            Event::Sealed(task)
        };
        self.notify(event);
    }

    fn notify(&mut self, event: Event) {
        self.scheduler.handle(event, &mut self.scratch);
        self.queue.extend(self.scratch.drain(..));
    }
}

impl Timeline {
    /// Ranks that reproduce the timeline: the time from the start of each job to the end of all.
    pub fn as_ranks(&self) -> Vec<u64> {
        self.starts
            .iter()
            .map(|start| self.makespan.saturating_sub(*start))
            .collect()
    }

    /// The end of a job.
    pub fn end(&self, job: JobId) -> u64 {
        self.ends.get(job as usize).copied().unwrap_or(0)
    }
}
