//! Steps that extract data: their schemas, the types of their output, and the labels of their data.

use super::fixture::CheckFixture;
use crate::flow::FlowPolicy;
use crate::plan::{Action, Name, Node};
use crate::{Catalog, EXTRACTION, Lookup, Place, Policy, Tool, Value};

fn fixture() -> CheckFixture {
    let mut fixture = CheckFixture::with_tools(
        r#"{"web.get": {"out": {"type": "object", "properties": {"text": {"type": "string"}}}},
            "pay": {"in": {"type": "object", "properties": {"amount": {"type": "number"}}, "required": ["amount"]}}}"#,
    );
    fixture.catalog.add_extraction();
    fixture
}

/// A plan that extracts data by `args`, and pays the amount.
fn plan(args: &str, amount: &str) -> String {
    format!(
        r#"{{"steps": [
            {{"id": "page", "tool": "web.get"}},
            {{"id": "bill", "tool": "planwright.extract", "args": {args}}},
            {{"id": "pay", "tool": "pay", "args": {{"amount": {amount}}}}}
        ]}}"#
    )
}

const BILL: &str = r#"{"from": "${page.text}", "schema": {"type": "object", "properties": {"sum": {"type": "number"}, "to": {"type": "string"}}, "required": ["sum"], "additionalProperties": false}}"#;

#[test]
fn the_schema_types_the_output() {
    let fixture = fixture();
    fixture.expect(&plan(BILL, r#""${bill.sum}""#), &[]);
    fixture.expect(
        &plan(BILL, r#""${bill.to}""#),
        &["PW0504 at /steps/2/args/amount: the argument `amount` of the tool `pay` takes a number, but `${bill.to}` gives text"],
    );
    fixture.expect(
        &plan(BILL, r#""${bill.summ}""#),
        &["PW0402 at /steps/2/args/amount: `${bill.summ}` leads nowhere: there is no field `summ` in the output of `bill` (did you mean `sum`?)"],
    );
}

#[test]
fn a_schema_must_be_known_and_sound() {
    let check = |args: &str, expected: &str| {
        let (checked, diagnostics) = fixture().check(&plan(args, "3"));
        let found: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        assert!(checked.is_none(), "{args}");
        assert!(
            found.len() == 1 && found[0].starts_with(expected),
            "{found:?}"
        );
    };
    check(
        r#"{"from": "x", "schema": {"type": "${page.text}"}}"#,
        "PW0505 at /steps/1/args/schema: the schema of `bill` has references",
    );
    check(
        r#"{"from": "${page.text}", "schema": {"type": "numbr"}}"#,
        "PW0505 at /steps/1/args/schema: the schema of `bill` is malformed: ",
    );
    check(
        r#"{"from": "${page.text}", "schema": true}"#,
        "PW0501 at /steps/1/args/schema",
    );
    check(r#"{"schema": {}}"#, "PW0502 at /steps/1/args");
    check(r#"{"from": "x", "schema": {}, "tone": "stern"}"#, "PW0503");
}

#[test]
fn without_a_model_the_message_says_how_to_configure_one() {
    let mut fixture = fixture();
    fixture.catalog = fixture.catalog.without_extraction();
    fixture.expect(
        &plan(BILL, "3"),
        &["PW0201 at /steps/1/tool: there is no model that could extract data in `bill` (configure one as for planning: `[model]` in your own planwright.toml)"],
    );
}

#[test]
fn no_server_receives_the_texts() {
    let mut tool = Tool::new("planwright", "extract");
    tool.origin = "node evil.js".into();
    let mut catalog: Catalog = [tool].into_iter().collect();
    assert!(matches!(catalog.find(EXTRACTION), Lookup::Unknown));
    assert!(matches!(catalog.find("extract"), Lookup::Found(_)));
    catalog.add_extraction();
    let Lookup::Found(found) = catalog.find(EXTRACTION) else {
        panic!("the extraction tool is not found");
    };
    assert!(found.is_extraction());
    // Other tools keep their names, and the tool is not listed.
    let mut catalog: Catalog = [Tool::new("zip", "extract")].into_iter().collect();
    catalog.add_extraction();
    assert!(matches!(catalog.find("extract"), Lookup::Found(tool) if &*tool.server == "zip"));
    assert_eq!(catalog.len(), 1);
}

#[test]
fn a_checked_plan_matches_the_tools_it_was_checked_with() {
    let fixture = fixture();
    let (checked, _) = fixture.check(&plan(BILL, r#""${bill.sum}""#));
    let checked = checked.unwrap();
    assert_eq!(checked.tool_mismatches(&fixture.context()), []);
    let mut other = fixture.catalog.clone().without_extraction();
    let mut tool = Tool::extraction();
    tool.approval = true;
    other.add(tool);
    let context = crate::CheckContext::new(&other).with_policy(&fixture.policy);
    let found = checked.tool_mismatches(&context);
    assert_eq!(found.len(), 1, "{found:?}");
}

/// Returns whether the output of a plan may show an untrusted text, and is untrusted.
fn exposes(schema: &str, output: &str) -> bool {
    let mut fixture = fixture();
    fixture.policy = Policy::new().with_flow(FlowPolicy::default());
    let text = format!(
        r#"{{"steps": [
            {{"id": "page", "tool": "web.get"}},
            {{"id": "bill", "tool": "planwright.extract", "args": {{"from": "${{page.text}}", "schema": {schema}}}}}
        ], "output": "{output}"}}"#
    );
    let (checked, diagnostics) = fixture.check(&text);
    let checked = checked.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let report = checked.flow().unwrap();
    assert_eq!(report.output.0, crate::flow::Integrity::Untrusted);
    report.exposes
}

#[test]
fn only_texts_expose() {
    let closed = |fields: &str| {
        format!(r#"{{"type": "object", "properties": {fields}, "additionalProperties": false}}"#)
    };
    let mixed = closed(
        r#"{"n": {"type": "integer"}, "kind": {"enum": ["a", "b"]}, "t": {"type": "string"}, "l": {"type": "array", "items": {"type": "boolean"}}}"#,
    );
    assert!(exposes(&mixed, "${bill}"));
    assert!(exposes(&mixed, "${bill.t}"));
    assert!(!exposes(&mixed, "${bill.n}"));
    assert!(!exposes(&mixed, "${bill.kind}"));
    assert!(!exposes(&mixed, "${bill.l}"));
    assert!(!exposes(&mixed, "${bill.l[0]}"));
    assert!(!exposes(
        &closed(r#"{"n": {"type": "integer"}}"#),
        "${bill}"
    ));
    // The model may add fields to an open object.
    assert!(exposes(
        r#"{"type": "object", "properties": {"n": {"type": "integer"}}}"#,
        "${bill}"
    ));
    assert!(exposes("{}", "${bill}"));
}

#[test]
fn arguments_without_a_schema_are_refused() {
    let mut plan = super::fixture::plan(&plan(BILL, "3"));
    plan.steps[1].action = Action::Tool(Name {
        text: EXTRACTION.into(),
        place: Place::NOWHERE,
    });
    plan.steps[1].args = Node::literal(Value::empty_object(), Place::NOWHERE);
    let (checked, diagnostics) = fixture().check_plan(plan);
    assert!(checked.is_none());
    assert!(diagnostics.has_errors());
}
