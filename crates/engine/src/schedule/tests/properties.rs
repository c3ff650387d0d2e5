//! Properties of the scheduler for any graph, any order of completion and any limit.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroUsize;
use std::sync::Arc;

use planwright_core::plan::RetryPolicy;
use proptest::prelude::*;

use crate::schedule::*;

/// Drives a scheduler over a graph of calls, each of a tool, ending in the order that `choose` picks.
struct Drill {
    scheduler: Scheduler,
    tools: Vec<u8>,
    log: Vec<String>,
    running: Vec<(TaskId, u32)>,
    maximum: usize,
    max_by_tool: BTreeMap<u8, usize>,
    settled: BTreeMap<TaskId, SettledBy>,
}

impl Drill {
    fn new(limits: ConcurrencyLimits, waits: &[Vec<u32>], tools: Vec<u8>) -> Self {
        let mut drill = Self {
            scheduler: Scheduler::new(limits),
            tools,
            log: Vec::new(),
            running: Vec::new(),
            maximum: 0,
            max_by_tool: BTreeMap::new(),
            settled: BTreeMap::new(),
        };
        let ranks = ranks(&vec![UNIT; waits.len()], waits);
        let mut out = Vec::new();
        for rank in ranks {
            drill.scheduler.add(None, rank);
        }
        for (task, waits) in waits.iter().enumerate() {
            let waits: Vec<TaskId> = waits.iter().map(|on| TaskId(*on)).collect();
            drill
                .scheduler
                .start(TaskId(u32::try_from(task).unwrap()), &waits, &mut out);
        }
        drill.carry_out(out);
        drill
    }

    fn tell(&mut self, event: SchedulerEvent) {
        let mut out = Vec::new();
        self.scheduler.handle(event, &mut out);
        self.carry_out(out);
    }

    fn carry_out(&mut self, commands: Vec<SchedulerCommand>) {
        let mut queue: std::collections::VecDeque<SchedulerCommand> = commands.into();
        loop {
            while let Some(command) = queue.pop_front() {
                let mut out = Vec::new();
                match command {
                    SchedulerCommand::Prepare(task)
                        if self.scheduler.state(task) == TaskState::Preparing =>
                    {
                        let prepared = Prepared::Call(self.terms(task));
                        self.scheduler
                            .handle(SchedulerEvent::Prepared(task, prepared), &mut out);
                    }
                    SchedulerCommand::Call { task, attempt } => {
                        self.log.push(format!("+{}", task.0));
                        self.running.push((task, attempt));
                        self.maximum = self.maximum.max(self.running.len());
                        let tool = self.tools[task.0 as usize];
                        let same = self
                            .running
                            .iter()
                            .filter(|(task, _)| self.tools[task.0 as usize] == tool)
                            .count();
                        let maximum = self.max_by_tool.entry(tool).or_default();
                        *maximum = (*maximum).max(same);
                        assert!(tool != 9 || self.running.len() == 1, "not alone");
                    }
                    SchedulerCommand::Settled(task, by) => {
                        assert!(self.settled.insert(task, by).is_none(), "settled twice");
                    }
                    _ => {}
                }
                queue.extend(out);
            }
            let mut out = Vec::new();
            self.scheduler.start_ready(&mut out);
            if out.is_empty() {
                break;
            }
            queue.extend(out);
        }
    }

    fn terms(&mut self, task: TaskId) -> CallTerms {
        let tool = self.tools[task.0 as usize];
        CallTerms {
            lane: self
                .scheduler
                .lane(&"s".into(), &Arc::from(tool.to_string())),
            is_exclusive: tool == 9,
            approval: false,
            retry: RetryPolicy::default(),
            attempt_timeout: None,
            step_timeout: None,
            retry_uncertain: true,
        }
    }

    fn end(&mut self, index: usize) {
        let (task, attempt) = self.running.remove(index);
        self.log.push(format!("-{}", task.0));
        self.tell(SchedulerEvent::AttemptEnded {
            task,
            attempt,
            end: AttemptEnd::Final,
        });
    }
}

fn limits(total: usize, per_tool: Option<usize>) -> ConcurrencyLimits {
    ConcurrencyLimits {
        total: NonZeroUsize::new(total).unwrap(),
        per_tool: per_tool.and_then(NonZeroUsize::new),
        ..ConcurrencyLimits::default()
    }
}

#[test]
fn longest_remaining_path_goes_first() {
    // 0 and 1 are alone; 2 -> 3 -> 4 is a chain.
    let waits = vec![vec![], vec![], vec![], vec![2], vec![3]];
    let mut drill = Drill::new(limits(2, None), &waits, vec![0; 5]);
    while !drill.running.is_empty() {
        drill.end(0);
    }
    assert_eq!(
        drill.log,
        ["+2", "+0", "-2", "+3", "-0", "+1", "-3", "+4", "-1", "-4"]
    );
}

