//! Tests of the native dialect.

use planwright_core::plan::{
    Action, Method, Name, Node, NodeKind, OnError, Output, SlotKind, SlotPath, Targets, Writes,
};
use planwright_core::{Place, Plan, Step, StepId, Value};

use super::print::print;
use crate::document::{ReadLimits, read};
use crate::{ReadOptions, parse};

/// The plan of `text` and its diagnostics: code, pointer, message and help.
fn read_plan(text: &str) -> (Option<Plan>, Vec<String>) {
    let result = parse(
        text.as_bytes(),
        &ReadOptions::new("test").in_dialect("native"),
    );
    let diagnostics = result
        .diagnostics
        .iter()
        .map(|diagnostic| {
            let help = diagnostic.help.as_deref().unwrap_or("-");
            let fix = diagnostic
                .fix
                .as_ref()
                .map(|fix| format!(" => {}", fix.replacement))
                .unwrap_or_default();
            format!(
                "{} {} {} | {help}{fix}",
                diagnostic.code, diagnostic.pointer, diagnostic.message
            )
        })
        .collect();
    (result.plan, diagnostics)
}

/// The plan of `text`, which has no diagnostics.
fn sound_plan(text: &str) -> Plan {
    let (plan, diagnostics) = read_plan(text);
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:#?}");
    plan.unwrap_or_else(|| panic!("{text} gives no plan"))
}

