//! Fixes of texts make them better: fewer problems, none where something was fixed, the same plan if it could run.

use std::convert::Infallible;
use std::fs;
use std::path::Path;

use planwright::core::check::Policy;
use planwright::core::{Catalog, Diagnostics, Schema, Tool, Value};
use planwright::dialects::{ReadOptions, parse};
use planwright::fixes::fixed_text;
use planwright::loaded_plan::LoadedPlan;

/// The folder of the plans as people and models guess them.
fn guessed() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../dialects/tests/golden/guessed")
}

/// The tools of these plans.
fn catalog() -> Catalog {
    let text = fs::read_to_string(guessed().join("tools.json")).unwrap();
    let servers = Value::from_json(&text).unwrap();
    let mut catalog = Catalog::new();
    for (server, tools) in servers.as_object().unwrap() {
        for (name, schemas) in tools.as_object().unwrap() {
            let schema = |key: &str| {
                let found = schemas.get(key).cloned();
                found.map_or(Schema::any(), Schema::from_value)
            };
            let mut tool = Tool::new(server.clone(), name.clone());
            tool.input = schema("input");
            tool.output = schema("output");
            catalog.add(tool);
        }
    }
    catalog.add_extraction();
    catalog
}

fn load(text: &str) -> LoadedPlan {
    let result = parse(text.as_bytes(), &ReadOptions::new("plan"));
    LoadedPlan::new("plan", result)
}

fn checked(text: &str, catalog: &Catalog) -> Diagnostics {
    load(text)
        .check_without_inputs(catalog, &Policy::new())
        .diagnostics
}

fn problems(found: &Diagnostics) -> usize {
    found.iter().filter(|found| !found.is_note()).count()
}

/// The text with all fixes.
fn fixed(text: &str, catalog: &Catalog) -> Option<planwright::fixes::FixedText> {
    let load = |text: &str| Ok::<_, Infallible>(load(text));
    let Ok(fixed) = fixed_text(text, load, catalog, &Policy::new());
    fixed
}

#[test]
fn fixes_of_guessed_plans_make_them_better() {
    let catalog = catalog();
    let (mut count, mut rewritten) = (0, 0);
    for entry in fs::read_dir(guessed()).unwrap() {
        let path = entry.unwrap().path();
        let is_case = path.extension().is_some_and(|end| end == "txt");
        let Some(text) = is_case.then(|| fs::read_to_string(&path).ok()).flatten() else {
            continue;
        };
        let Some(found) = fixed(&text, &catalog) else {
            continue;
        };
        count += 1;
        let name = path.display();
        let (before, after) = (checked(&text, &catalog), checked(&found.text, &catalog));
        if found.is_rewritten {
            rewritten += 1;
            assert!(!after.has_problems(), "{name}: {after:#?}");
        }
        let plan = load(&text).plan;
        if plan.is_some() {
            let notes = before
                .iter()
                .any(|found| found.is_note() && !found.fixes.is_empty());
            assert!(
                problems(&after) < problems(&before)
                    || (notes && problems(&after) == problems(&before)),
                "{name}: {before:#?}\n{after:#?}"
            );
        }
        // A second time, nothing is left to fix.
        let again = fixed(&found.text, &catalog);
        assert_eq!(
            again.map(|again| again.text),
            None,
            "{name}: {}",
            found.text
        );
    }
    assert!(count > 60, "{count} of the guesses have fixes");
    assert!(rewritten > 15, "{rewritten} of the guesses are rewritten");
}

#[test]
fn a_plan_in_advice_is_written() {
    let text = fs::read_to_string(guessed().join("250-references-in-one-text.txt")).unwrap();
    let found = fixed(&text, &catalog()).unwrap();
    assert!(found.is_rewritten);
    let message = r#""message": "${toolu_01} at ${toolu_02.datetime}""#;
    assert!(found.text.contains(message), "{}", found.text);
}

#[test]
fn a_proposal_that_does_not_check_is_only_advice() {
    let catalog = catalog();
    // The condition is a text.
    let text = "found = read_text_file(path=\"/data/a.txt\")\nfound.content and write_file(path=\"/data/b.txt\", content=\"x\")\n";
    let found = checked(text, &catalog);
    assert!(found.has_problems());
    assert!(
        found.iter().all(|found| found.fixes.is_empty()),
        "{found:#?}"
    );
    assert_eq!(fixed(text, &catalog), None);
}