/// Enough tasks for prefetching, which must make no difference.
#[test]
fn of_many_thousands_the_best_that_may_start_is_started() {
    let size = 40_000_u32;
    let mut mixed = 1_u32;
    let mut below = |end: u32| {
        mixed = mixed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (mixed >> 8) % end
    };
    let waits: Vec<Vec<u32>> = (0..size)
        .map(|task| (0..task.min(2)).map(|_| below(task)).collect())
        .map(|mut on: Vec<u32>| {
            on.dedup();
            on
        })
        .collect();
    let ranks = ranks(&vec![UNIT; waits.len()], &waits);
    let mut open: Vec<usize> = waits.iter().map(Vec::len).collect();
    let mut behind = vec![Vec::new(); waits.len()];
    for (task, on) in (0..size).zip(&waits) {
        for on in on {
            behind[*on as usize].push(task);
        }
    }
    let key = |task: u32| (Reverse(ranks[task as usize]), task);
    let is_free = |task: &u32| open[*task as usize] == 0;
    let mut free: BTreeSet<_> = (0..size).filter(is_free).map(key).collect();
    let mut drill = Drill::new(limits(1, None), &waits, vec![0; waits.len()]);
    while let Some((_, best)) = free.pop_first() {
        assert_eq!(drill.running, [(TaskId(best), 1)]);
        for who in &behind[best as usize] {
            open[*who as usize] -= 1;
            if open[*who as usize] == 0 {
                free.insert(key(*who));
            }
        }
        drill.end(0);
    }
    assert!(drill.scheduler.is_done());
}

#[test]
fn a_full_tool_does_not_delay_others() {
    let waits = vec![vec![]; 4];
    let mut limits = limits(4, None);
    limits.tools = HashMap::from([("s.0".into(), NonZeroUsize::MIN)]);
    let drill = Drill::new(limits, &waits, vec![0, 0, 0, 1]);
    assert_eq!(drill.log, ["+0", "+3"]);
}

#[test]
fn stop_starts_nothing_new_and_lets_calls_end() {
    let waits = vec![vec![], vec![], vec![0], vec![]];
    let mut drill = Drill::new(limits(2, None), &waits, vec![0; 4]);
    drill.tell(SchedulerEvent::Stop(None));
    while !drill.running.is_empty() {
        drill.end(0);
    }
    let by: Vec<SettledBy> = drill.settled.values().copied().collect();
    assert_eq!(
        by,
        [
            SettledBy::Attempt,
            SettledBy::Attempt,
            SettledBy::Stop,
            SettledBy::Stop
        ]
    );
    assert!(drill.scheduler.is_done());
}

prop_compose! {
    /// A graph in which each task waits for some of those before it, with a tool for each.
    fn graph()(size in 1_usize..40)(
        edges in prop::collection::vec((0..size, 0..size), 0..size * 2),
        tools in prop::collection::vec(prop_oneof![9 => 0_u8..4, 1 => Just(9_u8)], size),
    ) -> (Vec<Vec<u32>>, Vec<u8>) {
        let mut waits = vec![Vec::new(); tools.len()];
        for (a, b) in edges {
            if a != b {
                waits[a.max(b)].push(u32::try_from(a.min(b)).unwrap());
            }
        }
        (waits, tools)
    }
}

proptest! {
    #[test]
    fn any_graph_any_order_any_limit(
        (waits, tools) in graph(),
        total in 1_usize..6,
        per_tool in prop::option::of(1_usize..3),
        choices in prop::collection::vec(any::<prop::sample::Index>(), 40),
    ) {
        let mut drill = Drill::new(limits(total, per_tool), &waits, tools);
        let mut ended = Vec::new();
        let mut choices = choices.into_iter().cycle();
        while !drill.running.is_empty() {
            let index = choices.next().unwrap().index(drill.running.len());
            for (task, _) in &drill.running {
                for on in &waits[task.0 as usize] {
                    prop_assert!(ended.contains(on), "{} started before {on} ended", task.0);
                }
            }
            ended.push(drill.running[index].0.0);
            drill.end(index);
        }
        prop_assert!(drill.scheduler.is_done());
        prop_assert_eq!(drill.settled.len(), waits.len());
        prop_assert!(drill.maximum <= total);
        if let Some(limit) = per_tool {
            prop_assert!(drill.max_by_tool.iter().all(|(tool, maximum)| *tool == 9 || *maximum <= limit));
        }
    }
}
