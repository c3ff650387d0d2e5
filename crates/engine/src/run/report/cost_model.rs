//! Expected durations of the parts of a plan, and the longest paths of its steps.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use planwright_core::check::{CheckedPlan, CheckedStep};
use planwright_core::plan::{Action, Concurrency, Step};
use planwright_core::{PlanDigest, Tool, Value};

use crate::durations::Durations;
use crate::forecast::{Job, Jobs, MAX_OPTIMIZED_JOBS, is_work_worth_optimizing, optimize_order};
use crate::schedule::{ConcurrencyLimits, UNIT, ranks};

/// A cost model of plans, from durations and limits. Times are in microseconds.
pub(crate) struct CostModel<'a> {
    durations: &'a Durations,
    limits: &'a ConcurrencyLimits,
    /// The duration of an unknown tool: a typical one, or a unit if no tool is known.
    unit: u64,
    /// The durations of inner plans by digest, so a plan used in many places is computed once.
    plans: HashMap<PlanDigest, u64>,
}

/// The longest paths of the last steps of a plan, beginning with some step.
pub(crate) struct PlanPaths {
    /// The longest path from the start of each step.
    pub(crate) ranks: Vec<u64>,
    /// The longest path from the end of each step.
    pub(crate) after: Vec<u64>,
}

impl<'a> CostModel<'a> {
    pub(crate) fn new(durations: &'a Durations, limits: &'a ConcurrencyLimits) -> Self {
        Self {
            durations,
            limits,
            unit: durations.typical().map_or(UNIT, micros),
            plans: HashMap::new(),
        }
    }

    /// The duration of one call of a tool.
    pub(crate) fn call(&self, tool: &Tool) -> u64 {
        self.durations
            .expected(&tool.server, &tool.name)
            .map_or(self.unit, micros)
    }

    /// The duration of a step's action: of one item, or one round.
    pub(crate) fn action(&mut self, step: &Step, checked: &CheckedStep) -> u64 {
        match (&step.action, &checked.tool, &checked.plan) {
            // The run computes it itself, in no time compared with a call.
            (Action::Value(_), ..) => 0,
            (_, Some(tool), _) => self.call(tool),
            (_, _, Some(plan)) => self.plan(plan),
            (_, None, None) => self.unit,
        }
    }

    /// The duration of a whole step. An unknown list counts as one item, a repetition as one round.
    fn step(&mut self, step: &Step, checked: &CheckedStep) -> u64 {
        let once = self.action(step, checked);
        let Some(for_each) = &step.for_each else {
            return once;
        };
        // The length of a list that a step makes is unknown before the run: it counts as one item.
        let items = for_each.over.as_literal().and_then(Value::as_list);
        let parallelism = self.parallelism(step, checked);
        once.saturating_mul(waves(items.map_or(1, <[Value]>::len), parallelism))
    }

    /// The maximum number of concurrent items of a step's loop.
    pub(crate) fn parallelism(&self, step: &Step, checked: &CheckedStep) -> u64 {
        let own = step
            .for_each
            .as_ref()
            .and_then(|for_each| for_each.max_parallel);
        let mut together = own.map_or(usize::MAX, |together| together.get() as usize);
        together = together.min(self.limits.total.get());
        if let Some(tool) = &checked.tool {
            let of_tool = self.limits.tools.get(&tool.qualified_name());
            let of_server = self.limits.servers.get(&tool.server);
            for limit in [
                // A limit for this tool or server replaces the general one, even if it is higher.
                of_tool.copied().or(self.limits.per_tool),
                of_server.copied().or(self.limits.per_server),
            ] {
                together = together.min(limit.map_or(usize::MAX, std::num::NonZeroUsize::get));
            }
        }
        u64::try_from(together).unwrap_or(u64::MAX)
    }

    /// The duration of a whole plan: its longest path.
    pub(crate) fn plan(&mut self, plan: &CheckedPlan) -> u64 {
        // Steps may run the same plan at each level, which would make the cost exponential in the depth.
        if let Some(known) = self.plans.get(plan.digest()) {
            return *known;
        }
        let paths = self.paths(plan, 0);
        let longest = paths.ranks.into_iter().max().unwrap_or(0);
        self.plans.insert(plan.digest().clone(), longest);
        longest
    }

