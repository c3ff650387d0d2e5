//! Other notations' words for the same field: whoever writes `arguments` may well mean `args`.

/// Words for one thing each, as notations of tool calls have them. Those of which the forms differ are not together: a time in
/// seconds does not become one in milliseconds by its name.
const SAME: &[&[&str]] = &[
    &[
        "args",
        "arguments",
        "input",
        "inputs",
        "kwargs",
        "parameters",
        "params",
        "tool_input",
    ],
    &["tool", "function", "tool_name"],
    &["id", "step_id"],
    &[
        "after",
        "dependencies",
        "dependsOn",
        "depends_on",
        "needs",
        "requires",
    ],
    &["when", "condition", "if"],
    &["for_each", "forEach", "foreach"],
    &["output", "outputs", "result"],
];

/// The name among `known` that says the same as `written`, if there is one alone.
pub(super) fn synonym(written: &str, known: &[&'static str]) -> Option<&'static str> {
    let same = SAME.iter().find(|words| words.contains(&written))?;
    let mut others = known.iter().filter(|name| same.contains(name));
    let name = others.next()?;
    others.next().is_none().then_some(*name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_word_for_the_same_is_found() {
        let check = |written: &str, known: &[&'static str], expected: Option<&str>| {
            assert_eq!(
                synonym(written, known),
                expected,
                "{written} among {known:?}"
            );
        };
        check("arguments", &["id", "tool", "args"], Some("args"));
        check("depends_on", &["after", "args"], Some("after"));
        check("args", &["params"], Some("params"));
        check("args", &["params", "inputs"], None);
        check("args", &["id"], None);
        check("colour", &["args"], None);
    }

    #[test]
    fn no_word_stands_for_two_things() {
        let mut all: Vec<&str> = SAME.concat();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
