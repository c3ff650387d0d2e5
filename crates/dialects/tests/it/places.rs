//! Tests of places: the parts of a plan lead to the text where they were written.

use planwright_core::Plan;
use planwright_core::plan::{Node, Output};

use crate::golden::sound_plan;

fn spots(plan: &Plan, node: &Node) -> Vec<(String, String)> {
    let mut spots = Vec::new();
    node.each_reference(&mut |reference| {
        let source = plan.sources.source_of(reference.place).unwrap();
        let span = source.span(reference.place).unwrap();
        let pointer = source.pointer(reference.place).unwrap();
        spots.push((pointer, source.text()[span.start..span.end].to_owned()));
    });
    spots
}

#[track_caller]
fn check(name: &str, text: &str, wanted: &[(&str, &str)]) {
    let plan = sound_plan(text, name);
    let found: Vec<(String, String)> = plan
        .steps
        .iter()
        .flat_map(|step| spots(&plan, &step.args))
        .collect();
    let found: Vec<(&str, &str)> = found
        .iter()
        .map(|(pointer, spot)| (pointer.as_str(), spot.as_str()))
        .collect();
    assert_eq!(found, wanted);
}

#[test]
fn a_reference_points_to_its_marker() {
    check(
        "concierge",
        r#"{"steps": [{"id": "a", "tool": "t"}, {"id": "b", "tool": "t", "args": {"x": [{"output_by_reference": {"a": []}}]}}]}"#,
        &[("/steps/1/args/x/0", r#"{"output_by_reference": {"a": []}}"#)],
    );
    check(
        "mcp-cli",
        r#"{"variables": {"a": 1}, "steps": [{"tool": "t", "args": {"w": "${a}", "t": "\u00e9\n\"é\" ${a} and ${ a }!"}}]}"#,
        &[
            ("/steps/0/args/w", r#""${a}""#),
            ("/steps/0/args/t", "${a}"),
            ("/steps/0/args/t", "${ a }"),
        ],
    );
    check(
        "agentle",
        r#"{"steps": [{"id": "a", "tool": "t"}, {"id": "b", "tool": "t", "arguments": "{\"x\": [\"$ref:a\"]}"}]}"#,
        &[("/steps/1/arguments/x/0", r#"\"$ref:a\""#)],
    );
}

#[test]
fn places_in_lines_are_those_of_json() {
    check(
        "lines",
        "a = f()\nb = g(x=[${a.b}, \"\\u00e9 ${a} and ${ a }!\"],\n  y=\"${a}\")",
        &[
            ("/steps/1/args/x/0", "${a.b}"),
            ("/steps/1/args/x/1", "${a}"),
            ("/steps/1/args/x/1", "${ a }"),
            ("/steps/1/args/y", r#""${a}""#),
        ],
    );
    let text = "plan {\"vars\": {\"v\": 1}}\n\"a b\" = f(1, x=2) {\"after\": [\"c\"]}\nc = ${vars.v}\nreturn [\"c\"]";
    let plan = sound_plan(text, "lines");
    let step = &plan.steps[0];
    let Output::Steps(output) = &plan.output else {
        panic!("ids are expected");
    };
    let places = [
        plan.inputs[0].place,
        step.place,
        step.tool().unwrap().place,
        step.args.place,
        step.positional[0].place,
        step.after[0].place,
        output[0].place,
    ];
    let spots = places.map(|place| {
        let span = plan.sources.span(place).unwrap();
        (
            plan.sources.pointer(place).unwrap(),
            &text[span.start..span.end],
        )
    });
    let wanted = [
        ("/vars/v", "1"),
        ("/steps/0", "\"a b\" = f(1, x=2) {\"after\": [\"c\"]}"),
        ("/steps/0/tool", "f"),
        ("/steps/0/args", "1, x=2"),
        ("/steps/0/positional/0", "1"),
        ("/steps/0/after/0", "\"c\""),
        ("/output/0", "\"c\""),
    ];
    assert_eq!(
        spots,
        wanted.map(|(pointer, spot)| (pointer.to_owned(), spot))
    );
}

#[test]
fn steps_and_names_point_to_where_they_stand() {
    let text = r#"{"steps": [{"index": "1", "tool": "get", "args": {}, "depends_on": ["2"], "result_variable": "x"}]}"#;
    let plan = sound_plan(text, "mcp-cli");
    let step = &plan.steps[0];
    let places = [
        step.place,
        step.tool().unwrap().place,
        step.args.place,
        step.after[0].place,
        step.writes.as_ref().unwrap().place,
    ];
    let pointers = places.map(|place| plan.sources.pointer(place).unwrap());
    let wanted = [
        "/steps/0",
        "/steps/0/tool",
        "/steps/0/args",
        "/steps/0/depends_on/0",
        "/steps/0/result_variable",
    ];
    assert_eq!(pointers, wanted);
}
