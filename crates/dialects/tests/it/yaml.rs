//! Tests of plans in YAML: they are read as the JSON that they stand for, with places in their own text.

use std::fs;
use std::path::Path;

use planwright_core::{Code, Plan};
use planwright_dialects::{ParseResult, ReadOptions, dialect, dialects, parse};

fn read(text: &str) -> ParseResult {
    parse(text.as_bytes(), &ReadOptions::new("plan.yaml"))
}

/// Returns the errors and warnings about `text`, each with the part of the text that it is about.
fn findings(text: &str) -> Vec<(String, String)> {
    let found = read(text);
    let shown = found.diagnostics.iter().filter(|found| !found.is_note());
    shown
        .map(|found| {
            let span = found.span.unwrap_or_default();
            let part = text.get(span.start..span.end).unwrap_or_default();
            (found.message.clone(), part.to_owned())
        })
        .collect()
}

/// Writes `plan` in the native dialect.
fn printed(plan: &Plan) -> Option<String> {
    dialect("native").unwrap().print(plan).0
}

/// Reads `text`, which has no errors, and writes it in the native dialect.
#[track_caller]
fn native(text: &str) -> String {
    let found = read(text);
    assert!(!found.diagnostics.has_errors(), "{text}: {found:?}");
    printed(&found.plan.unwrap()).unwrap()
}

const JSON: &str = r#"{"name": "rain", "steps": [
    {"id": "w", "tool": "weather", "args": {"city": "Köln", "days": 3, "exact": true, "unit": null}},
    {"id": "say", "tool": "echo", "when": "${w.rain > 0.5}", "args": {"message": "rain: ${w.rain}\nin Köln"}}]}"#;

#[test]
fn a_plan_in_yaml_is_the_plan_in_json() {
    let plain = r"
# The weather, said aloud.
name: rain
steps:
  - id: w
    tool: weather
    args: {city: Köln, days: 3, exact: true, unit: ~}
  - id: say
    tool: 'echo'
    when: ${w.rain > 0.5}
    args:
      message: |-
        rain: ${w.rain}
        in Köln
";
    assert_eq!(native(plain), native(JSON));
    let fenced = format!("Here is the plan:\n\n```yaml{plain}```\nDone.");
    assert_eq!(native(&fenced), native(JSON));
    let notes: Vec<Code> = read(plain)
        .diagnostics
        .iter()
        .map(|note| note.code)
        .collect();
    assert_eq!(notes, [Code::ReadAs]);
}

#[test]
fn json_is_read_as_yaml_in_the_same_way() {
    // JSON is YAML as well, so that each golden plan tests the reader of YAML: after a document start, the text is YAML alone.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut count = 0;
    for dialect in dialects() {
        let Ok(files) = fs::read_dir(folder.join(dialect.name())) else {
            continue;
        };
        for file in files {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let json = read(&text);
            let Some(plan) = json.plan.filter(|_| !json.diagnostics.has_errors()) else {
                continue;
            };
            let yaml = read(&format!("---\n{text}"));
            if yaml
                .diagnostics
                .iter()
                .any(|found| found.code == Code::NotJson)
            {
                // Comments of JSON are none of YAML.
                continue;
            }
            let read = yaml.plan.unwrap_or_else(|| panic!("{}", path.display()));
            assert_eq!(printed(&read), printed(&plan), "{}", path.display());
            count += 1;
        }
    }
    assert!(count > 20, "{count} plans were compared");
}

#[test]
fn findings_are_at_their_places_in_the_yaml() {
    let text = "steps:\n  - id: a\n    tool: t\n    args: {x: 'it''s ${b.y}'}\n  - id: c\n    tool: t\n    dependsOn: [a]\n    args:\n      y: é ${d.z}\n";
    let found = findings(text);
    let parts: Vec<&str> = found.iter().map(|(_, part)| part.as_str()).collect();
    assert!(parts.contains(&"dependsOn"), "{found:?}");
}

#[test]
fn a_fix_in_yaml_leaves_comments_alone() {
    let text = "# why\nsteps:\n  - id: a\n    tool: t # reads\n  - id: b\n    tool: t\n    depends_on: [a]\n";
    let fixed = read(text).diagnostics.apply_fixes(text).unwrap();
    assert_eq!(fixed, text.replace("depends_on", "\"after\""));
    assert!(!read(&fixed).diagnostics.has_errors());
}

#[test]
fn what_has_no_single_meaning_is_refused() {
    let check = |value: &str, expected: &str| {
        let text = format!("steps:\n  - id: a\n    tool: t\n    args:\n      x: {value}\n");
        let found = findings(&text);
        let [(message, _)] = found.as_slice() else {
            panic!("{value}: {found:?}");
        };
        assert_eq!(message, expected, "{value}");
    };
    check("007", "`007` may be a number or a text");
    check("0x1F", "`0x1F` may be a number or a text");
    check(".inf", "`.inf` may be a number or a text");
    check("No", "`No` may be a boolean or a text");
    check("+5", "`+5` may be a number or a text");
    check("!secret a", "a tag is not read in a plan");
    check("1\n      x: 2", "the object has the key `x` twice");
}

#[test]
fn plain_texts_stay_texts() {
    let plan = "steps:\n  - id: a\n    tool: t\n    args: {a: none, b: 2026-11-26, c: 12:30, d: 1.2.3, e: \"5\", f: 1e3}\n";
    let json = r#"{"steps": [{"id": "a", "tool": "t", "args": {"a": "none", "b": "2026-11-26", "c": "12:30", "d": "1.2.3", "e": "5", "f": 1e3}}]}"#;
    assert_eq!(native(plan), native(json));
}

#[test]
fn malformed_yaml_is_located() {
    let text = "steps:\n  - id: a\n    tool: t\n    args:\n      message: It is: ${a}\n";
    let found = findings(text);
    let [(message, part)] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert!(
        message.starts_with("the text is YAML, and malformed here"),
        "{message}"
    );
    assert_eq!(part, "      message: It is: ${a}");
}

#[test]
fn a_fix_leaves_the_text_readable() {
    let text = "steps:\n  - parallel:\n      - {id: a, tool: t}\n      - {id: b, tool: t}\n  - id: c\n    tool: t\n    colour: {deep: red}\n    depends_on: [a]\n";
    let found = read(text);
    assert!(found.diagnostics.has_errors());
    // Several steps in place of a group are no value of YAML.
    let fixed = found.diagnostics.apply_fixes(text).unwrap();
    assert!(
        !read(&fixed)
            .diagnostics
            .iter()
            .any(|found| found.code == Code::NotJson),
        "{fixed}"
    );
}
