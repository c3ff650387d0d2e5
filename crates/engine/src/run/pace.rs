//! How long the parts of a plan are expected to take, and so which of its steps has the longest way before it.

use std::collections::HashMap;

use planwright_core::check::{CheckedPlan, CheckedStep};
use planwright_core::plan::{Action, Company, Step};
use planwright_core::{Tool, Value};

use crate::durations::Durations;
use crate::forecast::{FORESEEN_JOBS, Job, Jobs, foresee, is_foreseen};
use crate::schedule::{Limits, UNIT, ranks};

/// What durations say about plans. Times are in microseconds.
pub(crate) struct Pace<'a> {
    durations: &'a Durations,
    limits: &'a Limits,
    /// What a tool takes of which nothing is known: as long as a typical one; a unit where nothing is known at all.
    unit: u64,
    /// Inner plans by their digest, so that one that is run in many places is looked at once.
    plans: HashMap<String, u64>,
}

/// The steps of a plan as the scheduler sees them, from some step on.
pub(crate) struct Paths {
    /// The longest path from the start of each.
    pub(crate) ranks: Vec<u64>,
    /// The longest path behind the end of each.
    pub(crate) behind: Vec<u64>,
}

impl<'a> Pace<'a> {
    pub(crate) fn new(durations: &'a Durations, limits: &'a Limits) -> Self {
        Self {
            durations,
            limits,
            unit: durations.typical().map_or(UNIT, micros),
            plans: HashMap::new(),
        }
    }

    /// One call of a tool.
    pub(crate) fn call(&self, tool: &Tool) -> u64 {
        self.durations
            .expected(&tool.server, &tool.name)
            .map_or(self.unit, micros)
    }

    /// What a step does, once: one item, one round.
    pub(crate) fn action(&mut self, step: &Step, checked: &CheckedStep) -> u64 {
        match (&step.action, &checked.tool, &checked.plan) {
            (Action::Value(_), ..) => 0,
            (_, Some(tool), _) => self.call(tool),
            (_, _, Some(plan)) => self.plan(plan),
            (_, None, None) => self.unit,
        }
    }

    /// A step as a whole. Of a list that is not known yet one item is expected, of a repetition one round.
    fn step(&mut self, step: &Step, checked: &CheckedStep) -> u64 {
        let once = self.action(step, checked);
        let Some(for_each) = &step.for_each else {
            return once;
        };
        let items = for_each.over.as_literal().and_then(Value::as_list);
        let together = self.together(step, checked);
        once.saturating_mul(waves(items.map_or(1, <[Value]>::len), together))
    }

    /// How many items of a step's loop may be under way together.
    pub(crate) fn together(&self, step: &Step, checked: &CheckedStep) -> u64 {
        let own = step
            .for_each
            .as_ref()
            .and_then(|for_each| for_each.max_parallel);
        let mut most = own.map_or(usize::MAX, |most| most.get() as usize);
        most = most.min(self.limits.total.get());
        if let Some(tool) = &checked.tool {
            let of_tool = self.limits.tools.get(tool.qualified_name().as_str());
            let of_server = self.limits.servers.get(&tool.server);
            for limit in [
                of_tool.copied().or(self.limits.per_tool),
                of_server.copied().or(self.limits.per_server),
            ] {
                most = most.min(limit.map_or(usize::MAX, std::num::NonZeroUsize::get));
            }
        }
        u64::try_from(most).unwrap_or(u64::MAX)
    }

    /// A plan as a whole: its longest path.
    pub(crate) fn plan(&mut self, plan: &CheckedPlan) -> u64 {
        if let Some(known) = self.plans.get(plan.digest()) {
            return *known;
        }
        let paths = self.paths(plan, 0);
        let longest = paths.ranks.into_iter().max().unwrap_or(0);
        self.plans.insert(plan.digest().to_owned(), longest);
        longest
    }

    /// The longest paths of a plan's steps from `first` on.
    pub(crate) fn paths(&mut self, plan: &CheckedPlan, first: usize) -> Paths {
        let times = self.times(plan, first);
        let ranks = ranks(&times, &waits(plan, first));
        Paths::of(ranks, &times)
    }

    /// The same, by an order that was tried in virtual time where that is worth the effort: where durations are known,
    /// and the limits leave a choice.
    pub(crate) fn foreseen(&mut self, plan: &CheckedPlan) -> Paths {
        if self.durations.is_empty() || plan.steps().len() > FORESEEN_JOBS {
            return self.paths(plan, 0);
        }
        let times = self.times(plan, 0);
        let mut jobs = Jobs::new();
        let all = plan.plan().steps.iter().zip(plan.steps());
        for (((step, checked), takes), waits) in all.zip(&times).zip(waits(plan, 0)) {
            let is_call = step.for_each.is_none() && step.repeat.is_none();
            let tool = checked.tool.as_ref().filter(|_| is_call);
            let lane = tool.map(|tool| jobs.lane(&tool.server, &tool.name));
            let job = Job {
                takes: *takes,
                lane,
                alone: step.company == Company::Alone,
            };
            jobs.add(job, waits);
        }
        if !is_foreseen(&jobs) {
            return self.paths(plan, 0);
        }
        Paths::of(foresee(&jobs, self.limits).ranks, &times)
    }

    fn times(&mut self, plan: &CheckedPlan, first: usize) -> Vec<u64> {
        let all = plan.plan().steps.iter().zip(plan.steps());
        all.skip(first)
            .map(|(step, checked)| self.step(step, checked))
            .collect()
    }
}

impl Paths {
    fn of(ranks: Vec<u64>, times: &[u64]) -> Self {
        let behind = ranks
            .iter()
            .zip(times)
            .map(|(rank, time)| rank.saturating_sub(*time))
            .collect();
        Self { ranks, behind }
    }
}

/// For each step from `first` on those from `first` on that it may wait for.
fn waits(plan: &CheckedPlan, first: usize) -> Vec<Vec<u32>> {
    let steps = plan.steps().get(first..).unwrap_or_default();
    steps
        .iter()
        .map(|step| {
            step.dependencies
                .iter()
                .filter_map(|dependency| {
                    let on = (dependency.on as usize).checked_sub(first)?;
                    u32::try_from(on).ok()
                })
                .collect()
        })
        .collect()
}

/// How often a place is taken when `count` items share `together` places.
pub(crate) fn waves(count: usize, together: u64) -> u64 {
    u64::try_from(count)
        .unwrap_or(u64::MAX)
        .div_ceil(together.max(1))
}

fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
