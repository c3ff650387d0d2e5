//! Round trips of the native dialect, in JSON and in lines: any plan is unchanged.

pub(crate) mod strategy;
pub(crate) mod without_places;

use planwright_core::{Plan, Schema, Value};
use planwright_dialects::native::lines::{from_json, to_json};
use planwright_dialects::native::schema;
use planwright_dialects::{ReadOptions, dialect, parse};
use proptest::prelude::*;

use self::strategy::plan;
use self::without_places::without_places;
use crate::golden::{assert_golden, cases, sound_plan};
use crate::round_trip;

/// Asserts that `plan` is unchanged after a round trip in JSON and in lines, and that the JSON fits the published
/// schema.
fn assert_lossless(plan: &Plan) {
    let lines = assert_survives(plan, "lines");
    let (again, _) = dialect("lines").unwrap().print(&read(&lines, "lines"));
    assert_eq!(again.as_ref(), Some(&lines));
    let printed = assert_survives(plan, "native");
    let written = Value::from_json(&printed).unwrap();
    assert_eq!(from_json(&written), lines);
    assert_eq!(to_json(&lines).as_ref(), Some(&written), "{lines}");
    let violations = published().validate(&written);
    assert!(violations.is_empty(), "{violations:#?}\n{printed}");
}

/// Asserts that `plan` is unchanged after a round trip in the dialect `name`; returns the text.
fn assert_survives(plan: &Plan, name: &str) -> String {
    let (printed, diagnostics) = dialect(name).unwrap().print(plan);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
    let printed = printed.unwrap();
    let again = read(&printed, name);
    assert_eq!(without_places(&again), without_places(plan), "{printed}");
    printed
}

/// The plan of `text`. A step may have a reserved id, which is a warning.
fn read(text: &str, name: &str) -> Plan {
    let result = parse(text.as_bytes(), &ReadOptions::new("test").in_dialect(name));
    let diagnostics = result.diagnostics;
    assert!(!diagnostics.has_errors(), "{diagnostics:#?}\n{text}");
    result.plan.unwrap()
}

fn published() -> Schema {
    Schema::from_value(schema().into())
}

fn check_converted(text: &serde_json::Value, name: &str) {
    assert_lossless(&sound_plan(&text.to_string(), name));
}

proptest! {
    #[test]
    fn any_plan_survives(plan in plan(1)) {
        assert_lossless(&plan);
    }

    #[test]
    fn concierge_converts(plan in round_trip::concierge()) {
        check_converted(&plan, "concierge");
    }

    #[test]
    fn mcp_cli_converts(plan in round_trip::mcp_cli()) {
        check_converted(&plan, "mcp-cli");
    }

    #[test]
    fn clear_ai_converts(plan in round_trip::clear_ai()) {
        check_converted(&plan, "clear-ai");
    }

    #[test]
    fn agentle_converts(plan in round_trip::agentle()) {
        check_converted(&plan, "agentle");
    }
}

#[test]
fn golden_plans() {
    for file in cases("native") {
        let text = std::fs::read_to_string(&file).unwrap();
        let result = parse(text.as_bytes(), &ReadOptions::new("test"));
        assert!(result.diagnostics.is_empty(), "{:#?}", result.diagnostics);
        assert_eq!(result.dialect, Some("native"), "{}", file.display());
        let plan = result.plan.unwrap();
        assert_lossless(&plan);
        let (printed, _) = dialect("native").unwrap().print(&plan);
        assert_golden(&file, &printed.unwrap());
        let violations = published().validate(&Value::from_json(&text).unwrap());
        assert!(violations.is_empty(), "{}: {violations:#?}", file.display());
    }
}

#[test]
fn golden_plans_of_other_dialects_convert() {
    for folder in [
        "acts",
        "agentle",
        "clear-ai",
        "concierge",
        "lines",
        "mcp-cli",
    ] {
        let mut converted = 0;
        for file in cases(folder) {
            let text = std::fs::read(&file).unwrap();
            let result = parse(&text, &ReadOptions::new("test").in_dialect(folder));
            // Some cases show the diagnostics of a text without a plan.
            if let Some(plan) = result.plan
                && !result.diagnostics.has_errors()
            {
                assert_lossless(&plan);
                converted += 1;
            }
        }
        assert!(converted > 1, "{folder}: only {converted} are plans");
    }
}

