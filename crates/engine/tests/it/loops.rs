//! Loops: the outcome of a step from those of its items.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::expression::parse_form;
use planwright_core::plan::{
    Action, Alternative, Field, ForEach, Form, Node, PlanCall, PlanTarget, Read, Reference, Repeat,
    Source,
};
use planwright_core::{Place, Plan, Step, StepId, Value};
use planwright_engine::backend::{ErrorKind, ToolError, ToolOutput};
use planwright_engine::event::Address;
use planwright_engine::journal::{Entry, Record};
use planwright_engine::options::FailurePolicy;
use planwright_engine::run::{Effect, History, RunInput, RunMachine};
use planwright_engine::{RunOptions, RunSummary, StepStatus};

use crate::drive::{drive, sound};

fn args(source: Source) -> Node {
    let value = Node::reference(Reference {
        text: Arc::from("r"),
        place: Place::NOWHERE,
        form: Form::First(vec![Alternative::Read(Read::whole(source))]),
    });
    Node::object(
        vec![Field {
            key: Arc::from("of"),
            value,
        }],
        Place::NOWHERE,
    )
}

fn from(step: &str) -> Source {
    Source::Step(StepId::new(step))
}

#[test]
fn a_loop_whose_items_need_a_failed_step_is_skipped_and_so_is_what_needs_it() {
    let mut each = Step::call("each", "t", args(from("first")));
    each.for_each = Some(ForEach {
        item_name: None,
        with_item: false,
        over: Node::literal(Value::list([1_i64, 2].map(Value::from)), Place::NOWHERE),
        max_parallel: None,
    });
    let plan = Plan {
        steps: vec![
            Step::call("first", "t", Node::object(Vec::new(), Place::NOWHERE)),
            each,
            Step::call("last", "t", args(from("each"))),
        ],
        ..Plan::default()
    };
    let failing = BTreeSet::from(["first".to_owned()]);
    let driven = drive(sound(plan), RunOptions::default(), &failing, &mut |_| 0);
    let statuses: Vec<StepStatus> = driven
        .summary
        .steps
        .iter()
        .map(|step| step.status)
        .collect();
    assert_eq!(
        statuses,
        [StepStatus::Failed, StepStatus::Skipped, StepStatus::Skipped]
    );
    assert_eq!(driven.log, ["+first", "-first"]);
}

#[test]
fn items_stand_beside_their_outputs() {
    let value = Node::reference(Reference {
        text: Arc::from("item * 2"),
        place: Place::NOWHERE,
        form: parse_form("item * 2").expect("an expression"),
    });
    let mut each = Step::new(StepId::new("each"), Action::Value(value), nothing());
    let mut items = vec![Value::from(1_i64), Value::from(2_i64)];
    for (expected, status) in [
        (
            r#"[{"item":1,"output":2},{"item":2,"output":4}]"#,
            StepStatus::Succeeded,
        ),
        // Items without an output stay as well.
        (
            r#"[{"item":1,"output":2},{"item":2,"output":4},{"item":"x","output":null}]"#,
            StepStatus::Failed,
        ),
    ] {
        each.for_each = Some(ForEach {
            over: Node::literal(Value::list(items.iter().cloned()), Place::NOWHERE),
            max_parallel: None,
            item_name: None,
            with_item: true,
        });
        let plan = Plan {
            steps: vec![each.clone()],
            ..Plan::default()
        };
        let driven = drive(
            sound(plan),
            RunOptions::default(),
            &BTreeSet::new(),
            &mut |_| 0,
        );
        let step = &driven.summary.steps[0];
        assert_eq!(step.status, status);
        let output = step.output.as_ref().map(Value::to_json);
        assert_eq!(output.as_deref(), Some(expected));
        items.push("x".into());
    }
}

