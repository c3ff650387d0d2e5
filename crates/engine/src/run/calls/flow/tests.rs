//! The comparison of sources and the stated labels, over a run of three steps.

use std::time::Duration;

use planwright_core::check::{CheckContext, Policy, check};
use planwright_core::expression::parse_form;
use planwright_core::flow::{
    Confidentiality, FlowPattern, FlowPolicy, FlowRule, Guard, Integrity, OnViolation,
};
use planwright_core::plan::{Action, Field, Name, Node, Reference};
use planwright_core::{Catalog, Place, Plan, Schema, Step, StepId, Tool};

use super::*;
use crate::RunOptions;
use crate::backend::ToolCall;
use crate::run::{Effect, RunInput, StepSummary};

fn reference(text: &str) -> Node {
    Node::reference(Reference {
        text: format!("${{{text}}}").into(),
        place: Place::NOWHERE,
        form: parse_form(text).unwrap(),
    })
}

fn object(fields: Vec<(&str, Node)>) -> Node {
    let fields = fields.into_iter().map(|(key, value)| Field {
        key: key.into(),
        value,
    });
    Node::object(fields.collect(), Place::NOWHERE)
}

/// Reads a mail, and sends something to its author.
fn plan() -> Plan {
    let all = Node::list(
        vec![reference("mail.from"), reference("mail.body")],
        Place::NOWHERE,
    );
    let names = Step::new(
        StepId::new("names"),
        Action::Value(object(vec![("all", all)])),
        Node::default(),
    );
    let args = object(vec![
        ("to", reference("names.all[0]")),
        ("body", Node::literal(Value::from("hello"), Place::NOWHERE)),
    ]);
    Plan {
        steps: vec![
            Step::call("mail", "inbox.read", object(Vec::new())),
            names,
            Step::call("send", "outbox.send", args),
        ],
        ..Plan::default()
    }
}

fn rule(text: &str) -> FlowRule {
    FlowPattern::parse(text).unwrap().into()
}

/// A machine for [`plan`] under a policy that trusts the mail.
fn machine(violation: OnViolation) -> RunMachine {
    let catalog: Catalog = [Tool::new("inbox", "read"), Tool::new("outbox", "send")]
        .into_iter()
        .collect();
    let flow = FlowPolicy {
        untrusted: Vec::new(),
        guard: vec![Guard::Rule(rule("outbox.send:to"))],
        leaves: vec![rule("outbox.send:to")],
        violation,
        ..FlowPolicy::default()
    };
    let policy = Policy::new().with_flow(flow);
    let context = CheckContext::new(&catalog).with_policy(&policy);
    let (checked, diagnostics) = check(plan(), &context);
    let checked = checked.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    RunMachine::new("run".parse().unwrap(), checked, RunOptions::default())
}

