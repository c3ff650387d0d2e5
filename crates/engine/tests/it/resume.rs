//! Resumed runs: finished steps are not repeated, and rejections stand.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::check::{CheckContext, CheckedPlan, check};
use planwright_core::expression::parse_form;
use planwright_core::plan::{Field, Node, OnFailure, Reference};
use planwright_core::{Catalog, Place, Plan, Schema, Step, StepId, Tool, Value};
use planwright_engine::backend::{ErrorKind, ToolCall, ToolError, ToolOutput};
use planwright_engine::event::Address;
use planwright_engine::journal::{Entry, Record};
use planwright_engine::run::{Choice, Effect, History, ReplayHeader, RunInput, RunMachine, replay};
use planwright_engine::schedule::{TaskId, Timer};
use planwright_engine::{Guards, RunOptions, RunSummary};

type Answer = Result<ToolOutput, ToolError>;

/// `t` takes anything, `pay` takes a number `n`.
fn catalog() -> Catalog {
    let takes = r#"{"type": "object", "properties": {"n": {"type": "integer"}}}"#;
    let pay = Tool {
        input: Schema::from_value(Value::from_json(takes).unwrap()),
        ..Tool::new("s", "pay")
    };
    [Tool::new("s", "t"), pay].into_iter().collect()
}

fn sound(steps: Vec<Step>) -> CheckedPlan {
    let plan = Plan {
        steps,
        on_failure: OnFailure::KeepGoing,
        ..Plan::default()
    };
    let catalog = catalog();
    let (checked, diagnostics) = check(plan, &CheckContext::new(&catalog));
    checked.unwrap_or_else(|| panic!("rejected: {diagnostics:#?}"))
}

fn call(id: &str, tool: &str, fields: Vec<Field>) -> Step {
    Step::call(id, tool, Node::object(fields, Place::NOWHERE))
}

/// The argument `n`, as it is written in a plan.
fn n(text: &str) -> Field {
    let form = parse_form(text).unwrap_or_else(|error| panic!("{error:?}"));
    Field {
        key: Arc::from("n"),
        value: Node::reference(Reference {
            text: Arc::from(text),
            place: Place::NOWHERE,
            form,
        }),
    }
}

/// A process that drives the run by hand after those that have written `entries`, and appends its own. Calls without
/// an `answer` are never answered: the process dies with them.
fn process(
    plan: &CheckedPlan,
    options: &RunOptions,
    entries: &mut Vec<Entry>,
    answer: impl Fn(&ToolCall) -> Option<Answer>,
) -> RunSummary {
    let history = Arc::new(History::new(&*entries));
    let mut turn = entries.last().map_or(0, |entry| entry.turn + 1);
    let mut run = RunMachine::new("run".parse().unwrap(), plan.clone(), options.clone())
        .journaled()
        .after(history);
    let mut clock = run.now();
    let mut effects = Vec::new();
    let mut in_flight = Vec::new();
    entries.push(Entry {
        at: clock,
        turn,
        ..opened(plan)
    });
    run.start(&mut effects);
    loop {
        run.proceed(&mut effects);
        in_flight.extend(take_calls(&mut effects, turn, entries));
        let answered = in_flight
            .iter()
            .enumerate()
            .find_map(|(index, (_, _, call))| Some((index, answer(call)?)));
        let Some((index, result)) = answered else {
            return run.summary();
        };
        let (task, attempt, _) = in_flight.remove(index);
        clock += Duration::from_millis(1);
        turn += 1;
        let ended = RunInput::AttemptEnded {
            task,
            attempt,
            result,
        };
        run.handle(ended, clock, &mut effects);
    }
}

fn opened(plan: &CheckedPlan) -> Entry {
    Entry {
        at: Duration::ZERO,
        turn: 0,
        record: Record::Opened {
            run: None,
            digest: plan.digest().clone(),
            header: Value::Null,
        },
    }
}

/// The calls to make, each with its task and its attempt. Records go to the entries.
fn take_calls(
    effects: &mut Vec<Effect>,
    turn: u64,
    entries: &mut Vec<Entry>,
) -> Vec<(TaskId, u32, ToolCall)> {
    let mut calls = Vec::new();
    for effect in effects.drain(..) {
        match effect {
            Effect::Call {
                task,
                attempt,
                call,
            } => calls.push((task, attempt, *call)),
            Effect::AppendRecord { at, record } => entries.push(Entry {
                at,
                turn,
                record: *record,
            }),
            _ => {}
        }
    }
    calls
}

