//! Jobs that wait for each other, with their durations.

use std::sync::Arc;

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
    pub alone: bool,
}

/// Jobs that wait for each other.
#[derive(Clone, Debug, Default)]
pub struct Jobs {
    all: Vec<Job>,
    waits: Vec<Vec<JobId>>,
    lanes: Vec<(Arc<str>, Arc<str>)>,
}

impl Jobs {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The lane for calls of `tool` at `server`. Limits refer to these names.
    pub fn lane(&mut self, server: &Arc<str>, tool: &Arc<str>) -> u32 {
        let known = self
            .lanes
            .iter()
            .position(|(of, name)| of == server && name == tool);
        let index = known.unwrap_or_else(|| {
            self.lanes.push((Arc::clone(server), Arc::clone(tool)));
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
    pub fn lanes(&self) -> &[(Arc<str>, Arc<str>)] {
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

    /// The same jobs level by level: none starts before all jobs of the level above have ended. One barrier job for
    /// each level is appended.
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
    pub(super) fn dependents(&self) -> Vec<Vec<JobId>> {
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