/// The number of fields that the reader offers for `text`, which has an unknown one, and the names of those that it shows.
fn offered_fields(text: &str) -> (usize, Vec<String>) {
    let options = ReadOptions::new("test").in_dialect("native");
    let help = parse(text.as_bytes(), &options)
        .diagnostics
        .iter()
        .find(|diagnostic| diagnostic.message.contains("zzzzzzzzzzzzzzzz"))
        .and_then(|diagnostic| diagnostic.help.clone())
        .unwrap();
    let (shown, others) = help
        .split_once(" or one of ")
        .map_or((&*help, ""), |(shown, others)| (shown, others));
    let shown: Vec<String> = shown
        .split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect();
    let others = others
        .split(' ')
        .next()
        .and_then(|count| count.parse::<usize>().ok());
    (shown.len() + others.unwrap_or_default(), shown)
}

#[test]
fn the_schema_lists_the_fields_that_are_read() {
    let schema = schema();
    let check = |pointer: &str, text: &str| {
        let properties = schema
            .pointer(pointer)
            .and_then(|part| part.as_object())
            .unwrap();
        let mut described: Vec<String> = properties.keys().cloned().collect();
        described.sort();
        let (count, shown) = offered_fields(text);
        assert_eq!(count, described.len(), "{pointer}");
        for field in &shown {
            assert!(described.contains(field), "{pointer}: {field}");
        }
        // Each of the fields is offered for a name that is nearest to it.
        for field in described.iter().filter(|field| field.len() > 2) {
            let near = text.replace("zzzzzzzzzzzzzzzz", &format!("{field}zzzzzzzzzzzzzzzz"));
            let (_, shown) = offered_fields(&near);
            assert!(shown.contains(field), "{pointer}: {field} among {shown:?}");
        }
    };
    let unknown = r#""zzzzzzzzzzzzzzzz": 1"#;
    check("/properties", &format!(r#"{{"steps": [], {unknown}}}"#));
    let in_step = |fields: &str| {
        format!(r#"{{"steps": [{{"id": "a", "tool": "t", "args": {{}}, {fields}}}]}}"#)
    };
    check("/$defs/step/properties", &in_step(unknown));
    check(
        "/$defs/repeat/properties",
        &in_step(&format!(r#""repeat": {{"until": true, {unknown}}}"#)),
    );
    check(
        "/$defs/writes/properties",
        &in_step(&format!(r#""writes": {{"to": "vars.x", {unknown}}}"#)),
    );
    check(
        "/$defs/retry/properties",
        &in_step(&format!(r#""retry": {{"attempts": 2, {unknown}}}"#)),
    );
}

#[test]
fn lines_show_each_character_that_they_hold() {
    let text = "a\u{202e}b\u{9b}c\u{200b}";
    let step = serde_json::json!({"id": "a", "tool": "t", "args": {text: text}});
    let plan = serde_json::json!({"steps": [step]}).to_string();
    let plan = read(&plan, "native");
    let lines = assert_survives(&plan, "lines");
    assert!(
        planwright_core::text::is_visible(lines.trim_end().replace('\n', "").as_str()),
        "{lines:?}"
    );
    assert!(lines.contains(r"a\u202eb\u009bc\u200b"), "{lines:?}");
}

#[test]
fn the_published_schema_is_sound() {
    let published = published();
    assert_eq!(published.malformed(), None);
    let check = |text: &str, fits: bool| {
        let value = Value::from_json(text).unwrap();
        assert_eq!(published.is_valid(&value), fits, "{text}");
    };
    check(r#"{"steps": [{"id": "a", "tool": "t"}]}"#, true);
    check(r#"{"steps": [{"id": "a"}]}"#, false);
    check(
        r#"{"steps": [{"id": "a", "tool": "t", "value": 1}]}"#,
        false,
    );
    check(
        r#"{"steps": [{"id": "a", "tool": "t", "wen": true}]}"#,
        false,
    );
    check(
        r#"{"steps": [{"id": "a", "tool": "t", "when": "a > 1"}]}"#,
        false,
    );
    check(r#"{"steps": [{"tool": "t"}]}"#, false);
    check("{}", false);
}
