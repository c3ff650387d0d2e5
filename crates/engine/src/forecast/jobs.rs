//! Jobs that wait for each other, each with the time that it takes.

use std::sync::Arc;

/// The position of a job.
pub type JobId = u32;

/// One job. Times are in microseconds, as the scheduler's ranks are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// How long it takes.
    pub takes: u64,
    /// Which of the [lanes](Jobs::lane) it needs a place in. A job without one needs none: a gate that others meet at.
    pub lane: Option<u32>,
    /// Whether nothing else may be under way meanwhile.
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
    /// No jobs.
    pub fn new() -> Self {
        Self::default()
    }

    /// The lane of calls of `tool` at `server`; limits go by these names.
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

    /// Adds a job that waits for others, which may be added later. Jobs that wait for each other in a circle never start.
    pub fn add(&mut self, job: Job, waits: Vec<JobId>) -> JobId {
        let id = self.next_id();
        self.all.push(job);
        self.waits.push(waits);
        id
    }

    /// The position that the next job will get.
    pub fn next_id(&self) -> JobId {
        JobId::try_from(self.all.len()).unwrap_or(JobId::MAX)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The jobs, by position.
    pub fn jobs(&self) -> &[Job] {
        &self.all
    }

    /// For each job those that it waits for.
    pub fn waits(&self) -> &[Vec<JobId>] {
        &self.waits
    }

    /// Server and tool of each lane.
    pub fn lanes(&self) -> &[(Arc<str>, Arc<str>)] {
        &self.lanes
    }

    /// How long each job takes.
    pub fn times(&self) -> Vec<u64> {
        self.all.iter().map(Job::time).collect()
    }

    /// The same jobs, of which each takes as long as `change` says.
    pub fn with_times(&self, mut change: impl FnMut(u64) -> u64) -> Self {
        let mut changed = self.clone();
        for job in &mut changed.all {
            job.takes = change(job.takes);
        }
        changed
    }

    /// The same jobs backwards: each waits for those that waited for it.
    pub fn reversed(&self) -> Self {
        Self {
            waits: self.dependents(),
            ..self.clone()
        }
    }

    /// The same jobs level by level: none starts before all of the level above have ended. Behind the jobs stands a gate
    /// for each level.
    pub fn with_barriers(&self) -> Self {
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

    /// For each job those that wait for it.
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
    /// No call is quicker than a microsecond, so that of two at the same time it is plain which comes first.
    pub(super) fn time(&self) -> u64 {
        match self.lane {
            Some(_) => self.takes.max(1),
            None => self.takes,
        }
    }
}
