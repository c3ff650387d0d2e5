//! Any graph, any parallelism, any failures: no budget is overdrawn, none is left over, no rate is exceeded.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use planwright_core::plan::{Action, Name};
use planwright_core::{Place, Plan, ToolName, Value};
use planwright_engine::backend::{ToolCall, ToolError, ToolOutput};
use planwright_engine::run::{Effect, RunInput, RunMachine};
use planwright_engine::schedule::{TaskId, Timer};
use planwright_engine::{Guards, RunOptions, RunSummary, StepStatus};
use proptest::prelude::*;
use proptest::sample::Index;

use super::{options, rate};
use crate::drive::sound;
use crate::properties::{Seed, plan as random_plan, seed};

/// A run by hand in virtual time: the test decides what ends next, and when time passes.
pub(super) struct Hand {
    run: RunMachine,
    now: Duration,
    calls: Vec<(TaskId, ToolCall)>,
    timers: BTreeMap<(Duration, TaskId), Timer>,
    sent: Vec<(Duration, ToolName)>,
}

impl Hand {
    pub(super) fn drive(
        plan: Plan,
        options: RunOptions,
        answer: &mut dyn FnMut(&ToolCall) -> Result<ToolOutput, ToolError>,
        choose: &mut dyn FnMut(usize) -> usize,
    ) -> (RunSummary, Vec<(Duration, ToolName)>) {
        let mut hand = Self {
            run: RunMachine::new("run".parse().unwrap(), sound(plan), options),
            now: Duration::ZERO,
            calls: Vec::new(),
            timers: BTreeMap::new(),
            sent: Vec::new(),
        };
        let mut effects = Vec::new();
        hand.run.start(&mut effects);
        loop {
            hand.run.proceed(&mut effects);
            for effect in std::mem::take(&mut effects) {
                hand.carry_out(effect);
            }
            if hand.run.is_done() {
                return (hand.run.summary(), hand.sent);
            }
            let choice = choose(hand.calls.len() + usize::from(!hand.timers.is_empty()));
            let input = if choice < hand.calls.len() {
                let (task, call) = hand.calls.remove(choice);
                RunInput::AttemptEnded {
                    task,
                    attempt: call.context.attempt,
                    result: answer(&call),
                }
            } else {
                let ((at, task), timer) = hand.timers.pop_first().expect("the run is stuck");
                hand.now = hand.now.max(at);
                RunInput::TimerFired(task, timer)
            };
            hand.run.handle(input, hand.now, &mut effects);
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Call { task, call, .. } => {
                self.sent.push((self.now, call.tool.qualified_name()));
                self.calls.push((task, *call));
            }
            Effect::Abort(task) => self.calls.retain(|(other, _)| *other != task),
            Effect::SetTimer { task, timer, after } => {
                self.timers.insert((self.now + after, task), timer);
            }
            Effect::ClearTimer(task, timer) => {
                self.timers
                    .retain(|(_, other), set| *other != task || *set != timer);
            }
            _ => {}
        }
    }
}

/// The results of the calls of a run, in the order in which they ended.
#[derive(Default)]
struct Answered {
    bytes: u64,
    in_a_row: u64,
    max_in_a_row: u64,
    is_closed: bool,
    after_closing: u64,
}

impl Answered {
    fn answer(
        &mut self,
        trouble: u8,
        max_in_a_row: u64,
        bytes: u64,
    ) -> Result<ToolOutput, ToolError> {
        self.after_closing += u64::from(self.is_closed);
        let answer = match trouble {
            0 => Err(ToolError::unavailable("gone")),
            1 => Err(ToolError::tool("no", Value::Null)),
            _ => Ok(ToolOutput::value(Value::object([(
                "args",
                Value::empty_object(),
            )]))),
        };
        match &answer {
            Ok(output) => {
                self.in_a_row = 0;
                self.bytes += output.value.to_json().len() as u64;
            }
            Err(_) => self.in_a_row += 1,
        }
        self.max_in_a_row = self.max_in_a_row.max(self.in_a_row);
        self.is_closed |= self.max_in_a_row >= max_in_a_row || self.bytes > bytes;
        answer
    }
}