/// The mail, with labels of the server.
fn mail(labels: ValueLabels) -> ToolOutput {
    let value = Value::from_json(r#"{"from": "ann@example.org", "body": "hi"}"#).unwrap();
    ToolOutput {
        labels,
        ..ToolOutput::value(value)
    }
}

/// Answers the first call, and returns what happens next.
fn after_mail(run: &mut RunMachine, output: ToolOutput) -> Vec<Effect> {
    let mut effects = Vec::new();
    run.start(&mut effects);
    run.proceed(&mut effects);
    let call = effects.iter().find_map(|effect| match effect {
        Effect::Call { task, attempt, .. } => Some((*task, *attempt)),
        _ => None,
    });
    let (task, attempt) = call.unwrap();
    effects.clear();
    let input = RunInput::AttemptEnded {
        task,
        attempt,
        result: Ok(output),
    };
    run.handle(input, Duration::from_millis(1), &mut effects);
    run.proceed(&mut effects);
    effects
}

fn send(run: &RunMachine) -> StepSummary {
    run.summary().steps.pop().unwrap()
}

fn calls(effects: &[Effect]) -> bool {
    effects
        .iter()
        .any(|effect| matches!(effect, Effect::Call { .. }))
}

#[test]
fn a_text_from_a_named_source_passes() {
    let mut run = machine(OnViolation::Ask);
    assert!(calls(&after_mail(&mut run, mail(ValueLabels::default()))));
}

#[test]
fn a_text_from_an_unnamed_source_stops_the_call() {
    let mut run = machine(OnViolation::Ask);
    let mut report = run.flow().unwrap().clone();
    let named = report.parameters[0].sources().listed().to_vec();
    let fields: Vec<_> = named.iter().map(|source| &*source.field).collect();
    assert_eq!(fields, ["body", "from"]);
    // As if the analysis had forgotten a source.
    Arc::make_mut(&mut report.parameters)[0].retain_sources(|source| *source.field == *"body");
    run.run_flow.report = Some(Box::new(report));
    assert!(!calls(&after_mail(&mut run, mail(ValueLabels::default()))));
    let error = send(&run).error.unwrap();
    assert_eq!(error.kind, ErrorKind::Internal);
    assert_eq!(
        error.message,
        "the parameter `to` has a text of `mail.from`, a source that the flow analysis has not named"
    );
}

#[test]
fn a_text_that_is_an_input_too_is_not_compared() {
    let mut run = machine(OnViolation::Ask);
    let mut report = run.flow().unwrap().clone();
    Arc::make_mut(&mut report.parameters)[0].retain_sources(|_| false);
    run.run_flow.report = Some(Box::new(report));
    let output = mail(ValueLabels::default());
    run.exclude_from_sources(&output.value);
    assert!(calls(&after_mail(&mut run, output)));
}

/// Runs `steps` to their end under a policy that trusts `src.*:a`, and returns the error of a step, if any.
fn error_of(
    steps: Vec<Step>,
    output: &str,
    mut answer: impl FnMut(&ToolCall) -> Value,
) -> Option<ToolError> {
    let mut source = Tool::new("src", "get");
    source.output = Schema::from_value(Value::from_json(output).unwrap());
    let catalog: Catalog = [source, Tool::new("any", "put"), Tool::new("any", "call")]
        .into_iter()
        .collect();
    let flow = FlowPolicy {
        trusted: vec![rule("src.*:a")],
        guard: vec![Guard::Rule(rule("any.call"))],
        violation: OnViolation::Warn,
        ..FlowPolicy::default()
    };
    let policy = Policy::new().with_flow(flow);
    let context = CheckContext::new(&catalog).with_policy(&policy);
    let plan = Plan {
        steps,
        ..Plan::default()
    };
    let (checked, diagnostics) = check(plan, &context);
    let checked = checked.unwrap_or_else(|| panic!("{diagnostics:#?}"));
    let mut run = RunMachine::new("run".parse().unwrap(), checked, RunOptions::default());
    let mut effects = Vec::new();
    run.start(&mut effects);
    loop {
        run.proceed(&mut effects);
        let call = effects.drain(..).find_map(|effect| match effect {
            Effect::Call {
                task,
                attempt,
                call,
                ..
            } => Some((task, attempt, call)),
            _ => None,
        });
        let Some((task, attempt, call)) = call else {
            break;
        };
        let result = Ok(ToolOutput::value(answer(&call)));
        let input = RunInput::AttemptEnded {
            task,
            attempt,
            result,
        };
        run.handle(input, Duration::from_millis(1), &mut effects);
    }
    assert!(run.is_done());
    run.summary()
        .steps
        .into_iter()
        .find_map(|step| step.error.clone())
}

fn after(mut step: Step, id: &str) -> Step {
    step.after.push(Name {
        text: id.into(),
        place: Place::NOWHERE,
    });
    step
}

#[test]
fn outputs_that_their_schemas_do_not_describe_pass() {
    let closed = r#"{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "additionalProperties": false}"#;
    for (schema, part, output) in [
        (closed, "q", r#"{"a": "x", "b": "y", "c": "z"}"#),
        ("{}", "q['0'].b", r#"{"0": {"b": "x"}}"#),
        ("{}", "q.b['1']", r#"{"b": {"1": "x"}}"#),
        ("{}", "q['x.b']", r#"{"x.b": "x"}"#),
    ] {
        let steps = vec![
            Step::call("q", "src.get", object(Vec::new())),
            Step::call("s", "any.call", object(vec![("to", reference(part))])),
        ];
        let output = Value::from_json(output).unwrap();
        assert_eq!(error_of(steps, schema, |_| output.clone()), None, "{part}");
    }
}

#[test]
fn a_parameter_whose_name_has_a_dot_is_compared_by_itself() {
    for (name, other) in [("a.b", "a"), ("", "a")] {
        let inner = object(vec![("b", reference("q.b"))]);
        let args = object(vec![(name, reference("q.a")), (other, inner)]);
        let steps = vec![
            Step::call("q", "src.get", object(Vec::new())),
            Step::call("s", "any.call", args),
        ];
        let output = Value::from_json(r#"{"a": "x", "b": "y"}"#).unwrap();
        assert_eq!(error_of(steps, "{}", |_| output.clone()), None, "{name}");
    }
}

#[test]
fn a_text_that_a_function_keeps_is_not_compared() {
    let text = object(vec![("w", reference("'a' + 'b'"))]);
    let steps = vec![
        Step::new(StepId::new("v"), Action::Value(text), Node::default()),
        Step::call("p", "any.put", object(vec![("x", reference("v.w"))])),
        after(Step::call("q", "src.get", object(Vec::new())), "p"),
        after(
            Step::call("s", "any.call", object(vec![("to", reference("v.w"))])),
            "q",
        ),
    ];
    let mut stored = Value::Null;
    let error = error_of(steps, "{}", |call| match &*call.tool.name {
        "put" => {
            stored = call.args.get("x").unwrap().clone();
            Value::Null
        }
        _ => stored.clone(),
    });
    assert_eq!(error, None);
}

#[test]
fn a_stated_label_lets_a_person_decide() {
    let untrusted = ValueLabels {
        integrity: Integrity::Untrusted,
        ..ValueLabels::default()
    };
    let private = ValueLabels {
        confidentiality: Confidentiality::Private,
        ..ValueLabels::default()
    };
    for (labels, code) in [(untrusted, "PW1001"), (private, "PW1002")] {
        let mut run = machine(OnViolation::Ask);
        let effects = after_mail(&mut run, mail(labels));
        let reason = effects.iter().find_map(|effect| match effect {
            Effect::Ask { request, .. } => request.reason.clone(),
            _ => None,
        });
        assert!(reason.unwrap().starts_with(code));
        assert!(!calls(&effects));
        let codes: Vec<_> = run
            .warnings
            .to_vec()
            .iter()
            .map(|warning| warning.code.as_str())
            .collect();
        assert_eq!(codes, [code]);

        let mut run = machine(OnViolation::Deny);
        let effects = after_mail(&mut run, mail(labels));
        assert!(!calls(&effects));
        let error = send(&run).error.unwrap();
        assert_eq!(
            (error.kind, &*error.message),
            (ErrorKind::Policy, FLOW_REFUSAL)
        );

        let mut run = machine(OnViolation::Warn);
        assert!(calls(&after_mail(&mut run, mail(labels))));
    }
}