/// The outcome of the steps, one line each.
fn outcomes(summary: &RunSummary) -> Vec<String> {
    let steps = summary.steps.iter();
    steps
        .map(|step| {
            let error = step.error.as_ref();
            let error = error.map_or(String::new(), |error| format!(" {}", error.kind.as_str()));
            format!("{} {}{error}", step.at, step.status.as_str())
        })
        .collect()
}

/// The argument of `b`, the output of `a` once it has one, and the answer to `b` that the first process received.
fn check_done(written: &str, second: Value, first_of_b: Option<Answer>, expected: &[&str]) {
    let plan = sound(vec![
        call("a", "t", Vec::new()),
        call("b", "pay", vec![n(written)]),
    ]);
    let options = RunOptions::default();
    let mut entries = Vec::new();
    process(&plan, &options, &mut entries, |call| {
        match call.context.step.as_str() {
            "a" => Some(Err(ToolError::tool("no", Value::Null))),
            _ => first_of_b.clone(),
        }
    });
    let summary = process(&plan, &options, &mut entries, |call| {
        let gives = call.context.step.as_str() == "a";
        gives.then(|| Ok(ToolOutput::value(Value::object([("n", second.clone())]))))
    });
    assert_eq!(outcomes(&summary), expected);
    let of_b = |call: &&planwright_engine::run::CallSummary| call.at.step.as_str() == "b";
    assert_eq!(summary.calls.iter().filter(of_b).count(), 1);
}

#[test]
fn what_is_paid_stays_paid_whatever_its_arguments_would_be_now() {
    let check = |written: &str, second: Value| {
        let paid = Some(Ok(ToolOutput::text("paid")));
        check_done(written, second, paid, &["a succeeded", "b succeeded"]);
    };
    check("a.n ?? 1", Value::from(2_u64));
    check("a.n ?? 1", Value::from("two"));
    check("a.n + 1 ?? 1", Value::from(2_u64));
    check("a.n + 1 ?? 1", Value::from("two"));
}

#[test]
fn what_may_be_paid_stays_unknown_whatever_its_arguments_would_be_now() {
    let check = |written: &str, second: Value| {
        check_done(written, second, None, &["a succeeded", "b unknown"]);
    };
    check("a.n ?? 1", Value::from(2_u64));
    check("a.n ?? 1", Value::from("two"));
}

#[test]
fn an_output_that_was_too_much_is_refused_again_under_the_same_bound() {
    let plan = sound(["a", "b", "c"].map(|id| call(id, "t", Vec::new())).into());
    let options = |bytes: u64| {
        let mut options = RunOptions {
            guards: Guards::new().output_bytes(bytes),
            ..RunOptions::default()
        };
        options.limits.total = std::num::NonZeroUsize::MIN;
        options
    };
    let answer = |_: &ToolCall| Some(Ok(ToolOutput::text("sixsix")));
    let refused = ["a succeeded", "b failed budget", "c failed budget"];
    let mut entries = Vec::new();
    for _ in 0..3 {
        let summary = process(&plan, &options(10), &mut entries, answer);
        assert_eq!(outcomes(&summary), refused);
        assert_eq!(summary.calls.len(), 2);
    }
    let summary = process(&plan, &options(30), &mut entries, answer);
    assert_eq!(
        outcomes(&summary),
        ["a succeeded", "b succeeded", "c succeeded"]
    );
    assert_eq!(summary.calls.len(), 3);
}

