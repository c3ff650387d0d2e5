//! The scheduler in virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use super::jobs::{JobId, Jobs};
use crate::schedule::{
    AttemptEnd, CallTerms, Command, Event, LaneId, Limits, Prepared, Scheduler, TaskId,
};

/// Which of several jobs that may start does.
#[derive(Clone, Copy, Debug)]
pub enum Order<'a> {
    /// The one with the highest rank; of equal ones the one that was written first.
    Ranked(&'a [u64]),
    /// The one that could have started first; of those the one that was written first.
    FirstCome,
}

/// When each job starts and ends, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// When each job starts, by position.
    pub starts: Vec<u64>,
    /// When each job ends, by position.
    pub ends: Vec<u64>,
    /// When the last one ends.
    pub makespan: u64,
}

/// Runs `jobs` under `limits` in virtual time. Costs `O((jobs + waits) log jobs)`.
pub fn simulate(jobs: &Jobs, limits: &Limits, order: Order<'_>) -> Timeline {
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
    under_way: BinaryHeap<Reverse<(u64, TaskId)>>,
    queue: VecDeque<Command>,
    scratch: Vec<Command>,
    timeline: Timeline,
}

impl<'a> Simulation<'a> {
    fn new(jobs: &'a Jobs, limits: &Limits, order: Order<'a>) -> Self {
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
            under_way: BinaryHeap::new(),
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
        for (id, waits) in (0..).zip(self.jobs.waits()) {
            on.clear();
            on.extend(waits.iter().copied().map(TaskId));
            self.scheduler.start(TaskId(id), &on, &mut self.scratch);
            self.queue.extend(self.scratch.drain(..));
        }
        self.carry_out();
        while let Some(Reverse((at, _))) = self.under_way.peek().copied() {
            self.now = at;
            while let Some(Reverse((end, task))) = self.under_way.peek().copied()
                && end == at
            {
                self.under_way.pop();
                self.end(task);
            }
            self.carry_out();
        }
        self.timeline.makespan = self.timeline.ends.iter().copied().max().unwrap_or(0);
    }

    /// Carries out what is wanted, then starts whatever may start, until nothing is left to do at this time.
    fn carry_out(&mut self) {
        loop {
            while let Some(command) = self.queue.pop_front() {
                match command {
                    Command::Prepare(task) => self.prepare(task),
                    Command::Call { task, .. } => self.begin(task),
                    Command::Close(task) => self.tell(Event::Closed(task)),
                    Command::Settled(task, _) => {
                        if let Some(end) = self.timeline.ends.get_mut(task.0 as usize) {
                            *end = self.now;
                        }
                    }
                    _ => {}
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
            None if job.takes == 0 => {
                self.set_start(task);
                Prepared::Done
            }
            None => {
                self.begin(task);
                Prepared::Group(None)
            }
        };
        self.tell(Event::Prepared(task, prepared));
    }

    fn begin(&mut self, task: TaskId) {
        self.set_start(task);
        if let Some(job) = self.jobs.jobs().get(task.0 as usize) {
            let end = self.now.saturating_add(job.time());
            self.under_way.push(Reverse((end, task)));
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
        self.tell(event);
    }

    fn tell(&mut self, event: Event) {
        self.scheduler.handle(event, &mut self.scratch);
        self.queue.extend(self.scratch.drain(..));
    }
}

impl Timeline {
    /// Ranks by which the same timeline comes about again: how long before the end of all a job starts.
    pub fn as_ranks(&self) -> Vec<u64> {
        self.starts
            .iter()
            .map(|start| self.makespan.saturating_sub(*start))
            .collect()
    }

    /// When a job ends.
    pub fn end(&self, job: JobId) -> u64 {
        self.ends.get(job as usize).copied().unwrap_or(0)
    }
}
