//! Phrases in brackets for the output of a step: `<output of step 1>`, `[result of read]`.

use std::ops::Range;

use super::paths::marker_window;

/// The brackets around a phrase. Longer ones precede their own prefixes.
const BRACKETS: [(&str, &str); 5] = [("{{", "}}"), ("<", ">"), ("[", "]"), ("{", "}"), ("(", ")")];

/// Words for an output.
const OUTPUTS: [&str; 9] = [
    "output", "outputs", "result", "results", "content", "contents", "response", "data", "value",
];

/// Words before the name of a step that have no meaning of their own.
const FILLERS: [&str; 6] = ["of", "from", "the", "step", "task", "above"];

/// Words before the number of a call for its output, in lower case.
const NUMBERED_OUTPUTS: [&str; 4] = ["observation", "result", "output", "evidence"];

/// A phrase that names a step by its number.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NumberedPhrase<'a> {
    pub(super) range: Range<usize>,
    pub(super) number: &'a str,
    pub(super) field: Option<&'a str>,
    /// True if the phrase names an output, as `{Observation 1}` does, and not a step.
    pub(super) is_output: bool,
    /// True if the phrase is hardly plain text, even if no call has its number: `[Result 9]` may be a heading.
    pub(super) is_certain_output: bool,
}

/// The first phrase such as `{step 1 field}`, `<step 1>` or `[Observation 1]` in `text` that `is_apart` from references.
pub(super) fn numbered(text: &str, is_apart: impl Fn(usize) -> bool) -> Option<NumberedPhrase<'_>> {
    if !text.contains(|sign: char| sign.is_ascii_digit()) {
        return None;
    }
    let mut brackets = BRACKETS.iter().filter(|(open, _)| *open != "(");
    brackets.find_map(|(open, close)| {
        let mut starts = text
            .match_indices(open)
            .filter(|(start, _)| is_apart(*start));
        starts.find_map(|(start, _)| {
            let inside = start + open.len();
            let window = marker_window(text, inside);
            let length = window.find(close)?;
            let mut words = window[..length]
                .split([' ', '.'])
                .filter(|word| !word.is_empty());
            let root = words.next()?;
            let is_output = NUMBERED_OUTPUTS.contains(&&*root.to_lowercase());
            // `[step 1]` is a heading.
            let is_step = matches!(root, "step" | "Step") && *open != "[";
            (is_output || is_step).then_some(())?;
            let number = words.next()?.trim_start_matches('#');
            let mut field = words.next();
            if field.is_some_and(|word| OUTPUTS.contains(&word)) {
                field = words.next();
            }
            let is_field = |word: &str| {
                word.chars()
                    .all(|sign| sign.is_alphanumeric() || sign == '_')
            };
            let is_all = words.next().is_none() && field.is_none_or(is_field);
            let is_number = !number.is_empty() && number.chars().all(|sign| sign.is_ascii_digit());
            (is_all && is_number).then(|| NumberedPhrase {
                range: start..inside + length + close.len(),
                number,
                field,
                is_output,
                is_certain_output: is_output && open.starts_with('{'),
            })
        })
    })
}

/// The first phrase in `text` that names a step: its bytes, the name or the number of the step, and the field.
pub(super) fn phrase(text: &str) -> Option<(Range<usize>, &str, Option<&str>)> {
    // Most texts have no bracket, and a search for each word is slow.
    let generated = text.contains('<').then(|| generated(text)).flatten();
    let found = generated.or_else(|| text.contains('(').then(|| call(text)).flatten());
    if let Some((range, step)) = found {
        return Some((range, step, None));
    }
    if !text.contains(" of ") && !text.contains(" from ") {
        return None;
    }
    BRACKETS.iter().find_map(|(open, close)| {
        let start = text.find(open)?;
        let inside = start + open.len();
        let length = text[inside..].find(close)?;
        let (step, field) = step_in(&text[inside..inside + length])?;
        Some((start..inside + length + close.len(), step, field))
    })
}

/// The bytes of `<GENERATED>-0` in `text`, and the number.
fn generated(text: &str) -> Option<(Range<usize>, &str)> {
    const MARK: &str = "<GENERATED>-";
    let start = text.find(MARK)?;
    let number = start + MARK.len();
    let is_digit = |sign: char| sign.is_ascii_digit();
    let length = text[number..].find(|sign| !is_digit(sign));
    let end = length.map_or(text.len(), |length| number + length);
    (end > number).then(|| (start..end, &text[number..end]))
}

