//! Plans that are quickly written and large: what they cost grows with their size, and no faster.

use std::sync::Arc;

use planwright_core::plan::{Input, InputKind, Node};
use planwright_core::{Place, Plan, Step, Value};
use planwright_engine::run::Run;
use planwright_engine::{RunOptions, RunSummary};

use crate::drive::sound;

/// What a run of `plan`, none of whose steps calls anything, comes to.
fn ran(plan: Plan) -> RunSummary {
    let mut run = Run::new("run", sound(plan), RunOptions::default());
    let mut effects = Vec::new();
    run.start(&mut effects);
    run.proceed(&mut effects);
    assert!(run.is_done());
    run.summary()
}

#[test]
fn many_variables() {
    const COUNT: usize = 30_000;
    let inputs = (0..COUNT).map(|number| Input {
        name: Arc::from(format!("v{number}")),
        kind: InputKind::Variable,
        schema: Value::Null,
        default: Some(Value::from(number as u64)),
        place: Place::NOWHERE,
    });
    let mut step = Step::call("a", "t", Node::object(Vec::new(), Place::NOWHERE));
    step.when = Some(Node::literal(false.into(), Place::NOWHERE));
    let plan = Plan {
        inputs: inputs.collect(),
        steps: vec![step],
        ..Plan::default()
    };
    let summary = ran(plan);
    let names = summary.vars.as_object().unwrap();
    assert_eq!(names.len(), COUNT);
    assert_eq!(names.get_index(7).unwrap().0.as_ref(), "v7");
}
