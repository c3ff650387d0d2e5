//! Results of earlier plans, for later ones of the same client.

use std::collections::{BTreeMap, BTreeSet};

/// Which results a text refers to: steps by runs. That it only looks like a reference does no harm, since what is not found is left to
/// the checks.
pub(super) fn mentioned(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut rest = text;
    while let Some(at) = rest.find("runs") {
        let is_start = rest[..at]
            .chars()
            .next_back()
            .is_none_or(|before| !before.is_alphanumeric() && !matches!(before, '_' | '.' | '-'));
        rest = &rest[at + "runs".len()..];
        if !is_start {
            continue;
        }
        if let Some((run, after)) = key(rest)
            && let Some((step, _)) = key(after)
        {
            found.entry(run).or_default().insert(step);
        }
    }
    found
}

/// The key that a path goes on with: `.name`, or `["name"]` as JSON within JSON writes it.
fn key(path: &str) -> Option<(String, &str)> {
    if let Some(name) = path.strip_prefix('.') {
        let end = name
            .find(|character: char| !character.is_alphanumeric() && !matches!(character, '_' | '-'))
            .unwrap_or(name.len());
        let (name, rest) = name.split_at(end);
        return (!name.is_empty()).then(|| (name.to_owned(), rest));
    }
    let inner = path.strip_prefix('[')?;
    let inner = inner.strip_prefix('\\').unwrap_or(inner);
    let quote = inner
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))?;
    let inner = &inner[quote.len_utf8()..];
    let end = inner.find(quote)?;
    let name = inner[..end].trim_end_matches('\\');
    let rest = inner[end + quote.len_utf8()..].strip_prefix(']')?;
    Some((name.to_owned(), rest))
}

#[cfg(test)]
mod tests {
    use super::mentioned;

    fn check(text: &str) -> String {
        let found = mentioned(text);
        let runs = found.iter().map(|(run, steps)| format!("{run}: {steps:?}"));
        runs.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn finds_what_is_mentioned() {
        insta::assert_snapshot!(check(r#"{"x": "${runs.01ab.weather.temp} ${runs.01ab.other}"}"#), @r#"01ab: {"other", "weather"}"#);
        insta::assert_snapshot!(check(r#"{"x": "${runs[\"01ab\"].a[0]}", "$ref": "runs.ff.b-2.c"}"#), @r#"01ab: {"a"}; ff: {"b-2"}"#);
        insta::assert_snapshot!(check("${steps.runs.a.b} ${myruns.a.b} ${runs} ${runs.} ${runs.a} runs['a"), @"");
    }
}
