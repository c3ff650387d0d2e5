//! The expected remaining time of a run, from the durations of earlier calls.

use std::time::Duration;

use indexmap::IndexMap;
use planwright_core::CheckedPlan;
use planwright_engine::ConcurrencyLimits;
use planwright_engine::Durations;
use planwright_engine::run::{StepTime, step_times};

use super::{ActiveStep, EndedStep, RunView};

/// The expected remaining time of a run. It is an estimate: a list that is not known before the run counts as one item until its step has
/// started, repetitions count as one round, and the time of questions to people is not included.
#[derive(Clone, Debug)]
pub struct TimeLeft {
    /// The times of the steps that have not ended, by id.
    steps: IndexMap<String, StepTime>,
    /// The maximum number of concurrent calls.
    parallelism: u32,
}

impl TimeLeft {
    /// The remaining time of a run of `plan` that has not started; `None` if it cannot be estimated, because the duration of a tool is
    /// not known or the plan runs for several instances.
    pub fn new(
        plan: &CheckedPlan,
        durations: &Durations,
        limits: &ConcurrencyLimits,
    ) -> Option<Self> {
        if !plan.plan().instances.is_empty() {
            return None;
        }
        let ids = plan.plan().steps.iter().map(|step| step.id.to_string());
        Some(Self {
            steps: ids.zip(step_times(plan, durations, limits)?).collect(),
            parallelism: u32::try_from(limits.total.get()).unwrap_or(u32::MAX),
        })
    }

    /// Applies the end of a step.
    pub fn step_ended(&mut self, ended: &EndedStep) {
        if ended.at.inside.is_none() {
            // The search for the place is cheap compared with the duration of a step.
            self.steps.swap_remove(ended.at.step.as_str());
        }
    }

    /// Returns the remaining time of the run that `view` shows. `now` counts from the run's start.
    pub fn expected(&self, view: &RunView, now: Duration) -> Duration {
        let (mut longest, mut work) = (Duration::ZERO, Duration::ZERO);
        for (id, step) in &self.steps {
            let active = view.active.get(id);
            let own = active.map_or_else(
                || step.of_items(step.items),
                |active| rest(step, active, now),
            );
            longest = longest.max(own.saturating_add(step.after));
            let calls = match active.and_then(|active| Some((active, active.items?))) {
                Some((active, items)) => {
                    let left = items.saturating_sub(active.items_ended);
                    step.once
                        .saturating_mul(u32::try_from(left).unwrap_or(u32::MAX))
                }
                None => own,
            };
            work = work.saturating_add(calls);
        }
        longest.max(work / self.parallelism.max(1))
    }
}

/// The remaining time of a step in progress.
fn rest(step: &StepTime, active: &ActiveStep, now: Duration) -> Duration {
    match active.items {
        Some(items) => step.of_items(items.saturating_sub(active.items_ended)),
        None => step.once.saturating_sub(now.saturating_sub(active.started)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use planwright_core::check::{CheckContext, check};
    use planwright_core::{Catalog, StepId, Tool};
    use planwright_dialects::{ReadOptions, parse};
    use planwright_engine::durations::LearnedDuration;
    use planwright_engine::event::Address;
    use planwright_engine::{RunEvent, StampedEvent, StepStatus};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn plan() -> CheckedPlan {
        let text = r#"{"steps": [
            {"id": "a", "tool": "slow"},
            {"id": "each", "tool": "quick", "for_each": "${a}", "max_parallel": 2, "args": {"n": "${item}"}},
            {"id": "other", "tool": "quick"},
            {"id": "last", "tool": "slow", "after": ["each", "other"]}
        ]}"#;
        let catalog: Catalog = ["slow", "quick"]
            .map(|name| Tool::new("s", name))
            .into_iter()
            .collect();
        let parsed = parse(text.as_bytes(), &ReadOptions::new("plan"));
        let (checked, found) = check(parsed.plan.unwrap(), &CheckContext::new(&catalog));
        checked.unwrap_or_else(|| panic!("{found:?}"))
    }

    fn durations(tools: &[(&str, u64)]) -> Durations {
        let mut durations = Durations::new();
        for (tool, seconds) in tools {
            let learned = LearnedDuration::exactly(Duration::from_secs(*seconds));
            durations.insert(&"s".into(), &Arc::from(*tool), learned);
        }
        durations
    }

    fn started(step: &str, items: Option<u64>) -> RunEvent {
        let at = Arc::new(Address::of_step(StepId::new(step)));
        RunEvent::StepStarted {
            at,
            tool: None,
            items,
        }
    }

    fn ended(at: Address) -> RunEvent {
        RunEvent::StepEnded {
            at: Arc::new(at),
            tool: None,
            status: StepStatus::Succeeded,
            output: None,
            error: None,
            reason: None,
            attempts: 1,
        }
    }

    #[test]
    fn the_time_left_follows_the_run() {
        let plan = plan();
        let limits = ConcurrencyLimits::default();
        assert!(TimeLeft::new(&plan, &durations(&[("slow", 10)]), &limits).is_none());
        let known = durations(&[("slow", 10), ("quick", 2)]);
        let mut left = TimeLeft::new(&plan, &known, &limits).unwrap();
        let mut view = RunView::new(&plan);
        let mut apply = |at: u64, event, left: &mut TimeLeft| {
            let at = Duration::from_secs(at);
            if let Some(ended) = view.event(&StampedEvent { at, event }) {
                left.step_ended(&ended);
            }
            left.expected(&view, at)
        };
        // `a`, one item, `last`.
        assert_eq!(apply(0, started("a", None), &mut left), 22 * SECOND);
        assert_eq!(apply(4, started("other", None), &mut left), 18 * SECOND);
        let whole = |step| Address::of_step(StepId::new(step));
        assert_eq!(apply(9, ended(whole("a")), &mut left), 12 * SECOND);
        // Three waves of two items.
        assert_eq!(apply(9, started("each", Some(5)), &mut left), 16 * SECOND);
        let item = Address {
            item: Some(0),
            ..whole("each")
        };
        assert_eq!(apply(11, ended(item), &mut left), 14 * SECOND);
        assert_eq!(apply(15, ended(whole("each")), &mut left), 10 * SECOND);
        assert_eq!(apply(15, ended(whole("other")), &mut left), 10 * SECOND);
        assert_eq!(apply(15, started("last", None), &mut left), 10 * SECOND);
        // It takes longer than before.
        assert_eq!(apply(40, RunEvent::RunDraining, &mut left), Duration::ZERO);
        assert_eq!(apply(40, ended(whole("last")), &mut left), Duration::ZERO);
    }
}
