//! The arguments of an undo, computed from the output and the arguments of the call that it undoes.

use planwright_core::check::{CheckContext, check};
use planwright_core::plan::{Action, Name, Node, Output, Undo};
use planwright_core::{Catalog, Diagnostic, Place, Plan, Step, StepId, Value};
use planwright_engine::{Backends, Engine, RunId, SpawnRequest};

/// The step whose value is the arguments.
const COMPUTED: &str = "undo";

/// Computes the arguments of `undo` for a call with these arguments and this output. The error is one clause.
///
/// It is a plan of three values, so references and expressions mean what they mean in any plan.
pub(super) async fn undo_arguments(
    undo: &Undo,
    arguments: &Value,
    output: &Value,
) -> Result<Value, String> {
    let value = |id: &str, node: Node| {
        let nothing = Node::literal(Value::empty_object(), Place::NOWHERE);
        Step::new(StepId::new(id), Action::Value(node), nothing)
    };
    let literal = |value: &Value| Node::literal(value.clone(), Place::NOWHERE);
    let plan = Plan {
        steps: vec![
            value(Undo::OUTPUT, literal(output)),
            value(Undo::ARGUMENTS, literal(arguments)),
            value(COMPUTED, undo.args.clone()),
        ],
        output: Output::Steps(vec![Name {
            text: COMPUTED.into(),
            place: Place::NOWHERE,
        }]),
        ..Plan::default()
    };
    let catalog = Catalog::default();
    let (plan, found) = check(plan, &CheckContext::new(&catalog));
    let Some(plan) = plan else {
        let mut errors = found.into_iter().filter(Diagnostic::is_error);
        let message = errors.next().map(|error| error.message);
        return Err(message.unwrap_or_else(|| "its arguments cannot be computed".to_owned()));
    };
    let engine = Engine::new(Backends::new());
    let (run, events) = engine.spawn(SpawnRequest::new(RunId::random(), plan));
    drop(events);
    let summary = run.await;
    let step = summary.steps.into_iter().next_back();
    let Some(step) = step.filter(|step| step.at.step.as_str() == COMPUTED) else {
        return Err("its arguments cannot be computed".to_owned());
    };
    match (step.output, step.error) {
        (Some(computed), None) => Ok(computed),
        (_, Some(error)) => Err(error.message),
        (None, None) => Err("its arguments cannot be computed".to_owned()),
    }
}
