//! Jobs that wait for each other, with their durations, and the scheduler in virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use crate::schedule::{
    AttemptEnd, CallTerms, ConcurrencyLimits, LaneId, Prepared, Scheduler, SchedulerCommand,
    SchedulerEvent, TaskId,
};
use planwright_core::ServerName;
use planwright_core::plan::RetryPolicy;

/// The position of a job.
pub type JobId = u32;

/// A job. Times are in microseconds, as the scheduler's ranks are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// The duration.
    pub takes: u64,
    /// The [lane](Jobs::lane) that it needs a slot of. A job without one needs none: it is a barrier for others.
    pub lane: Option<u32>,
    /// True if no other job may run at the same time.
    pub is_exclusive: bool,
}

/// Jobs that wait for each other.
#[derive(Clone, Debug, Default)]
pub struct Jobs {
    all: Vec<Job>,
    waits: Vec<Vec<JobId>>,
    lanes: Vec<(ServerName, Arc<str>)>,
}

impl Jobs {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The lane for calls of `tool` at `server`. Limits refer to these names.
    pub fn lane(&mut self, server: &ServerName, tool: &Arc<str>) -> u32 {
        let known = self
            .lanes
            .iter()
            .position(|(of, name)| of == server && name == tool);
        let index = known.unwrap_or_else(|| {
            self.lanes.push((server.clone(), Arc::clone(tool)));
            self.lanes.len() - 1
        });
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    /// Adds a job that waits for others, which may be added later. Jobs on a cycle never start.
    pub fn add(&mut self, job: Job, waits: Vec<JobId>) -> JobId {
        let id = self.next_id();
        self.all.push(job);
        self.waits.push(waits);
        id
    }

    /// The position of the next job.
    pub fn next_id(&self) -> JobId {
        JobId::try_from(self.all.len()).unwrap_or(JobId::MAX)
    }

    /// The number of jobs.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns true if there are no jobs.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The jobs, by position.
    pub fn jobs(&self) -> &[Job] {
        &self.all
    }

    /// The jobs that each job waits for.
    pub fn waits(&self) -> &[Vec<JobId>] {
        &self.waits
    }

    /// The server and the tool of each lane.
    pub fn lanes(&self) -> &[(ServerName, Arc<str>)] {
        &self.lanes
    }

    /// The duration of each job.
    pub fn times(&self) -> Vec<u64> {
        self.all.iter().map(Job::time).collect()
    }

    /// The same jobs with each duration mapped by `change`.
    pub fn with_times(&self, mut change: impl FnMut(u64) -> u64) -> Self {
        let mut changed = self.clone();
        for job in &mut changed.all {
            job.takes = change(job.takes);
        }
        changed
    }

    /// The same jobs with reversed dependencies.
    pub fn reversed(&self) -> Self {
        Self {
            waits: self.dependents(),
            ..self.clone()
        }
    }

    /// Returns the same jobs level by level: no job starts before all jobs of the previous level have ended. One barrier job is appended
    /// for each level.
    pub fn with_barriers(&self) -> Self {
        // With equal weights, the longest path to a job is its level.
        let levels = crate::schedule::ranks(&vec![1; self.len()], &self.dependents());
        let mut by_level: Vec<Vec<JobId>> = Vec::new();
        for (id, level) in (0..self.next_id()).zip(&levels) {
            let index = usize::try_from(level.saturating_sub(1)).unwrap_or(usize::MAX);
            if by_level.len() <= index {
                by_level.resize(index + 1, Vec::new());
            }
            if let Some(jobs) = by_level.get_mut(index) {
                jobs.push(id);
            }
        }
        let mut jobs = Self {
            waits: vec![Vec::new(); self.len()],
            ..self.clone()
        };
        let mut gate = None;
        for level in by_level {
            for id in &level {
                if let Some(waits) = jobs.waits.get_mut(*id as usize) {
                    waits.extend(gate);
                }
            }
            gate = Some(jobs.add(Job::default(), level));
        }
        jobs
    }

    /// The jobs that wait for each job.
    fn dependents(&self) -> Vec<Vec<JobId>> {
        let mut dependents = vec![Vec::new(); self.len()];
        for (id, waits) in (0..).zip(&self.waits) {
            for on in waits {
                if let Some(list) = dependents.get_mut(*on as usize) {
                    list.push(id);
                }
            }
        }
        dependents
    }
}

impl Job {
    /// The duration, at least one microsecond for a call, so two calls never start and end at the same time.
    pub(super) fn time(&self) -> u64 {
        match self.lane {
            Some(_) => self.takes.max(1),
            None => self.takes,
        }
    }
}

/// The order in which ready jobs start.
#[derive(Clone, Copy, Debug)]
pub enum StartOrder<'a> {
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
pub fn simulate(jobs: &Jobs, limits: &ConcurrencyLimits, order: StartOrder<'_>) -> Timeline {
    let mut simulation = Simulation::new(jobs, limits, order);
    simulation.run();
    simulation.timeline
}

struct Simulation<'a> {
    jobs: &'a Jobs,
    order: StartOrder<'a>,
    scheduler: Scheduler,
    lanes: Vec<LaneId>,
    now: u64,
    in_flight: BinaryHeap<Reverse<(u64, TaskId)>>,
    queue: VecDeque<SchedulerCommand>,
    scratch: Vec<SchedulerCommand>,
    timeline: Timeline,
}

impl<'a> Simulation<'a> {
    fn new(jobs: &'a Jobs, limits: &ConcurrencyLimits, order: StartOrder<'a>) -> Self {
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
                StartOrder::Ranked(ranks) => ranks.get(id).copied().unwrap_or(0),
                StartOrder::FirstCome => 0,
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
            // All jobs that end at this time release their slots before any job starts.
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
                    SchedulerCommand::Close(task) => self.notify(SchedulerEvent::Closed(task)),
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
                if matches!(self.order, StartOrder::FirstCome) {
                    // The earlier a job becomes ready, the higher it ranks.
                    self.scheduler.rank_as(task, u64::MAX - self.now);
                }
                Prepared::Call(CallTerms {
                    lane,
                    is_exclusive: job.is_exclusive,
                    approval: false,
                    retry: RetryPolicy::default(),
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
        self.notify(SchedulerEvent::Prepared(task, prepared));
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
            SchedulerEvent::AttemptEnded {
                task,
                attempt: 1,
                end,
            }
        } else {
            SchedulerEvent::Sealed(task)
        };
        self.notify(event);
    }

    fn notify(&mut self, event: SchedulerEvent) {
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