/// Compares the diagnostics of a step with `fields` beside its id.
fn check_step(fields: &str, expected: &[&str]) {
    let (_, diagnostics) = read_plan(&format!(r#"{{"steps": [{{"id": "a", {fields}}}]}}"#));
    assert_eq!(diagnostics, expected, "{fields}");
}

/// Compares the diagnostics of a plan with `fields` beside its steps.
fn check_plan(fields: &str, expected: &[&str]) {
    let (_, diagnostics) = read_plan(&format!(
        r#"{{"steps": [{{"id": "a", "tool": "t"}}], {fields}}}"#
    ));
    assert_eq!(diagnostics, expected, "{fields}");
}

#[test]
fn a_plan_as_models_write_it() {
    let plan = sound_plan(
        r#"{
        "name": "compare-weather",
        "inputs": {"cities": {"type": "array", "default": ["Tokyo", "London"]}, "unit": {"type": "string"}},
        "steps": [
            {"id": "weather", "for_each": "${inputs.cities}", "tool": "get_weather", "args": {"city": "${item}"}},
            {"id": "warmest", "tool": "compare_data", "args": {"temps": "${weather[*].temp}"}},
            {"id": "warn", "when": "${warmest.temp > 35}", "tool": "notify", "args": {"text": "Heat in ${warmest.city}"}},
            {"id": "ids", "value": "${weather.filter(w, w.hot).map(w, w.id)}", "on_error": {"output": []}}
        ],
        "output": ["warmest"]
    }"#,
    );
    assert_eq!(plan.name.as_deref(), Some("compare-weather"));
    assert_eq!(
        plan.inputs[0].default,
        Some(Value::list(["Tokyo".into(), "London".into()]))
    );
    assert_eq!(plan.inputs[0].schema.to_json(), r#"{"type":"array"}"#);
    assert_eq!(plan.inputs[1].default, None);
    assert_eq!(plan.steps.len(), 4);
    assert!(
        matches!(&plan.steps[2].when, Some(node) if matches!(node.kind, NodeKind::Reference(_)))
    );
    assert!(matches!(&plan.steps[3].action, Action::Value(_)));
    assert!(matches!(&plan.steps[3].on_error, OnError::Output(_)));
    assert!(matches!(&plan.output, Output::Steps(ids) if &*ids[0].text == "warmest"));
}

#[test]
fn escapes_and_positions() {
    let plan = sound_plan(r#"{"steps": [{"id": "a", "value": ["$${x}", "$$${b}", "a ${b} c"]}]}"#);
    let Action::Value(node) = &plan.steps[0].action else {
        panic!("a value is expected");
    };
    let NodeKind::List(items) = &node.kind else {
        panic!("a list is expected");
    };
    assert_eq!(items[0].as_literal(), Some(&"${x}".into()));
    assert!(matches!(&items[1].kind, NodeKind::Text(parts) if parts.len() == 2));
    assert!(matches!(&items[2].kind, NodeKind::Text(parts) if parts.len() == 3));
    let text = r#"{"steps": [{"id": "a", "value": "é\n and ${b c} or ${d"}]}"#;
    let result = parse(
        text.as_bytes(),
        &ReadOptions::new("test").in_dialect("native"),
    );
    let spots: Vec<&str> = result
        .diagnostics
        .iter()
        .filter_map(|diagnostic| diagnostic.span)
        .map(|span| &text[span.start..span.end])
        .collect();
    assert_eq!(spots, ["${b c}", "${d"]);
}

#[test]
fn errors_of_steps() {
    check_step(r#""tool": "t""#, &[]);
    check_step(
        r#""title": "x""#,
        &["PW0103 /steps/0 the step does nothing | add `tool`, `plan`, `value` or `extract`"],
    );
    check_step(
        r#""tool": "t", "value": null"#,
        &["PW0107 /steps/0 the step has `tool` and `value` | keep one of them"],
    );
    check_step(r#""value": null"#, &[]);
    check_step(
        r#""tool": "t", "arg": {}"#,
        &["PW0105 /steps/0/arg the step has an unknown field `arg` | did you mean `args`? => args"],
    );
    check_step(
        r#""tool": "t", "when": "b.x > 1""#,
        &[
            "PW0401 /steps/0/when `when` is text, not a condition: `b.x > 1` | write the condition as `\"when\": \"${b.x > 1}\"` => ${b.x > 1}",
        ],
    );
    check_step(
        r#""tool": "t", "when": "if it ${b}""#,
        &[
            "PW0401 /steps/0/when `when` is text, not a condition: `if it ${b}` | write the condition as `\"when\": \"${…}\"`",
        ],
    );
    check_step(
        r#""tool": "t", "when": "${b c}""#,
        &[
            "PW0405 /steps/0/when expected an operator, found `c` in `${b c}` | a name with spaces or signs is written `steps['…']`, a field `['…']`, text in quotes",
        ],
    );
    check_step(
        r#""tool": "t", "when": 1"#,
        &["PW0104 /steps/0/when expected a condition in `when`, found a number | -"],
    );
    check_step(r#""tool": "t", "when": false"#, &[]);
    check_step(
        r#""tool": "t", "args": {"x": "${b"}"#,
        &[
            "PW0401 /steps/0/args/x `${` is never closed | add `}`, or write `$${` for a literal `${`",
        ],
    );
    check_step(
        r#""tool": "t", "args": "x""#,
        &["PW0104 /steps/0/args expected an object in `args`, found text | -"],
    );
    check_step(
        r#""tool": "t", "for_each": [1, "${b}"], "max_parallel": 2"#,
        &[],
    );
    check_step(
        r#""tool": "t", "for_each": {"items": "${b}", "max_parallel": 2}"#,
        &[],
    );
    check_step(
        r#""tool": "t", "for_each": "${b}", "as": "order", "with_item": true, "args": {"x": "${order.id} ${order.n + 1}"}"#,
        &[],
    );
    check_step(
        r#""tool": "t", "for_each": "${b}", "as": "inputs""#,
        &[
            "PW0104 /steps/0/as expected a name for the item, one word that is not reserved in `as`, found text | -",
        ],
    );
    check_step(
        r#""tool": "t", "as": "order", "with_item": true"#,
        &[
            "PW0105 /steps/0/as the step has an unknown field `as` | leave it out: the output of a step has its id as its name, so write `${a}` for `${order}`",
            "PW0107 /steps/0/with_item the step has `with_item` but no `for_each` | leave `with_item` out",
        ],
    );
    check_step(
        r#""tool": "t", "for_each": "b""#,
        &[
            "PW0104 /steps/0/for_each expected a list or one `${…}` in `for_each`, found text | write `\"for_each\": \"${b}\"`",
        ],
    );
    check_step(
        r#""tool": "t", "max_parallel": 2"#,
        &[
            "PW0107 /steps/0/max_parallel the step has `max_parallel` but no `for_each` | leave `max_parallel` out",
        ],
    );
    check_step(
        r#""tool": "t", "for_each": [], "max_parallel": 0"#,
        &[
            "PW0108 /steps/0/max_parallel `max_parallel` must be a whole number from 1 to 4294967295, found `0` | -",
        ],
    );
    check_step(
        r#""tool": "t", "repeat": {"until": "${a.done ?? false}"}"#,
        &[],
    );
    check_step(
        r#""tool": "t", "repeat": {"max": 3}"#,
        &["PW0103 /steps/0/repeat `repeat` has no `until` | add `until`"],
    );
    check_step(
        r#""tool": "t", "writes": "vars.x", "retry": 3, "timeout": "1m""#,
        &[],
    );
    check_step(
        r#""tool": "t", "writes": "x""#,
        &[
            "PW0108 /steps/0/writes `x` is not a slot | write `vars.name`, `state.name` or `data.name`, with `.` between names",
        ],
    );
    check_step(
        r#""tool": "t", "writes": "inputs.x""#,
        &["PW0108 /steps/0/writes no step writes the inputs | write to `vars`, `state` or `data`"],
    );
    check_step(
        r#""tool": "t", "writes": {"to": []}"#,
        &[
            "PW0108 /steps/0/writes/to `to` names no slot | name one, such as `\"state.user\"`, or leave `writes` out",
        ],
    );
    check_step(
        r#""tool": "t", "writes": {"one_of": ["state.a"]}"#,
        &[
            "PW0108 /steps/0/writes/one_of `one_of` needs at least two slots | the first is for success, the last for failure; use `to` for a single one",
        ],
    );
    check_step(
        r#""tool": "t", "writes": {"to": "state.a", "method": "merg"}"#,
        &["PW0108 /steps/0/writes/method `method` cannot be `merg` | did you mean `merge`?"],
    );
    check_step(
        r#""tool": "t", "on_error": "ignore""#,
        &[
            "PW0108 /steps/0/on_error `on_error` cannot be `ignore` | write `\"on_error\": \"continue\"` => continue",
        ],
    );
    check_step(
        r#""tool": "t", "on_error": "retry""#,
        &["PW0108 /steps/0/on_error `on_error` cannot be `retry` | write `fail`, `continue`"],
    );
    check_step(
        r#""tool": "t", "timeout": "soon""#,
        &[
            "PW0108 /steps/0/timeout `timeout` cannot be `soon` | write a duration such as `\"250ms\"`, `\"30s\"` or `\"2m\"`, or milliseconds",
        ],
    );
    check_step(
        r#""tool": "t", "scopes": ["state"]"#,
        &["PW0107 /steps/0 the step has `scopes` but no `plan` | leave `scopes` out"],
    );
    check_step(
        r#""plan": {"steps": [{"id": "b", "tool": "t"}]}, "scopes": ["state"]"#,
        &[],
    );
    check_step(
        r#""plan": {"step": []}"#,
        &[
            "PW0103 /steps/0/plan the plan has no `steps` | add `steps`",
            "PW0105 /steps/0/plan/step the plan has an unknown field `step` | did you mean `steps`? => steps",
        ],
    );
}

#[test]
fn errors_of_plans() {
    check_plan(
        r#""ordering": "liste""#,
        &["PW0108 /ordering `ordering` cannot be `liste` | did you mean `listed`?"],
    );
    check_plan(
        r#""inputs": {"x": "string"}"#,
        &[
            "PW0104 /inputs/x expected a JSON Schema for the input `x`, found text | write `\"x\": {\"type\": \"string\"}`, or `{\"default\": …}` for a value",
        ],
    );
    check_plan(
        r#""slots": {"stat": {}, "data": []}"#,
        &[
            "PW0105 /slots/stat `slots` has an unknown field `stat` | did you mean `state`? => state",
            "PW0104 /slots/data expected an object in `data`, found a list | -",
        ],
    );
    check_plan(
        r#""slots": [{"instance": "x", "state": {"a": 1}}, {"state": {}}]"#,
        &[],
    );
    let (plan, diagnostics) = read_plan(r#"{"steps": [{"value": 1}]}"#);
    assert!(plan.is_none());
    assert_eq!(
        diagnostics,
        ["PW0103 /steps/0 the step has no `id` | add `id`"]
    );
    let (plan, diagnostics) = read_plan(r#"{"steps": [{"id": "last", "tool": "t"}]}"#);
    assert!(plan.is_some());
    assert_eq!(
        diagnostics,
        [
            "PW0109 /steps/0/id a step is called `last`, which means something else in references | call it something else, or write `${steps['last']}` in references; a list of ids names it `last`"
        ]
    );
    assert!(sound_plan(r#"{"steps": []}"#).steps.is_empty());
}

#[test]
fn shapes() {
    let check = |text: &str, expected: Result<&str, &[&str]>| {
        let (document, _) = read(text, "test", 0, &ReadLimits::default());
        let document = document.unwrap_or_else(|| panic!("{text} is not JSON"));
        let found = crate::detect(&document);
        match (found, expected) {
            (Ok(dialect), Ok(name)) => assert_eq!(dialect.name(), name, "{text}"),
            (Err(diagnostic), Err(names)) => {
                for name in names {
                    assert!(
                        diagnostic.message.contains(name),
                        "{text}: {}",
                        diagnostic.message
                    );
                }
            }
            (Ok(dialect), Err(_)) => panic!("{text} is taken for {}", dialect.name()),
            (Err(diagnostic), Ok(_)) => panic!("{text}: {}", diagnostic.message),
        }
    };
    check(r#"{"steps": []}"#, Ok("native"));
    check(
        r#"{"name": "n", "steps": [{"id": "a", "tool": "t", "args": {}}]}"#,
        Ok("native"),
    );
    check(
        r#"{"steps": [{"id": "a", "tool": "t", "args": {"x": "${b}"}}]}"#,
        Ok("native"),
    );
    check(r#"{"steps": [{"id": "a", "value": 1}]}"#, Ok("native"));
    check(
        r#"{"steps": [{"id": "a", "tool": "t"}], "output": ["a"]}"#,
        Ok("native"),
    );
    check(
        r#"{"steps": [{"id": "a", "tool": "t", "args": {}}]}"#,
        Ok("native"),
    );
    check(
        r#"{"steps": [{"id": "a", "tool": "t", "args": {}}, {"id": "b", "tool": "t"}]}"#,
        Err(&["`native`", "`concierge`"]),
    );
    check(
        r#"{"steps": [{"id": "a", "tool": "t", "args": {"x": {"output_by_reference": {"b": []}}}}]}"#,
        Ok("concierge"),
    );
    check(
        r#"{"steps": [{"id": "a", "tool": "t", "arguments": {"x": "${b}"}}]}"#,
        Ok("agentle"),
    );
    check(
        r#"{"steps": [{"index": 1, "id": "a", "tool": "t", "args": {"x": "${b}"}}]}"#,
        Ok("mcp-cli"),
    );
    check(
        r#"{"steps": [{"tool": "t", "params": {"x": "${step[0]}"}}]}"#,
        Ok("clear-ai"),
    );
}

/// Compares the diagnostics of a step that writes `targets`, or else the step as it is written.
#[track_caller]
fn check(targets: Targets, expected: &str) {
    let tool = Name {
        text: "t".into(),
        place: Place::NOWHERE,
    };
    let mut step = Step::new(StepId::new("a"), Action::Tool(tool), Node::default());
    step.writes = Some(Writes {
        targets,
        method: Method::Set,
        place: Place::NOWHERE,
    });
    let mut plan = Plan::default();
    plan.steps.push(step);
    let (printed, diagnostics) = print(&plan);
    let mut shown: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
    if let Some(printed) = printed {
        let plan = Value::from_json(&printed).unwrap();
        let steps = plan.as_object().unwrap()["steps"].as_list().unwrap();
        shown.push(steps[0].to_json());
    }
    assert_eq!(shown, [expected]);
}

fn slot(name: &str) -> SlotPath {
    SlotPath {
        kind: SlotKind::State,
        keys: vec![name.into()],
        place: Place::NOWHERE,
    }
}

#[test]
fn a_slot_whose_name_is_too_long() {
    let name = format!("state.{}…", "x".repeat(54));
    check(
        Targets::All(vec![slot(&"x".repeat(4000))]),
        &format!(
            "PW0901: the native dialect cannot express the slot `{name}`, whose name is too long (give it a shorter name)"
        ),
    );
}

#[test]
fn a_choice_that_is_none() {
    let diagnostic = "PW0901: the native dialect cannot express a choice among less than two slots (give one slot for success and one for failure)";
    check(Targets::OneOf(vec![]), diagnostic);
    check(Targets::OneOf(vec![slot("x")]), diagnostic);
    check(
        Targets::OneOf(vec![slot("x"), slot("y")]),
        r#"{"id":"a","tool":"t","writes":{"one_of":["state.x","state.y"]}}"#,
    );
}

#[test]
fn no_slots_are_nothing() {
    check(Targets::All(vec![]), r#"{"id":"a","tool":"t"}"#);
    check(
        Targets::All(vec![slot("x")]),
        r#"{"id":"a","tool":"t","writes":"state.x"}"#,
    );
}