/// Functions for the output of a step that hardly occur in other texts.
const CALLS: [&str; 6] = [
    "result_of(",
    "output_of(",
    "resultOf(",
    "outputOf(",
    "get_result(",
    "get_output(",
];

/// The bytes of a call such as `result_of(1)` in `text`, and its argument.
fn call(text: &str) -> Option<(Range<usize>, &str)> {
    CALLS.iter().find_map(|call| {
        let start = text.find(call)?;
        let inside = start + call.len();
        let length = text[inside..].find(')')?;
        let name = text[inside..inside + length].trim_matches(['\'', '"', '`', ' ', '#', '$']);
        let is_name = !name.is_empty()
            && name
                .chars()
                .all(|sign| sign.is_alphanumeric() || "_-".contains(sign));
        is_name.then(|| (start..inside + length + 1, name))
    })
}

/// Returns true if the phrase `written` can hardly be plain text.
pub(super) fn is_certain_phrase(written: &str) -> bool {
    written.starts_with("<GENERATED>-") || CALLS.iter().any(|call| written.starts_with(call))
}

/// The step that a phrase such as `the output of step 1` or `datetime from step 1` names, and the field.
fn step_in(phrase: &str) -> Option<(&str, Option<&str>)> {
    let mut words = phrase.split_whitespace().peekable();
    words.next_if(|word| word.eq_ignore_ascii_case("the"));
    let output = words.next()?.trim_matches(['`', '\'', '"']);
    let relation = *words.peek()?;
    matches!(relation, "of" | "from").then_some(())?;
    let is_output = OUTPUTS.contains(&&*output.to_lowercase());
    let is_of_name = |sign: char| sign.is_alphanumeric() || "_.[]".contains(sign);
    let mut names_step = false;
    while let Some(word) = words.next_if(|word| FILLERS.contains(word)) {
        names_step |= word == "step";
    }
    // Only the word `step` tells a field from a word of a sentence.
    (is_output || (names_step && output.chars().all(is_of_name))).then_some(())?;
    let step = words.next()?;
    let field = (!is_output).then_some(output);
    let step = step.trim_matches(['`', '\'', '"', '#']);
    words.next().is_none().then_some((step, field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_steps_in_brackets() {
        let check = |text: &str, expected: Option<(&str, &str, Option<&str>)>| {
            let found = numbered(text, |_| true);
            let found = found.map(|found| (&text[found.range], found.number, found.field));
            assert_eq!(found, expected, "{text}");
        };
        check(
            "It is {step 1 datetime}.",
            Some(("{step 1 datetime}", "1", Some("datetime"))),
        );
        check("<step 2>", Some(("<step 2>", "2", None)));
        check(
            "{{Step 3 output.name}}",
            Some(("{{Step 3 output.name}}", "3", Some("name"))),
        );
        check("{step 4 result}", Some(("{step 4 result}", "4", None)));
        check("[step 1]", None);
        check("{step one}", None);
        check("{step 1 of the plan}", None);
        check(
            "a {b} {Observation 2}",
            Some(("{Observation 2}", "2", None)),
        );
        check(
            "[Result 1.rows]",
            Some(("[Result 1.rows]", "1", Some("rows"))),
        );
        check("<output #3>", Some(("<output #3>", "3", None)));
        check("[Observation]", None);
    }

    #[test]
    fn phrases_name_a_step() {
        let check = |text: &str, expected: Option<(&str, &str)>| {
            let found = phrase(text).map(|(range, step, field)| {
                assert_eq!(field, text.contains("datetime").then_some("datetime"));
                (&text[range], step)
            });
            assert_eq!(found, expected, "{text}");
        };
        check(
            "<datetime from step 1>",
            Some(("<datetime from step 1>", "1")),
        );
        check("<datetime from the office>", None);
        check("<output of step 1>", Some(("<output of step 1>", "1")));
        check(
            "see [the result from read]",
            Some(("[the result from read]", "read")),
        );
        check("{{ Content of 'a' }}", Some(("{{ Content of 'a' }}", "a")));
        check("<GENERATED>-0", Some(("<GENERATED>-0", "0")));
        check("# A\n<GENERATED>-12\n", Some(("<GENERATED>-12", "12")));
        check("<GENERATED>-", None);
        check("see result_of('a').", Some(("result_of('a')", "a")));
        check("result_of(a b)", None);
        check("the output of step 1", None);
        check("[list of files]", None);
        check("<output of the first big step>", None);
        check("", None);
    }
}
