//! Large plans, which take less than a second if every pass is linear, and minutes if one is quadratic.

use super::fixture::CheckFixture;

#[track_caller]
fn check(tools: &str, plan: &str, is_sound: bool) {
    let (checked, _) = CheckFixture::with_tools(tools).check(plan);
    assert_eq!(checked.is_some(), is_sound);
}

/// Joins the results of `part` for each number below `count`.
fn many(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<String>>().join(",")
}

#[test]
fn unknown_arguments() {
    let args = many(100_000, |n| format!(r#""x{n}": 1"#));
    let tools = r#"{"t": {"in": {"type": "object", "properties": {"x": {}}, "additionalProperties": false}}}"#;
    check(
        tools,
        &format!(r#"{{"steps": [{{"id": "s", "tool": "t", "args": {{{args}}}}}]}}"#),
        false,
    );
}

#[test]
fn arguments_of_plans() {
    let inputs = many(20_000, |n| format!(r#""x{n}": {{}}"#));
    let args = many(20_000, |n| format!(r#""x{n}": 1"#));
    let check_args = |args: &str, is_sound| {
        let plan = format!(
            r#"{{"steps": [{{"id": "s", "plan": {{"inputs": {{{inputs}}}, "steps": [{{"id": "i", "value": 1}}]}}, "args": {{{args}}}}}]}}"#
        );
        check("{}", &plan, is_sound);
    };
    check_args(&args, true);
    check_args(&args.replace(r#""x"#, r#""y"#), false);
}

#[test]
fn bounds_that_are_too_large() {
    let steps = many(5_000, |n| {
        format!(r#"{{"id": "s{n}", "value": 1, "attempts": 1000000}}"#)
    });
    let items = many(300_000, |_| "1".to_owned());
    check(
        "{}",
        &format!(r#"{{"steps": [{{"id": "big", "value": [{items}]}}, {steps}]}}"#),
        false,
    );
}

#[test]
fn references_in_lists_and_objects() {
    let tools = r#"{"e": {}, "t": {"in": {"type": "object", "properties": {
        "list": {"type": "array", "items": {"type": "string"}}, "object": {"additionalProperties": {"type": "string"}}}}}}"#;
    let items = many(50_000, |_| r#""${e}""#.to_owned());
    let fields = many(50_000, |n| format!(r#""k{n}": "${{e}}""#));
    check(
        tools,
        &format!(
            r#"{{"steps": [{{"id": "e", "tool": "e"}}, {{"id": "t", "tool": "t", "args": {{"list": [{items}], "object": {{{fields}}}}}}}]}}"#
        ),
        true,
    );
}

#[test]
fn fields_of_known_values() {
    let fields = many(50_000, |n| format!(r#""k{n}": 1"#));
    let check_reads = |name: &str, is_sound| {
        let reads = many(50_000, |n| format!(r#""${{vars.big.{name}{n}}}""#));
        let plan = format!(
            r#"{{"variables": {{"big": {{{fields}}}}}, "steps": [{{"id": "s", "value": [{reads}]}}]}}"#
        );
        check("{}", &plan, is_sound);
    };
    check_reads("k", true);
    check_reads("no", false);
}

#[test]
fn arguments_without_names() {
    let arguments = many(150_000, |_| "1".to_owned());
    let plan = |tool: &str| {
        format!(r#"{{"steps": [{{"id": "s", "tool": "{tool}", "positional": [{arguments}]}}]}}"#)
    };
    let tools = r#"{"t": {"in": {"properties": {"a": {}, "b": {}}}}}"#;
    check(tools, &plan("unknown"), false);
    check(tools, &plan("t"), false);
}

#[test]
fn items_of_long_lists() {
    let tools = r#"{"e": {}}"#;
    let list = many(30_000, |n| format!(r#"{{"x{n}": 1}}"#));
    let reads = many(30_000, |_| r#""${item.x1}""#.to_owned());
    let step = format!(
        r#"{{"id": "e", "tool": "e"}}, {{"id": "s", "for_each": ["${{e}}", {list}], "value": [{reads}]}}"#
    );
    check(tools, &format!(r#"{{"steps": [{step}]}}"#), true);
    // The same if another step asks for the value first.
    check(
        tools,
        &format!(r#"{{"steps": [{{"id": "b", "value": "${{s}}"}}, {step}]}}"#),
        true,
    );
}

#[test]
fn names_without_a_value() {
    let names = many(30_000, |n| format!(r#""x{n}": 1"#));
    let reads = many(30_000, |n| format!(r#""${{inputs.no{n}}}""#));
    check(
        "{}",
        &format!(r#"{{"input": {{{names}}}, "steps": [{{"id": "s", "value": [{reads}]}}]}}"#),
        true,
    );
    let reads = reads.replace("inputs.", "slots.state.");
    check(
        "{}",
        &format!(r#"{{"state": {{{names}}}, "steps": [{{"id": "s", "value": [{reads}]}}]}}"#),
        true,
    );
}

#[test]
fn reads_of_slots_with_many_writers() {
    let writers = |slot: &dyn Fn(usize) -> String| {
        many(9_000, |n| {
            format!(r#"{{"id": "w{n}", "tool": "e", "writes": "{}"}}"#, slot(n))
        })
    };
    let check_reads = |writers: String, reads: String| {
        check(
            r#"{"e": {"out": {"type": "object", "properties": {"a": {}}}}}"#,
            &format!(r#"{{"steps": [{writers}, {{"id": "s", "value": [{reads}]}}]}}"#),
            true,
        );
    };
    let whole = many(30_000, |_| r#""${slots.state}""#.to_owned());
    check_reads(writers(&|n| format!("state.a{n}")), whole.clone());
    check_reads(writers(&|_| "state".to_owned()), whole);
    let parts = many(30_000, |n| format!(r#""${{slots.state.x.k{n}}}""#));
    check_reads(writers(&|_| "state.x".to_owned()), parts);
}

#[test]
fn steps_that_write_many_slots() {
    let slots = |count| {
        let slots: Vec<String> = (0..count).map(|n| format!("state.a{n}")).collect();
        slots.join(" && ")
    };
    let check_steps = |steps: String| check("{}", &format!(r#"{{"steps": [{steps}]}}"#), true);
    let repeated = " && state".repeat(80_000);
    check_steps(format!(
        r#"{{"id": "s", "value": 1, "writes": "{}{repeated}"}}"#,
        slots(80_000)
    ));
    let reads = many(50_000, |n| format!(r#""${{slots.state.a{n}}}""#));
    check_steps(format!(
        r#"{{"id": "w", "value": 1, "writes": "{}"}}, {{"id": "s", "value": [{reads}]}}"#,
        slots(50_000)
    ));
}

#[test]
fn alternatives_of_slots() {
    let slots: Vec<String> = (0..20_000).map(|n| format!("state.a{n}")).collect();
    let reads = many(20_000, |_| r#""${slots.state}""#.to_owned());
    check(
        "{}",
        &format!(
            r#"{{"steps": [{{"id": "w", "value": 1, "writes": "{}"}}, {{"id": "a", "value": [{reads}], "writes": "data.x"}}, {{"id": "b", "value": 1, "writes": "data.x"}}]}}"#,
            slots.join(" || ")
        ),
        true,
    );
}

#[test]
fn reads_of_slots_with_later_writers() {
    let reads = many(50_000, |_| r#""${slots.state}""#.to_owned());
    let writers = many(5_000, |n| {
        format!(r#"{{"id": "w{n}", "value": 1, "writes": "state.a{n}"}}"#)
    });
    check(
        "{}",
        &format!(r#"{{"listed": true, "steps": [{{"id": "s", "value": [{reads}]}}, {writers}]}}"#),
        false,
    );
}

#[test]
fn diagnostics_beyond_the_limits() {
    let key = "k".repeat(100_000);
    let items = many(20_000, |_| r#""${e}""#.to_owned());
    let unused = many(3_000, |n| format!(r#""u{n}": {{"default": 1}}"#));
    let fixture = CheckFixture::with_tools(
        r#"{"e": {"out": {"type": "integer"}}, "t": {"in": {"additionalProperties": {"type": "array", "items": {"type": "boolean"}}}}}"#,
    );
    let check_diagnostics = |args: &str, errors: usize, more: &str| {
        let (checked, diagnostics) = fixture.check(&format!(
            r#"{{"inputs": {{{unused}}}, "steps": [{{"id": "e", "tool": "e"}}, {{"id": "t", "tool": "t", "args": {args}}}]}}"#
        ));
        assert_eq!(checked.is_some(), errors == 0);
        let found = diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.is_error())
            .count();
        assert_eq!(found, errors);
        // Errors do not reduce the number of warnings.
        assert_eq!(diagnostics.len(), errors + 1_000);
        let last = diagnostics
            .iter()
            .last()
            .and_then(|last| last.help.as_deref());
        assert!(
            last.is_some_and(|help| help.ends_with(more)),
            "{last:?} does not say {more}"
        );
        let longest = diagnostics
            .iter()
            .map(|diagnostic| diagnostic.pointer.len())
            .max();
        assert!(longest < Some(5_000), "{longest:?}");
    };
    check_diagnostics("{}", 0, "; 2000 further diagnostics are not shown");
    check_diagnostics(
        &format!(r#"{{"{key}": [{items}]}}"#),
        1_000,
        "21000 further diagnostics are not shown",
    );
}

#[test]
fn patterns_that_take_long_together() {
    let fixture = CheckFixture::with_tools("{}");
    let check = |pattern: &str, inputs: usize, expected: Option<&str>| {
        let inputs = many(inputs, |n| {
            format!(r#""u{n}": {{"pattern": "{pattern}", "default": "a"}}"#)
        });
        let step = r#"{"id": "a", "value": 1}"#;
        let inner =
            format!(r#"{{"id": "b", "plan": {{"inputs": {{{inputs}}}, "steps": [{step}]}}}}"#);
        let (checked, diagnostics) = fixture.check(&format!(
            r#"{{"inputs": {{{inputs}}}, "steps": [{step}, {inner}]}}"#
        ));
        assert_eq!(checked.is_some(), expected.is_none());
        let error = diagnostics.iter().find(|diagnostic| diagnostic.is_error());
        assert_eq!(error.map(|error| &*error.message), expected);
    };
    check("(?i)^[a-z]+$", 300, None);
    check(r"[\\W]*", 300, None);
    check(r"(?i)[\\W]*", 120, None);
    check(
        r"(?i)[\\W]*",
        121,
        Some(
            "the schema of `u119` takes too long to read: a pattern in it ignores case, and with those before it has more than 240 \
             sets of characters",
        ),
    );
}
