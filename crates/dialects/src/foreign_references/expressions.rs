//! Expressions of other systems in texts, known by their delimiters alone. No reader has understood them, so a tool would receive them as
//! text.

use std::ops::Range;

use super::paths::references;

/// The maximum length of an expression, in bytes.
const MAX_BYTES: usize = 512;

/// The maximum number of expressions of one text.
const MAX_COUNT: usize = 32;

/// The delimiters that texts for people seldom have. Longer ones precede their own prefixes.
const DELIMITERS: [(&str, &str); 4] = [("${{", "}}"), ("{{", "}}"), ("{%", "%}"), ("<%", "%>")];

/// The names that n8n has between braces, whatever the names of a plan.
const OWN_ROOTS: [&str; 6] = ["$input", "$node", "$json", "$items", "$(", "$fromAI"];

/// An expression of another system in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignExpression {
    /// The bytes of the expression with its delimiters.
    pub(crate) range: Range<usize>,
    /// True if it names a step or an input, so that it can hardly be meant as text.
    pub(crate) is_certain: bool,
    /// True if it is only a name or a statement, which templates for other programs have as well.
    pub(crate) is_plain: bool,
}

/// The expressions in `text`, in order. `is_name` returns true for the names of steps and inputs. References of the native dialect have
/// none, if the text `has_references`.
pub(crate) fn expressions(
    text: &str,
    has_references: bool,
    is_name: &impl Fn(&str) -> bool,
) -> Vec<ForeignExpression> {
    if !text.contains(['{', '%']) {
        return Vec::new();
    }
    let references = if has_references {
        references(text)
    } else {
        Vec::new()
    };
    let mut found: Vec<ForeignExpression> = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(['$', '{', '<']).map(|at| from + at)
        && found.len() < MAX_COUNT
    {
        if let Some(own) = references.iter().find(|range| range.contains(&at)) {
            from = own.end;
            continue;
        }
        let expression = delimited(text, at, is_name).or_else(|| braced(text, at, is_name));
        from = match expression {
            Some(expression) => {
                let end = expression.range.end;
                found.push(expression);
                end
            }
            None => at + 1,
        };
    }
    found
}

/// The expression that begins at `at` with one of [`DELIMITERS`].
fn delimited(text: &str, at: usize, is_name: &impl Fn(&str) -> bool) -> Option<ForeignExpression> {
    // `$${{` is the text `${{`, which its author has escaped.
    if text[..at].ends_with('$') {
        return None;
    }
    let (open, close) = DELIMITERS
        .iter()
        .find(|(open, _)| text[at..].starts_with(open))?;
    let inside = window(text, at + open.len());
    let length = inside.find(close)?;
    let inside = inside[..length].trim();
    // `{{}}` is an empty object in an object.
    if inside.is_empty() || inside.starts_with('"') || inside.starts_with('{') {
        return None;
    }
    let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_';
    let is_root = OWN_ROOTS.iter().any(|root| inside.starts_with(root));
    Some(ForeignExpression {
        range: at..at + open.len() + text[at + open.len()..].find(close)? + close.len(),
        is_certain: is_root && *open == "{{" || names_item(inside, is_name),
        is_plain: open.contains('%') || inside.chars().all(is_of_name),
    })
}

/// The expression of Python at `at`, `{len(a['items'])}`, if it reads a part of a step or an input.
fn braced(text: &str, at: usize, is_name: &impl Fn(&str) -> bool) -> Option<ForeignExpression> {
    if !text[at..].starts_with('{') || text[..at].ends_with(['$', '@', '#', '%', '{']) {
        return None;
    }
    let inside = window(text, at + 1);
    let length = closing_brace(inside)?;
    let inside = &inside[..length];
    // Statements are a program that is meant as text.
    let is_code = [";", "\n", "return ", "=>"]
        .iter()
        .any(|part| inside.contains(part));
    let is_json = inside.trim_start().starts_with('"');
    (!is_code && !is_json && names_item(inside, is_name)).then(|| ForeignExpression {
        range: at..at + length + 2,
        is_certain: true,
        is_plain: false,
    })
}

/// The position of the brace that closes an expression around `inside`.
fn closing_brace(inside: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, sign) in inside.char_indices() {
        match sign {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Returns true if `inside` reads an item of a step or an input: `a['items']`, `a[0]`.
fn names_item(inside: &str, is_name: &impl Fn(&str) -> bool) -> bool {
    inside.match_indices('[').any(|(at, _)| {
        let before = &inside[..at];
        let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '-';
        let start = before.trim_end_matches(is_of_name).len();
        let is_key = inside[at + 1..].starts_with(['\'', '"']);
        let is_index = inside[at + 1..].starts_with(|sign: char| sign.is_ascii_digit());
        (is_key || is_index) && !before[..start].ends_with('.') && is_name(&before[start..])
    })
}

/// The part of `text` from `at` in which an expression ends.
fn window(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    &rest[..rest.floor_char_boundary(MAX_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, bool)> {
        let found = expressions(text, true, &|name| matches!(name, "rows" | "steps"));
        let found = found.into_iter();
        found
            .map(|found| (text[found.range].to_owned(), found.is_certain))
            .collect()
    }

    #[test]
    fn expressions_are_found_by_their_delimiters() {
        for (text, written, is_certain) in [
            ("to {{ $input.repo }}", "{{ $input.repo }}", true),
            ("{{ $node['2'].json }}", "{{ $node['2'].json }}", true),
            (
                "{{ macros.ds_add(ds, 7) }}",
                "{{ macros.ds_add(ds, 7) }}",
                false,
            ),
            ("{% if x %}", "{% if x %}", false),
            ("<% ctx().x %>", "<% ctx().x %>", false),
            ("${{ github.ref }}", "${{ github.ref }}", false),
            ("n: {len(rows['items'])}", "{len(rows['items'])}", true),
            (
                "{sum(o['x'] for o in rows['y']):.2f}",
                "{sum(o['x'] for o in rows['y']):.2f}",
                true,
            ),
        ] {
            assert_eq!(found(text), [(written.to_owned(), is_certain)], "{text}");
        }
    }

    #[test]
    fn own_references_and_data_are_none() {
        for text in [
            "${rows.items}",
            "${rows.map(r, {'a': r['x']})}",
            "${'{{ $input.repo }}'}",
            "$${{ github.ref }}",
            r#"{"a": {"b": {}}}"#,
            "{{}}",
            "{other['x']}",
            "function f() { return rows[0]; }",
            "50% {of} it",
            "{{ never closed",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }
}
