//! Guards of whole runs: by hand, in any order, and by tokio in virtual time.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::plan::{Action, Approval, Name, Node, OnFailure, Repeat};
use planwright_core::{Place, Plan, Step, Value};
use planwright_engine::approval::{ApprovalRequest, Approver};
use planwright_engine::backend::{Backends, Function, Functions, ToolCall, ToolError, ToolOutput};
use planwright_engine::run::{Effect, Input, Run};
use planwright_engine::schedule::{TaskId, Timer};
use planwright_engine::{
    Bound, Decision, Engine, Guards, Rate, RunOptions, RunStatus, RunSummary, StepStatus,
};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::drive::sound;
use crate::properties::{Seed, plan as random_plan, seed};

/// A run by hand in virtual time: what ends next, or whether time goes on, is for the test to say.
struct Hand {
    run: Run,
    now: Duration,
    calls: Vec<(TaskId, ToolCall)>,
    timers: BTreeMap<(Duration, TaskId), Timer>,
    sent: Vec<(Duration, String)>,
}

impl Hand {
    fn drive(
        plan: Plan,
        options: RunOptions,
        answer: &mut dyn FnMut(&ToolCall) -> Result<ToolOutput, ToolError>,
        choose: &mut dyn FnMut(usize) -> usize,
    ) -> (RunSummary, Vec<(Duration, String)>) {
        let mut hand = Self {
            run: Run::new("run", sound(plan), options),
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
                Input::AttemptEnded {
                    task,
                    attempt: call.attempt,
                    result: answer(&call),
                }
            } else {
                let ((at, task), timer) = hand.timers.pop_first().expect("the run is stuck");
                hand.now = hand.now.max(at);
                Input::TimerFired(task, timer)
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

fn options(guards: Guards) -> RunOptions {
    RunOptions {
        guards,
        attempt_timeout: None,
        ..RunOptions::default()
    }
}

fn rate(calls: u32, per: Duration) -> Rate {
    let calls = NonZeroU32::new(calls).unwrap();
    Rate { calls, per }
}

/// What the calls of a run came to, in the order in which they ended.
#[derive(Default)]
struct Given {
    bytes: u64,
    in_a_row: u64,
    most_in_a_row: u64,
    is_closed: bool,
    after_closing: u64,
}

impl Given {
    fn answer(
        &mut self,
        trouble: u8,
        most_in_a_row: u64,
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
        self.most_in_a_row = self.most_in_a_row.max(self.in_a_row);
        self.is_closed |= self.most_in_a_row >= most_in_a_row || self.bytes > bytes;
        answer
    }
}

/// The random plan, every third call of which is one of `u`.
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
        most in 0_u64..40,
        of_t in 0_u64..20,
        of_server in 0_u64..40,
        bytes in 0_u64..400,
        in_a_row in 1_u64..6,
    ) {
        let plan = mixed_plan(&seeds);
        let guards = Guards::new()
            .calls(most)
            .calls_of("s.t", of_t)
            .calls_of_server("s", of_server)
            .output_bytes(bytes)
            .failures_in_a_row(in_a_row);
        let mut options = options(guards);
        options.limits.total = NonZeroUsize::new(parallel).unwrap();
        options.attempts = NonZeroU32::new(3).unwrap();
        let mut trouble = trouble.iter().cycle();
        let mut choices = choices.iter().cycle();
        let mut given = Given::default();
        let (summary, sent) = Hand::drive(plan, options, &mut |_| {
            given.answer(*trouble.next().unwrap(), in_a_row, bytes)
        }, &mut |open| choices.next().unwrap().index(open));

        let all = sent.len() as u64;
        let all_t = sent.iter().filter(|(_, tool)| tool == "s.t").count() as u64;
        prop_assert!(all <= most.min(of_server) && all_t <= of_t);
        prop_assert_eq!(summary.calls.len() as u64, all);
        // Nothing new was called once a bound had closed the run: what ended later was under way then.
        prop_assert!(given.after_closing < parallel as u64);
        // Whoever was refused was refused by a budget of which nothing was left.
        for step in &summary.steps {
            let Some(error) = &step.error else { continue };
            let Some(guard) = error.data.get("guard").and_then(Value::as_text) else { continue };
            let (is_used_up, limit) = match guard {
                "calls" => (all == most, most),
                "tools" => (all_t == of_t, of_t),
                "servers" => (all == of_server, of_server),
                "output_bytes" => (given.bytes > bytes, bytes),
                "failures_in_a_row" => (given.most_in_a_row >= in_a_row, in_a_row),
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

fn call(id: &str, tool: &str, args: &[(&str, &str)]) -> Step {
    let fields = args.iter().map(|(key, value)| (*key, Value::from(*value)));
    let args = Node::literal(Value::object(fields), Place::NOWHERE);
    Step::call(id, tool, args)
}

fn plan(steps: Vec<Step>) -> Plan {
    Plan {
        steps,
        on_failure: OnFailure::KeepGoing,
        ..Plan::default()
    }
}

fn steps(count: usize, tool: &str) -> Vec<Step> {
    (0..count)
        .map(|index| call(&format!("{tool}{index}"), tool, &[]))
        .collect()
}

/// What became of the steps, one line each, with the calls that were sent.
fn told(summary: &RunSummary) -> Vec<String> {
    let error = |step: &planwright_engine::run::StepSummary| {
        let error = step.error.as_ref();
        error.map_or(String::new(), |error| {
            format!(" {}: {}", error.kind.as_str(), error.message)
        })
    };
    let steps = summary.steps.iter();
    steps
        .map(|step| format!("{} {}{}", step.at, step.status.as_str(), error(step)))
        .collect()
}

fn check(plan: Plan, options: RunOptions, answer: &str, expected: &[&str]) {
    let mut last = |_: &ToolCall| match answer {
        "fails" => Err(ToolError::tool("no", Value::Null)),
        text => Ok(ToolOutput::text(text)),
    };
    let (summary, _) = Hand::drive(plan, options, &mut last, &mut |_| 0);
    assert_eq!(told(&summary), expected);
}

#[test]
fn failures_in_a_row_end_it() {
    let mut options = options(Guards::new().failures_in_a_row(2));
    options.limits.total = NonZeroUsize::MIN;
    check(
        plan(steps(4, "t")),
        options,
        "fails",
        &[
            "t0 failed tool: no",
            "t1 failed tool: no",
            "t2 failed budget: 2 calls failed in a row, the most that `RunOptions` allows",
            "t3 failed budget: 2 calls failed in a row, the most that `RunOptions` allows",
        ],
    );
}

#[test]
fn an_output_that_is_too_much_fails_and_ends_it() {
    let mut options = options(Guards::new().output_bytes(10));
    options.limits.total = NonZeroUsize::MIN;
    let refused = "failed budget: the outputs of the run come to more than the 10 bytes that `RunOptions` allows";
    check(
        plan(steps(3, "t")),
        options,
        "sixsix",
        &[
            "t0 succeeded",
            &format!("t1 {refused}"),
            &format!("t2 {refused}"),
        ],
    );
}

#[test]
fn the_same_call_again_and_again_is_refused() {
    let options = options(Guards::new().same_call(2));
    let mut all = steps(3, "t");
    all.push(call("other", "t", &[("x", "1")]));
    all.push(call("u", "u", &[]));
    check(
        plan(all),
        options,
        "x",
        &[
            "t0 succeeded",
            "t1 succeeded",
            "t2 failed budget: `s.t` was called 2 times with these arguments, the most that `RunOptions` allows",
            "other succeeded",
            "u succeeded",
        ],
    );
}

#[test]
fn rounds_without_progress_end() {
    let mut step = call("poll", "t", &[]);
    step.repeat = Some(Repeat {
        until: Node::literal(Value::from(false), Place::NOWHERE),
        max: NonZeroU32::new(9).unwrap(),
    });
    check(
        plan(vec![step.clone()]),
        options(Guards::new().same_rounds(3)),
        "x",
        &["poll failed budget: the last 3 rounds gave the same, the most that `RunOptions` allows"],
    );
    // What changes once begins anew.
    let mut count = 0;
    let mut answer = |_: &ToolCall| {
        count += 1;
        Ok(ToolOutput::text(if count < 3 { "x" } else { "y" }))
    };
    let options = options(Guards::new().same_rounds(3));
    let (summary, sent) = Hand::drive(plan(vec![step]), options, &mut answer, &mut |_| 0);
    assert_eq!(sent.len(), 5);
    assert_eq!(summary.status, RunStatus::Failed);
}

#[test]
fn why_an_attempt_failed_before_one_was_refused_is_told() {
    let mut options = options(Guards::new().calls(1));
    options.attempts = NonZeroU32::new(2).unwrap();
    let mut answer = |_: &ToolCall| Err(ToolError::unavailable("gone"));
    let (summary, sent) = Hand::drive(plan(steps(1, "t")), options, &mut answer, &mut |_| 0);
    assert_eq!(sent.len(), 1);
    let error = summary.steps[0].error.as_ref().unwrap();
    assert_eq!(
        error.data.to_json(),
        r#"{"guard":"calls","limit":1,"set_in":"RunOptions","after":{"code":"unavailable","message":"gone"}}"#
    );
}

#[test]
fn nobody_is_asked_about_a_call_that_is_refused_anyway() {
    let mut step = call("a", "t", &[]);
    step.approval = Approval::Ask;
    check(
        plan(vec![step]),
        options(Guards::new().calls(0)),
        "x",
        &["a failed budget: the run has made 0 calls, the most that `RunOptions` allows"],
    );
}

/// Tools `s.t` and `s.u` that tell when they were called, and answer after some time.
fn clocked(takes: Duration) -> (Backends, Arc<Mutex<Vec<u128>>>) {
    let times = Arc::new(Mutex::new(Vec::new()));
    let start = tokio::time::Instant::now();
    let mut functions = Functions::named("s");
    for name in ["t", "u"] {
        let times = Arc::clone(&times);
        functions = functions.with(Function::raw(name, move |_| {
            times.lock().unwrap().push(start.elapsed().as_millis());
            async move {
                tokio::time::sleep(takes).await;
                Ok(ToolOutput::value(Value::Null))
            }
        }));
    }
    (Backends::new().with("s", functions), times)
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_rate_takes_no_place_and_no_time_of_the_attempt() {
    let (backend, times) = clocked(Duration::from_millis(5));
    let mut options = options(Guards::new().rate("s", rate(2, Duration::from_secs(1))));
    options.limits.total = NonZeroUsize::MIN;
    options.attempt_timeout = Some(Duration::from_millis(50));
    let summary = Engine::new(backend)
        .with_options(options)
        .run("r", sound(plan(steps(5, "t"))))
        .await;
    assert_eq!(summary.status, RunStatus::Succeeded);
    let times = times.lock().unwrap();
    let expected = [0, 5, 1000, 1005, 2000];
    for (time, expected) in times.iter().zip(expected) {
        assert!((expected..expected + 5).contains(time), "{times:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn when_the_time_is_up_everything_ends() {
    let (backend, _) = clocked(Duration::from_hours(1));
    let mut all = steps(2, "t");
    let mut later = call("later", "t", &[]);
    later.after.push(Name {
        text: Arc::from("t0"),
        place: Place::NOWHERE,
    });
    all.push(later);
    let mut options = options(
        Guards::new().wall_time(Bound::set_in(Duration::from_secs(90), "planwright.toml:7")),
    );
    options.limits.total = NonZeroUsize::MIN;
    let start = tokio::time::Instant::now();
    let summary = Engine::new(backend)
        .with_options(options)
        .run("r", sound(plan(all)))
        .await;
    assert_eq!(start.elapsed().as_secs(), 90);
    assert_eq!(summary.status, RunStatus::Failed);
    assert_eq!(
        told(&summary),
        [
            "t0 failed budget: the run has taken 90s, the longest that `planwright.toml:7` allows",
            "t1 failed budget: the run has taken 90s, the longest that `planwright.toml:7` allows",
            "later not_run",
        ]
    );
    let error = summary.steps[0].error.as_ref().unwrap();
    assert_eq!(
        error.data.to_json(),
        r#"{"guard":"wall_time","limit":90000,"set_in":"planwright.toml:7"}"#
    );
}

/// Never decides.
struct Undecided;

impl Approver for Undecided {
    fn decide(&self, _: ApprovalRequest) -> BoxFuture<'_, Decision> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_who_does_not_answer_does_not_hold_up_the_end() {
    let (backend, times) = clocked(Duration::ZERO);
    let mut step = call("a", "t", &[]);
    step.approval = Approval::Ask;
    let summary = Engine::new(backend)
        .with_options(options(Guards::new().wall_time(Duration::from_secs(1))))
        .with_approver(Arc::new(Undecided))
        .run("r", sound(plan(vec![step])))
        .await;
    assert_eq!(
        told(&summary),
        ["a failed budget: the run has taken 1s, the longest that `RunOptions` allows"]
    );
    assert!(times.lock().unwrap().is_empty());
}