/// The random plan; every third call is one of `u`.
fn mixed_plan(seeds: &[Seed]) -> Plan {
    let (mut plan, _) = random_plan(seeds);
    for step in plan.steps.iter_mut().step_by(3) {
        step.action = Action::Tool(Name {
            text: Arc::from("u"),
            place: Place::NOWHERE,
        });
    }
    plan
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn budgets_are_never_overdrawn_and_never_left_over(
        seeds in prop::collection::vec(seed(), 1..24),
        choices in prop::collection::vec(any::<Index>(), 1..40),
        trouble in prop::collection::vec(0_u8..4, 1..20),
        parallel in 1_usize..8,
        maximum in 0_u64..40,
        of_t in 0_u64..20,
        of_server in 0_u64..40,
        bytes in 0_u64..400,
        in_a_row in 1_u64..6,
    ) {
        let plan = mixed_plan(&seeds);
        let guards = Guards::new()
            .calls(maximum)
            .calls_of("s.t", of_t)
            .calls_of_server("s", of_server)
            .output_bytes(bytes)
            .failures_in_a_row(in_a_row);
        let mut options = options(guards);
        options.limits.total = NonZeroUsize::new(parallel).unwrap();
        options.retry.attempts = NonZeroU32::new(3).unwrap();
        let mut trouble = trouble.iter().cycle();
        let mut choices = choices.iter().cycle();
        let mut answered = Answered::default();
        let (summary, sent) = Hand::drive(plan, options, &mut |_| {
            answered.answer(*trouble.next().unwrap(), in_a_row, bytes)
        }, &mut |open| choices.next().unwrap().index(open));

        let all = sent.len() as u64;
        let all_t = sent.iter().filter(|(_, tool)| *tool == "s.t").count() as u64;
        prop_assert!(all <= maximum.min(of_server) && all_t <= of_t);
        prop_assert_eq!(summary.calls.len() as u64, all);
        // Nothing new was called once a bound had closed the run: calls that ended later were in flight then.
        prop_assert!(answered.after_closing < parallel as u64);
        // Every refusal is due to an exhausted budget.
        for step in &summary.steps {
            let Some(error) = &step.error else { continue };
            let Some(guard) = error.data.get("guard").and_then(Value::as_text) else { continue };
            let (is_used_up, limit) = match guard {
                "calls" => (all == maximum, maximum),
                "tools" => (all_t == of_t, of_t),
                "servers" => (all == of_server, of_server),
                "output_bytes" => (answered.bytes > bytes, bytes),
                "failures_in_a_row" => (answered.max_in_a_row >= in_a_row, in_a_row),
                other => panic!("{other}"),
            };
            prop_assert!(is_used_up, "{guard} {error:?}");
            prop_assert_eq!(error.data.get("limit").and_then(Value::as_u64), Some(limit));
        }
    }

    #[test]
    fn rates_hold_whatever_the_order(
        seeds in prop::collection::vec(seed(), 1..24),
        choices in prop::collection::vec(any::<Index>(), 1..40),
        parallel in 1_usize..8,
        calls in 1_u32..4,
    ) {
        let per = Duration::from_secs(1);
        let mut options = options(Guards::new().rate("s", rate(calls, per)));
        options.limits.total = NonZeroUsize::new(parallel).unwrap();
        let mut choices = choices.iter().cycle();
        let mut answer = |_: &ToolCall| Ok(ToolOutput::value(Value::object([("args", Value::empty_object())])));
        let (summary, sent) = Hand::drive(mixed_plan(&seeds), options, &mut answer, &mut |open| {
            choices.next().unwrap().index(open)
        });
        let window = calls as usize;
        for pair in sent.windows(window + 1) {
            prop_assert!(pair[window].0 >= pair[0].0 + per, "{sent:?}");
        }
        prop_assert!(summary.steps.iter().all(|step| step.status != StepStatus::NotRun));
    }
}
