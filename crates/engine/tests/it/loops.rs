//! Loops: what becomes of a step when its items do.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;

use planwright_core::plan::{Alternative, Field, ForEach, Form, Node, Read, Reference, Source};
use planwright_core::{Place, Plan, Step, StepId, Value};
use planwright_engine::{RunOptions, StepStatus};

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
fn a_loop_may_allow_more_items_side_by_side_than_it_has() {
    for list in [&[][..], &[1_i64], &[1, 2]] {
        let mut each = Step::call("each", "t", Node::object(Vec::new(), Place::NOWHERE));
        each.for_each = Some(ForEach {
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