    /// The longest paths of a plan's steps from `first` on.
    pub(crate) fn paths(&mut self, plan: &CheckedPlan, first: usize) -> PlanPaths {
        let times = self.times(plan, first);
        let ranks = ranks(&times, &waits(plan, first));
        PlanPaths::new(ranks, &times)
    }

    /// The paths of an order that was optimized in virtual time, if that is worth the cost: durations are known, and
    /// the limits leave a choice.
    pub(crate) fn optimized_paths(&mut self, plan: &CheckedPlan) -> PlanPaths {
        if self.durations.is_empty() || plan.steps().len() > MAX_OPTIMIZED_JOBS {
            return self.paths(plan, 0);
        }
        let times = self.times(plan, 0);
        let waits = waits(plan, 0);
        let all = || plan.plan().steps.iter().zip(plan.steps()).zip(&times);
        let work = all()
            .filter(|((step, checked), _)| called_tool(step, checked).is_some())
            // As a job, a call takes at least one microsecond.
            .fold(0_u64, |sum, (_, time)| sum.saturating_add((*time).max(1)));
        if !is_work_worth_optimizing(times.len(), work) {
            return PlanPaths::new(ranks(&times, &waits), &times);
        }
        let mut jobs = Jobs::new();
        for (((step, checked), takes), waits) in all().zip(waits) {
            let tool = called_tool(step, checked);
            let lane = tool.map(|tool| jobs.lane(&tool.server, &tool.name));
            let job = Job {
                takes: *takes,
                lane,
                is_exclusive: step.concurrency == Concurrency::Alone,
            };
            jobs.add(job, waits);
        }
        PlanPaths::new(optimize_order(&jobs, self.limits).ranks, &times)
    }

    fn times(&mut self, plan: &CheckedPlan, first: usize) -> Vec<u64> {
        let all = plan.plan().steps.iter().zip(plan.steps()).skip(first);
        let mut times = Vec::with_capacity(all.len());
        // Steps often call the same tool as the step before.
        let mut latest: Option<(&Arc<Tool>, u64)> = None;
        for (step, checked) in all {
            let tool = called_tool(step, checked);
            let known = latest
                .zip(tool)
                .filter(|((of, _), tool)| Arc::ptr_eq(of, tool));
            let time = known.map_or_else(|| self.step(step, checked), |((_, time), _)| time);
            latest = tool.map(|tool| (tool, time)).or(latest);
            times.push(time);
        }
        times
    }
}

impl PlanPaths {
    fn new(ranks: Vec<u64>, times: &[u64]) -> Self {
        let after = ranks
            .iter()
            .zip(times)
            .map(|(rank, time)| rank.saturating_sub(*time))
            .collect();
        Self { ranks, after }
    }
}

/// The tool of a step that makes one call. A loop occupies no slot, because each of its items takes one.
fn called_tool<'a>(step: &Step, checked: &'a CheckedStep) -> Option<&'a Arc<Tool>> {
    let is_call = step.for_each.is_none() && step.repeat.is_none();
    checked.tool.as_ref().filter(|_| is_call)
}

/// For each step from `first` on, the steps from `first` on that it may wait for.
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

/// The number of waves in which `count` items run if `together` run at a time.
pub(crate) fn waves(count: usize, parallelism: u64) -> u64 {
    u64::try_from(count)
        .unwrap_or(u64::MAX)
        .div_ceil(parallelism.max(1))
}

fn micros(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// The steps in topological order; in plan order on a tie.
pub(super) fn in_order(steps: &[CheckedStep]) -> Vec<usize> {
    let mut open: Vec<usize> = steps
        .iter()
        .map(|step| step.initial_dependencies.len())
        .collect();
    let mut dependents = vec![Vec::new(); steps.len()];
    for (index, step) in steps.iter().enumerate() {
        for on in &step.initial_dependencies {
            if let Some(list) = dependents.get_mut(*on as usize) {
                list.push(index);
            }
        }
    }
    // The set is sorted, so on a tie the step that comes first in the plan is taken.
    let mut ready: BTreeSet<usize> = (0..steps.len())
        .filter(|index| open.get(*index) == Some(&0))
        .collect();
    let mut order = Vec::with_capacity(steps.len());
    while let Some(index) = ready.pop_first() {
        order.push(index);
        for dependent in dependents.get(index).into_iter().flatten() {
            if let Some(count) = open.get_mut(*dependent) {
                *count -= 1;
                if *count == 0 {
                    ready.insert(*dependent);
                }
            }
        }
    }
    order
}