#[test]
fn an_answer_that_comes_too_late_changes_no_time() {
    let plan = sound(["a", "b"].map(|id| call(id, "t", Vec::new())).into());
    let mut options = RunOptions {
        attempt_timeout: Some(Duration::from_millis(100)),
        ..RunOptions::default()
    };
    options.limits.total = std::num::NonZeroUsize::MIN;
    let mut run =
        RunMachine::new("run".parse().unwrap(), plan.clone(), options.clone()).journaled();
    let mut entries = vec![opened(&plan)];
    let mut effects = Vec::new();
    run.start(&mut effects);
    run.proceed(&mut effects);
    let first = take_calls(&mut effects, 0, &mut entries);
    let [(a, attempt, _)] = first.as_slice() else {
        panic!("{} calls", first.len());
    };
    let late = RunInput::AttemptEnded {
        task: *a,
        attempt: *attempt,
        result: Ok(ToolOutput::text("late")),
    };
    let end_by_time_limit = RunInput::TimerFired(*a, Timer::Attempt(*attempt));
    run.handle(end_by_time_limit, Duration::from_millis(100), &mut effects);
    run.handle(late, Duration::from_millis(101), &mut effects);
    run.proceed(&mut effects);
    assert_eq!(take_calls(&mut effects, 1, &mut entries).len(), 1);
    let replayed = replay(&"run".parse().unwrap(), &entries, |_, _| {
        Ok::<_, Infallible>(ReplayHeader {
            plan: plan.clone(),
            options: options.clone(),
            choices: Vec::new(),
            forgotten: Vec::new(),
            idle: Some(Duration::ZERO),
            revokes_consent: false,
            extensions: VecDeque::new(),
        })
    });
    replayed.unwrap_or_else(|error| panic!("{error:#?}"));
}

/// The attempts at `b` of an earlier process, by words: `sent`, then the end: `ok`, `no`, `unsent`, `lost`, `late`,
/// `given-up`, or none; `retry` is a person's choice before the next attempt.
fn attempts(words: &str) -> Vec<Entry> {
    let at = Arc::new(Address {
        inside: None,
        instance: None,
        step: StepId::new("b"),
        item: None,
        round: None,
    });
    let mut attempt = 0;
    let answered = |attempt: u32, result: Answer| Record::Answered {
        at: Arc::clone(&at),
        attempt,
        result,
    };
    let records = words.split(' ').map(|word| match word {
        "sent" => {
            attempt += 1;
            Record::Sent {
                at: Arc::clone(&at),
                server: "s".into(),
                tool: Arc::from("t"),
                attempt,
                args: Value::empty_object(),
                consent: None,
            }
        }
        "ok" => answered(attempt, Ok(ToolOutput::text("done"))),
        "no" => answered(attempt, Err(ToolError::tool("no", Value::Null))),
        "unsent" => answered(attempt, Err(ToolError::unavailable("not there"))),
        "lost" => answered(attempt, Err(ToolError::lost("gone"))),
        "late" => answered(attempt, Err(ToolError::new(ErrorKind::Timeout, "late"))),
        "given-up" => Record::Aborted {
            at: Arc::clone(&at),
            attempt,
        },
        "retry" => Record::Chosen {
            at: Arc::clone(&at),
            choice: Choice::Retry,
        },
        other => panic!("{other}"),
    });
    let entry = |record: Record| Entry {
        at: Duration::ZERO,
        turn: 0,
        record,
    };
    records.map(entry).collect()
}

#[test]
fn any_attempt_without_a_known_outcome_leaves_its_step_in_doubt() {
    let plan = sound(vec![call("b", "t", Vec::new())]);
    let cases = [
        ("sent", "b unknown", 0),
        ("sent ok", "b succeeded", 0),
        ("sent no", "b succeeded", 1),
        ("sent unsent", "b succeeded", 1),
        ("sent lost", "b unknown", 0),
        ("sent late", "b unknown", 0),
        ("sent given-up", "b unknown", 0),
        ("sent lost sent unsent", "b unknown", 0),
        ("sent lost sent no", "b unknown", 0),
        ("sent late sent no sent unsent", "b unknown", 0),
        ("sent given-up sent unsent", "b unknown", 0),
        ("sent lost sent ok", "b succeeded", 0),
        ("sent unsent sent no", "b succeeded", 1),
        ("sent lost retry", "b succeeded", 1),
        ("sent lost retry sent unsent", "b succeeded", 1),
        ("sent lost retry sent lost", "b unknown", 0),
        ("sent lost retry sent lost sent no", "b unknown", 0),
    ];
    for (words, expected, calls) in cases {
        let mut entries = vec![opened(&plan)];
        entries.extend(attempts(words));
        let before = entries.len();
        let summary = process(&plan, &RunOptions::default(), &mut entries, |_| {
            Some(Ok(ToolOutput::text("again")))
        });
        let records = entries[before..]
            .iter()
            .filter(|entry| matches!(entry.record, Record::Sent { .. }))
            .count();
        assert_eq!(
            (outcomes(&summary), records),
            (vec![expected.to_owned()], calls),
            "{words}"
        );
    }
}
