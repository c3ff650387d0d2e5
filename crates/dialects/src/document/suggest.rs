//! Suggestions for misspelt names: the nearest known name, and synonyms of field names.

/// The maximum length of compared names: the cost is quadratic, and long names are not typing errors.
const MAX_NAME_BYTES: usize = 64;

/// The name in `known` that `name` probably stands for: at most a third of its letters differ.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let lower = name.to_lowercase();
    let allowed = (name.chars().count() / 3).max(1);
    known
        .into_iter()
        .filter(|candidate| candidate.len() <= MAX_NAME_BYTES)
        .map(|candidate| {
            // This distance counts two swapped letters as one mistake.
            let distance = strsim::damerau_levenshtein(&lower, &candidate.to_lowercase());
            (distance, candidate)
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Synonyms of field names in the dialects of tool calls. Fields of different units are no synonyms: a name must not
/// turn seconds into milliseconds.
const SYNONYMS: &[&[&str]] = &[
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

/// The only name in `known` that is a synonym of `written`.
pub(super) fn synonym(written: &str, known: &[&'static str]) -> Option<&'static str> {
    let group = SYNONYMS.iter().find(|words| words.contains(&written))?;
    let mut others = known.iter().filter(|name| group.contains(name));
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
        let mut all: Vec<&str> = SYNONYMS.concat();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
