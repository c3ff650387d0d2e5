//! Undos: calls that know the output and the arguments of the call to undo.

use super::fixture::{CheckFixture, catalog, plan};
use crate::check::{CheckContext, Policy, check};
use crate::plan::{Alternative, Field, Form, Name, Node, Read, Reference, Segment, Source, Undo};
use crate::{Place, Plan, StepId};

const TOOLS: &str = r#"{
    "create": {"in": {"type": "object", "properties": {"title": {"type": "string"}}, "additionalProperties": false},
               "out": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"], "additionalProperties": false}},
    "delete": {"in": {"type": "object", "properties": {"id": {"type": "string"}, "count": {"type": "integer"}}, "required": ["id"], "additionalProperties": false}}
}"#;

/// The plan of one step that `tool` undoes with `args`, each a name and the read of its value.
fn undone_by(text: &str, tool: &str, args: &[(&str, &str, &str)]) -> Plan {
    let mut plan = plan(text);
    let fields = args.iter().map(|(name, source, key)| Field {
        key: (*name).into(),
        value: Node::reference(Reference {
            text: format!("${{{source}.{key}}}").into(),
            place: Place::NOWHERE,
            form: Form::First(vec![Alternative::Read(Read::part(
                Source::Step(StepId::new(*source)),
                vec![Segment::key(*key)],
            ))]),
        }),
    });
    plan.steps[0].undo = Some(Box::new(Undo {
        tool: Name {
            text: tool.into(),
            place: Place::NOWHERE,
        },
        args: Node::object(fields.collect(), Place::NOWHERE),
    }));
    plan
}

fn messages(plan: Plan, policy: &Policy) -> Vec<String> {
    let catalog = catalog(TOOLS);
    let context = CheckContext::new(&catalog).with_policy(policy);
    let (_, found) = check(plan, &context);
    let found = found.iter().filter(|found| found.is_error());
    found
        .map(|found| format!("{} {}", found.code, found.message))
        .collect()
}

#[test]
fn an_undo_is_checked_as_a_call() {
    let step = r#"{"steps": [{"id": "a", "tool": "create", "args": {"title": "x"}}]}"#;
    let check = |tool: &str, args: &[(&str, &str, &str)], expected: &[&str]| {
        let found = messages(undone_by(step, tool, args), &Policy::new());
        assert_eq!(found, expected, "{tool} {args:?}");
    };
    check("delete", &[("id", "output", "id")], &[]);
    check("delete", &[("id", "arguments", "title")], &[]);
    check(
        "delete",
        &[],
        &["PW0502 the tool `delete` needs the argument `id`"],
    );
    check(
        "remove",
        &[("id", "output", "id")],
        &["PW0201 there is no tool `remove`"],
    );
    check(
        "delete",
        &[("id", "output", "key")],
        &[
            "PW0402 `${output.key}` leads nowhere: there is no field `key` in the output of `output`",
        ],
    );
    check(
        "delete",
        &[("id", "output", "id"), ("count", "arguments", "title")],
        &[
            "PW0504 the argument `count` of the tool `delete` takes an integer, but `${arguments.title}` gives text",
        ],
    );
    // It knows no other step, and not the step itself.
    check(
        "delete",
        &[("id", "a", "id")],
        &["PW0204 `${a.id}` refers to the step `a`, which is not in the plan"],
    );
}

#[test]
fn an_undo_of_a_denied_tool_is_denied() {
    let step = r#"{"steps": [{"id": "a", "tool": "create"}]}"#;
    let plan = undone_by(step, "delete", &[("id", "output", "id")]);
    let policy = Policy::new().deny("delete");
    assert_eq!(
        messages(plan, &policy),
        ["PW0602 the policy denies the tool `delete`"]
    );
}

#[test]
fn only_a_call_has_an_undo() {
    let plan = undone_by(r#"{"steps": [{"id": "a", "value": 1}]}"#, "delete", &[]);
    assert_eq!(
        messages(plan, &Policy::new()),
        ["PW0107 the step `a` has an undo and calls no tool"]
    );
}

#[test]
fn an_undo_is_part_of_the_meaning_of_its_plan() {
    let fixture = CheckFixture::with_tools(TOOLS);
    let step = r#"{"steps": [{"id": "a", "tool": "create"}]}"#;
    let digest = |plan: Plan| {
        let (checked, _) = fixture.check_plan(plan);
        checked.unwrap().digest().clone()
    };
    let with = undone_by(step, "delete", &[("id", "output", "id")]);
    let other = undone_by(step, "delete", &[("id", "arguments", "title")]);
    let digests = [digest(plan(step)), digest(with.clone()), digest(other)];
    assert_eq!(digests[1], digest(with.clone()));
    assert!(digests[0] != digests[1] && digests[1] != digests[2]);
    let (checked, _) = fixture.check_plan(with);
    let checked = checked.unwrap();
    let tool = checked.steps()[0].undo.as_ref().unwrap();
    assert_eq!(&*tool.name, "delete");
}
