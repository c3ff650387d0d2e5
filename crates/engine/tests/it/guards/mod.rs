//! Guards of whole runs: by hand, in any order, and by tokio in virtual time.

mod properties;

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::plan::{Approval, Name, Node, OnFailure, Repeat};
use planwright_core::{Place, Plan, Step, StepId, Value};
use planwright_engine::approval::{ApprovalRequest, Approver};
use planwright_engine::backend::{Backends, Function, Functions, ToolCall, ToolError, ToolOutput};
use planwright_engine::event::Address;
use planwright_engine::journal::{Entry, Record};
use planwright_engine::run::{Effect, History, RunInput, RunMachine};
use planwright_engine::schedule::{TaskId, Timer};
use planwright_engine::{Bound, Decision, Engine, Guards, Rate, RunOptions, RunStatus, RunSummary};

use self::properties::Hand;
use crate::drive::sound;

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

/// The outcome of the steps, one line each, with the calls that were sent.
fn outcomes(summary: &RunSummary) -> Vec<String> {
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
    assert_eq!(outcomes(&summary), expected);
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
            "t2 failed budget: 2 calls failed in a row, the limit of `RunOptions`",
            "t3 failed budget: 2 calls failed in a row, the limit of `RunOptions`",
        ],
    );
}

#[test]
fn an_output_that_is_too_much_fails_and_ends_it() {
    let mut options = options(Guards::new().output_bytes(10));
    options.limits.total = NonZeroUsize::MIN;
    let refused =
        "failed budget: the outputs of the run exceed the 10 bytes that `RunOptions` allows";
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
            "t2 failed budget: `s.t` was called 2 times with these arguments, the limit of `RunOptions`",
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
        &["poll failed budget: the last 3 rounds had the same output, the limit of `RunOptions`"],
    );
    // A change restarts the count.
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
fn the_failure_before_a_refused_attempt_is_reported() {
    let mut options = options(Guards::new().calls(1));
    options.retry.attempts = NonZeroU32::new(2).unwrap();
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
fn a_refused_call_asks_for_no_approval() {
    let mut step = call("a", "t", &[]);
    step.approval = Approval::Ask;
    check(
        plan(vec![step]),
        options(Guards::new().calls(0)),
        "x",
        &["a failed budget: the run has made 0 calls, the limit of `RunOptions`"],
    );
}

#[test]
fn a_call_that_may_have_happened_stays_unknown_whatever_the_guards_say() {
    let sent = Entry {
        at: Duration::from_secs(5),
        turn: 0,
        record: Record::Sent {
            at: Arc::new(Address {
                inside: None,
                instance: None,
                step: StepId::new("t0"),
                item: None,
                round: None,
            }),
            server: "s".into(),
            tool: Arc::from("t"),
            attempt: 1,
            args: Value::empty_object(),
            consent: None,
        },
    };
    let guards = Guards::new().calls(1).wall_time(Duration::from_secs(9));
    let history = Arc::new(History::new([&sent]));
    let mut run = RunMachine::new(
        "run".parse().unwrap(),
        sound(plan(steps(2, "t"))),
        options(guards),
    )
    .after(history);
    let mut effects = Vec::new();
    run.start(&mut effects);
    run.proceed(&mut effects);
    let timers: Vec<Duration> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::SetTimer { after, .. } => Some(*after),
            _ => None,
        })
        .collect();
    assert_eq!(timers, [Duration::from_secs(4)]);
    let refused = "t1 failed budget: the run has made 1 call, the limit of `RunOptions`";
    assert_eq!(outcomes(&run.summary()), ["t0 unknown", refused]);
    let end_by_time_limit = RunInput::TimerFired(TaskId(u32::MAX), Timer::Run);
    run.handle(end_by_time_limit, Duration::from_secs(9), &mut effects);
    assert_eq!(outcomes(&run.summary()), ["t0 unknown", refused]);
}

/// Tools `s.t` and `s.u` that record when they were called and answer after some time.
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
        .run("r".parse().unwrap(), sound(plan(steps(5, "t"))))
        .await;
    assert_eq!(summary.status, RunStatus::Succeeded);
    let times = times.lock().unwrap();
    let expected = [0, 5, 1000, 1005, 2000];
    for (time, expected) in times.iter().zip(expected) {
        assert!((expected..expected + 5).contains(time), "{times:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_refused_takes_no_turn_of_the_rate() {
    let (backend, times) = clocked(Duration::ZERO);
    let minute = Duration::from_mins(1);
    let mut options = options(Guards::new().rate("s", rate(1, minute)).same_call(1));
    options.limits.total = NonZeroUsize::MIN;
    let mut all = steps(2, "t");
    all.push(call("other", "t", &[("x", "1")]));
    let summary = Engine::new(backend)
        .with_options(options)
        .run("r".parse().unwrap(), sound(plan(all)))
        .await;
    let refused =
        "t1 failed budget: `s.t` was called 1 time with these arguments, the limit of `RunOptions`";
    assert_eq!(
        outcomes(&summary),
        ["t0 succeeded", refused, "other succeeded"]
    );
    let times = times.lock().unwrap();
    assert!(times[1] < 2 * minute.as_millis(), "{times:?}");
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
        .run("r".parse().unwrap(), sound(plan(all)))
        .await;
    assert_eq!(start.elapsed().as_secs(), 90);
    assert_eq!(summary.status, RunStatus::Failed);
    assert_eq!(
        outcomes(&summary),
        [
            "t0 failed budget: the run has taken 90s, the limit of `planwright.toml:7`",
            "t1 failed budget: the run has taken 90s, the limit of `planwright.toml:7`",
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
        .run("r".parse().unwrap(), sound(plan(vec![step])))
        .await;
    assert_eq!(
        outcomes(&summary),
        ["a failed budget: the run has taken 1s, the limit of `RunOptions`"]
    );
    assert!(times.lock().unwrap().is_empty());
}
