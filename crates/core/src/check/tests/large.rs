//! Large plans: what is looked at once for each part of a plan must not be looked through for each, too. Each of these takes
//! less than a second where it is so, and minutes where it is not.

use super::sketch::World;

/// Whether the plan is sound.
#[track_caller]
fn check(tools: &str, plan: &str, is_sound: bool) {
    let (checked, _) = World::with_tools(tools).check(plan);
    assert_eq!(checked.is_some(), is_sound);
}

/// What `part` gives for each number below `count`, with commas between.
fn many(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<String>>().join(",")
}

#[test]
fn references_in_lists_and_objects() {
    let tools = r#"{"e": {}, "t": {"in": {"type": "object", "properties": {
        "list": {"type": "array", "items": {"type": "string"}}, "object": {"additionalProperties": {"type": "string"}}}}}}"#;
    let items = many(100_000, |_| r#""${e}""#.to_owned());
    let fields = many(100_000, |n| format!(r#""k{n}": "${{e}}""#));
    check(
        tools,
        &format!(
            r#"{{"steps": [{{"id": "e", "tool": "e"}}, {{"id": "t", "tool": "t", "args": {{"list": [{items}], "object": {{{fields}}}}}}}]}}"#
        ),
        true,
    );
}