#[test]
fn the_only_reference_of_advice_is_written() {
    let catalog = catalog();
    let check = |reference: &str, expected: &str| {
        let text = |reference: &str| {
            format!(
                "{{\"inputs\": {{\"city\": {{}}}}, \"steps\": [{{\"id\": \"now\", \"tool\": \"get_current_time\", \"args\": {{\"timezone\": \"UTC\"}}}}, {{\"id\": \"say\", \"tool\": \"echo\", \"for_each\": [\"a\"], \"args\": {{\"message\": \"{reference}: ${{item}}\"}}}}]}}"
            )
        };
        let found = fixed(&text(reference), &catalog);
        assert_eq!(
            found.map(|found| found.text),
            Some(text(expected)),
            "{reference}"
        );
    };
    check("${city}", "${inputs.city}");
    check("${loop.index + 1}", "${index + 1}");
    check("${outputs.now.timezone}", "${now.timezone}");
}

/// A value, a tool and an expression that the advice writes in full are fixed; a choice and another tool are for people.
#[test]
fn the_only_value_of_advice_is_written() {
    let catalog = catalog();
    let text = |fields: &str| {
        format!(
            "{{\"inputs\": {{\"people\": {{\"default\": [1]}}}}, \"steps\": [{{\"id\": \"graph\", \"tool\": \"read_graph\"}}, {{\"id\": \"say\", {fields}}}], \"output\": \"${{inputs.people}}\"}}"
        )
    };
    let check = |fields: &str, expected: Option<&str>| {
        let found = fixed(&text(fields), &catalog).map(|found| found.text);
        assert_eq!(found, expected.map(text), "{fields}");
    };
    let echo = |message: &str| format!(r#""tool": "echo", "args": {{"message": "{message}"}}"#);
    check(
        &format!(r#"{}, "for_each": "a, b""#, echo("${item}")),
        Some(&format!(r#"{}, "for_each": ["a", "b"]"#, echo("${item}"))),
    );
    check(
        &format!(
            r#"{}, "for_each": "one in ${{inputs.people}}""#,
            echo("is ${one}")
        ),
        Some(&format!(
            r#"{}, "for_each": "${{inputs.people}}", "as": "one""#,
            echo("is ${one}")
        )),
    );
    check(
        &format!(r#"{}, "when": "${{inputs.people === [1]}}""#, echo("a")),
        Some(&format!(
            r#"{}, "when": "${{inputs.people == [1]}}""#,
            echo("a")
        )),
    );
    check(
        &echo("@graph.entities"),
        Some(&echo("${string(graph.entities)}")),
    );
    check(
        r#""tool": "open_nodes", "args": {"names": "Ada"}"#,
        Some(r#""tool": "open_nodes", "args": {"names": ["Ada"]}"#),
    );
    check(
        r#""tool": "getSum", "args": {"a": 1, "b": 2}"#,
        Some(r#""tool": "get-sum", "args": {"a": 1, "b": 2}"#),
    );
    check(
        r#""tool": "get_current_time", "args": { "tz" : "UTC"}"#,
        Some(r#""tool": "get_current_time", "args": { "timezone" : "UTC"}"#),
    );
    check(r#""tool": "read_graphs""#, None);
}

/// Steps whose block is not read have no known order, so no advice to order them.
#[test]
fn a_plan_that_is_not_read_has_no_advice_about_order() {
    let text = "try:\n    rows = read_query(query=\"SELECT 1 FROM t\")\n    for row in rows:\n        seen = echo(message=row)\nexcept Exception:\n    reset = write_query(query=\"DELETE FROM t\")\n";
    let found = checked(text, &catalog());
    assert!(found.has_errors());
    let advice = found.iter().filter_map(|found| found.help.as_deref());
    let mut orders = advice.filter(|help| help.contains("\"after\""));
    assert_eq!(orders.next(), None, "{found:#?}");
}

/// The digits of a number stay as they are written, a clock time is for people to choose, and an output with a part of a step becomes
/// an object only if each name in it is clear.
#[test]
fn values_that_are_meant_are_written() {
    let catalog = catalog();
    let check = |(when, message, output): (&str, &str, &str),
                 expected: Option<(&str, &str, &str)>| {
        let text = |(when, message, output): (&str, &str, &str)| {
            let now = r#"{"id": "now", "tool": "get_current_time", "args": {"timezone": "UTC"}}"#;
            let say = format!(
                r#"{{"id": "say", "when": "{when}", "tool": "echo", "args": {{"message": {message}}}}}"#
            );
            format!(r#"{{"steps": [{now}, {say}], "output": {output}}}"#)
        };
        let plan = (when, message, output);
        let found = fixed(&text(plan), &catalog).map(|found| found.text);
        assert_eq!(found, expected.map(text), "{plan:?}");
    };
    let (when, message, output) = ("${now.is_dst}", r#""a""#, r#"["say"]"#);
    check((when, "1.10", output), Some((when, r#""1.10""#, output)));
    check(
        ("${now.is_dst == 'false'}", message, output),
        Some(("${!now.is_dst}", message, output)),
    );
    check(
        (
            "${now.is_dst == 'true' || '1' in [now.day_of_week.size()]}",
            message,
            output,
        ),
        Some((
            "${now.is_dst || 1 in [now.day_of_week.size()]}",
            message,
            output,
        )),
    );
    check(
        (when, message, r#"["say", "now.datetime"]"#),
        Some((
            when,
            message,
            r#"{"say": "${say ?? null}", "datetime": "${now.datetime}"}"#,
        )),
    );
    check((when, message, r#"["saying", "now.datetime"]"#), None);
    let clock = r#"{"steps": [{"id": "a", "tool": "convert_time", "args": {"source_timezone": "UTC", "time": 14.30, "target_timezone": "UTC"}}]}"#;
    assert_eq!(fixed(clock, &catalog), None);
}

/// The expression of the step `x` after a fix, where it begins as `written`.
fn fixed_expression(written: &str) -> String {
    let object =
        r#"{"obj": {"k": 1}, "nums": [1, 2, 3], "recs": [{"n": "x", "v": 1}], "s": "a-b"}"#;
    let text = format!(
        r#"{{"steps": [{{"id": "o", "value": {object}}}, {{"id": "x", "value": "${{{written}}}"}}]}}"#
    );
    let fixed = fixed(&text, &Catalog::new()).map_or(text, |fixed| fixed.text);
    let (_, expression) = fixed.rsplit_once("${").unwrap();
    expression.strip_suffix("}\"}]}").unwrap().to_owned()
}

#[test]
fn fixed_expressions_have_the_same_value() {
    for (written, expected) in [
        (
            "o.recs.reduce((a, b) => a + b.v, 10)",
            "10 + o.recs.map(b, b.v).sum()",
        ),
        ("o.nums.reduce((a, b) => a + b, 0)", "o.nums.sum()"),
        (
            "o.nums.reduce((a, b) => a + b, '')",
            "o.nums.map(b, string(b)).join('')",
        ),
        ("[k for k in o.obj]", "o.obj.map(k, k)"),
        ("list(o.obj)", "o.obj.map(x, x)"),
        ("[n / 2 for n in o.nums]", "o.nums.map(n, n / 2.0)"),
        ("o.nums.map(n => n / 2)", "o.nums.map(n, n / 2.0)"),
        ("len(o.nums) / 2", "size(o.nums) / 2.0"),
        ("7 // 2", "math.floor(7 / 2.0)"),
        ("o.obj.get('zz')", "o.obj.zz?"),
        ("o.nums.includes(3)", "3 in o.nums"),
        ("o.s.includes('a')", "'a' in o.s"),
        // They have no form with the same value.
        ("o.s.split()", "o.s.split()"),
        ("o.s.toFixed(2)", "o.s.toFixed(2)"),
    ] {
        assert_eq!(fixed_expression(written), expected, "{written}");
    }
}

/// A fix that leads to another problem is left out, and the others are applied.
#[test]
fn one_fix_with_a_new_problem_blocks_no_others() {
    let plan = |a: &str, c: &str| {
        format!(
            r#"{{"steps": [{{"id": "o", "value": {{"nums": [1]}}}}, {{"id": "a", "value": "${{{a}}}"}}, {{"id": "b", "value": "${{o.nums.strip()}}"}}, {{"id": "c", "value": "${{{c}}}"}}]}}"#
        )
    };
    let written = plan("o.nums === [1]", "len(o.nums)");
    let found = fixed(&written, &Catalog::new()).unwrap();
    assert_eq!(found.text, plan("o.nums == [1]", "size(o.nums)"));
    assert_eq!(found.count, 2);
}