#[test]
fn expressions_see_the_time_of_the_run() {
    let value = Node::reference(Reference {
        text: Arc::from("now()"),
        place: Place::NOWHERE,
        form: parse_form("now()").expect("an expression"),
    });
    let plan = Plan {
        steps: vec![Step::new(
            StepId::new("now"),
            Action::Value(value),
            nothing(),
        )],
        ..Plan::default()
    };
    let mut options = RunOptions::default();
    options.evaluation.now = Some(Duration::from_millis(86_400_250));
    let driven = drive(sound(plan), options, &BTreeSet::new(), &mut |_| 0);
    let output = driven.summary.steps[0].output.as_ref();
    let output = output.map(Value::to_json);
    assert_eq!(output.as_deref(), Some(r#""1970-01-02T00:00:00.25Z""#));
}

#[test]
fn a_loop_may_allow_more_items_side_by_side_than_it_has() {
    for list in [&[][..], &[1_i64], &[1, 2]] {
        let mut each = Step::call("each", "t", Node::object(Vec::new(), Place::NOWHERE));
        each.for_each = Some(ForEach {
            item_name: None,
            with_item: false,
            over: Node::literal(
                Value::list(list.iter().copied().map(Value::from)),
                Place::NOWHERE,
            ),
            max_parallel: Some(NonZeroU32::MAX),
        });
        let plan = Plan {
            steps: vec![each],
            ..Plan::default()
        };
        let options = RunOptions::default();
        let driven = drive(sound(plan), options, &BTreeSet::new(), &mut |_| 0);
        assert_eq!(driven.summary.steps[0].status, StepStatus::Succeeded);
        assert_eq!(driven.log.len(), 2 * list.len());
    }
}

fn nothing() -> Node {
    Node::object(Vec::new(), Place::NOWHERE)
}

/// A step of two items with the given parallelism.
fn items(together: u32) -> Step {
    let mut step = Step::call("part", "t", nothing());
    step.for_each = Some(ForEach {
        item_name: None,
        with_item: false,
        over: Node::literal(Value::list([1_i64, 2].map(Value::from)), Place::NOWHERE),
        max_parallel: NonZeroU32::new(together),
    });
    step
}

/// A step with rounds; the first round is the last one if `until` holds.
fn rounds(until: bool) -> Step {
    let mut step = Step::call("part", "t", nothing());
    step.repeat = Some(Repeat {
        until: Node::literal(until.into(), Place::NOWHERE),
        max: NonZeroU32::new(3).unwrap(),
    });
    step
}

/// A step that runs another one, in a plan of its own.
fn inner(step: Step) -> Step {
    let plan = Plan {
        steps: vec![step],
        ..Plan::default()
    };
    Step {
        action: Action::Plan(PlanCall {
            target: PlanTarget::Inline(Box::new(plan)),
            scopes: Vec::new(),
        }),
        ..Step::call("whole", "t", nothing())
    }
}

/// A run of `step` that stops because another step failed while `step` was running.
fn stopped(step: Step, history: History) -> RunSummary {
    let plan = Plan {
        steps: vec![step, Step::call("bad", "u", nothing())],
        ..Plan::default()
    };
    let options = RunOptions {
        on_failure: FailurePolicy::Stop,
        ..RunOptions::default()
    };
    let mut run =
        RunMachine::new("run".parse().unwrap(), sound(plan), options).after(Arc::new(history));
    let mut effects = Vec::new();
    let mut calls = Vec::new();
    run.start(&mut effects);
    while !run.is_done() {
        run.proceed(&mut effects);
        for effect in effects.drain(..) {
            if let Effect::Call { task, call, .. } = effect {
                calls.push((task, *call));
            }
        }
        let bad = calls
            .iter()
            .position(|(_, call)| call.context.step.as_str() == "bad");
        let (task, call) = calls.remove(bad.unwrap_or(0));
        let result = match bad {
            Some(_) => Err(ToolError::new(ErrorKind::Tool, "no")),
            None => Ok(ToolOutput::value(Value::from("done"))),
        };
        let attempt = call.context.attempt;
        let ended = RunInput::AttemptEnded {
            task,
            attempt,
            result,
        };
        run.handle(ended, Duration::ZERO, &mut effects);
    }
    run.summary()
}

fn check_stopped(step: Step, history: History, expected: &str) {
    let summary = stopped(step, history);
    let mut outcomes = Vec::new();
    let mut at = summary.steps.first();
    while let Some(step) = at {
        let reason = step.reason.as_ref();
        let reason = reason.map_or(String::new(), |reason| format!(" by {}", reason.of));
        outcomes.push(format!("{} {}{reason}", step.at, step.status));
        at = step.parts.last();
    }
    assert_eq!(outcomes.join(", "), expected);
    let failed = summary.steps.last().unwrap();
    assert_eq!(failed.status, StepStatus::Failed);
}

#[test]
fn a_loop_that_a_stop_cut_short_has_not_run() {
    let check = |step, expected| check_stopped(step, History::default(), expected);
    check(items(2), "part succeeded, part[1] succeeded");
    check(items(1), "part not_run by bad, part[0] succeeded");
    check(rounds(true), "part succeeded, part#0 succeeded");
    check(rounds(false), "part not_run by bad, part#0 succeeded");
    check(
        inner(items(1)),
        "whole not_run by bad, whole/part not_run by bad, whole/part[0] succeeded",
    );
}

#[test]
fn a_whole_is_as_unknown_as_a_part_that_may_have_happened() {
    let check = |step: Step, part: Address, expected| {
        let sent = Entry {
            at: Duration::ZERO,
            turn: 0,
            record: Record::Sent {
                at: Arc::new(part),
                server: "s".into(),
                tool: Arc::from("t"),
                attempt: 1,
                args: Value::empty_object(),
                consent: None,
            },
        };
        check_stopped(step, History::new([&sent]), expected);
    };
    let part = Address {
        inside: None,
        instance: None,
        step: StepId::new("part"),
        item: Some(0),
        round: None,
    };
    check(items(1), part.clone(), "part unknown, part[0] unknown");
    let round = Address {
        item: None,
        round: Some(0),
        ..part.clone()
    };
    check(rounds(false), round, "part unknown, part#0 unknown");
    let whole = Address {
        step: StepId::new("whole"),
        item: None,
        ..part.clone()
    };
    let inside = Address {
        inside: Some(Arc::new(whole)),
        item: None,
        ..part
    };
    check(
        inner(Step::call("part", "t", nothing())),
        inside,
        "whole unknown, whole/part unknown",
    );
}
