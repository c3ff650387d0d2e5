//! That what a plan says points to where it was written.

use planwright_core::Plan;
use planwright_core::plan::Node;

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
