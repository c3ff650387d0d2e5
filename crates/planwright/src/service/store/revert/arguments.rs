//! The arguments of an undo, computed from the output and the arguments of the call that it undoes.

use planwright_core::check::{CheckContext, check};
use planwright_core::plan::{
    Action, Alternative, Form, Missing, Name, Node, NodeKind, Output, Source, Undo,
};
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
        return Err(message.map_or_else(uncomputed, |message| about_call(&message)));
    };
    let engine = Engine::new(Backends::new());
    let (run, events) = engine.spawn(SpawnRequest::new(RunId::random(), plan));
    drop(events);
    let summary = run.await;
    let step = summary.steps.into_iter().next_back();
    let Some(step) = step.filter(|step| step.at.step.as_str() == COMPUTED) else {
        return Err(uncomputed());
    };
    match (step.output, step.error) {
        (Some(computed), None) => match null_argument(undo, &computed) {
            Some(reason) => Err(reason),
            None => Ok(computed),
        },
        (_, Some(error)) => Err(about_call(&error.message)),
        (None, None) => Err(uncomputed()),
    }
}

fn uncomputed() -> String {
    "its arguments cannot be computed".to_owned()
}

/// Returns `message`, in which the output and the arguments of the call are steps, with the call in their place.
fn about_call(message: &str) -> String {
    let names = [
        (Undo::OUTPUT, "the output of the call"),
        (Undo::ARGUMENTS, "the arguments of the call"),
    ];
    names
        .iter()
        .fold(message.to_owned(), |message, (step, call)| {
            message.replace(&format!("the output of `{step}`"), call)
        })
}

/// Returns the reason why `computed` are not the arguments of the undo: it reads a field of the output, and that is null. Such a call
/// would undo something else, or everything. A reference that permits a missing field, or has a fallback, may give null.
fn null_argument(undo: &Undo, computed: &Value) -> Option<String> {
    let NodeKind::Object(fields) = &undo.args.kind else {
        return None;
    };
    fields.iter().find_map(|field| {
        let NodeKind::Reference(reference) = &field.value.kind else {
            return None;
        };
        let Form::First(alternatives) = &reference.form else {
            return None;
        };
        let [Alternative::Read(read)] = &alternatives[..] else {
            return None;
        };
        let is_of_output = matches!(&read.source, Source::Step(id) if id.as_str() == Undo::OUTPUT);
        let is_null = computed.get(&field.key) == Some(&Value::Null);
        (is_of_output && read.missing == Missing::Fail && is_null)
            .then(|| format!("`{}` is null", reference.text))
    })
}
