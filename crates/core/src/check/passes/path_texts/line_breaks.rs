//! Texts with a backslash and a letter in place of a line break: `"a\\nb"` in JSON.

use crate::check::reporter::Reporter;
use crate::plan::{Node, NodeKind, TextPart};
use crate::{Code, Place, Severity, Value};

/// Fields whose texts are for programs, which have escapes of their own.
const PROGRAMS: [&str; 12] = [
    "pattern",
    "regex",
    "code",
    "script",
    "command",
    "cmd",
    "query",
    "sql",
    "source",
    "format",
    "template",
    "expression",
];

/// Warns of the texts in `node` whose line breaks are escaped twice. Looks at no more than `left` values.
pub(super) fn check(node: &Node, left: &mut usize, reporter: &mut Reporter<'_>) {
    let Some(rest) = left.checked_sub(1) else {
        return;
    };
    *left = rest;
    match &node.kind {
        NodeKind::Literal(value) => literal(value, node.place, left, reporter),
        NodeKind::List(items) => {
            for item in items {
                check(item, left, reporter);
            }
        }
        NodeKind::Object(fields) => {
            for field in fields.iter().filter(|field| !is_of_program(&field.key)) {
                check(&field.value, left, reporter);
            }
        }
        NodeKind::Text(parts) => {
            let parts = parts.iter().map(|part| match part {
                TextPart::Literal(text) => &**text,
                TextPart::Reference(_) => "0",
            });
            report(&parts.collect::<String>(), node.place, reporter);
        }
        NodeKind::Reference(_) => {}
    }
}

fn literal(value: &Value, place: Place, left: &mut usize, reporter: &mut Reporter<'_>) {
    let Some(rest) = left.checked_sub(1) else {
        return;
    };
    *left = rest;
    match value {
        Value::Text(text) => report(text, place, reporter),
        Value::List(items) => {
            for item in items.iter() {
                literal(item, place, left, reporter);
            }
        }
        Value::Object(fields) => {
            for (_, field) in fields.iter().filter(|(key, _)| !is_of_program(key)) {
                literal(field, place, left, reporter);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_of_program(key: &str) -> bool {
    PROGRAMS.contains(&&*key.to_lowercase())
}

fn report(text: &str, place: Place, reporter: &mut Reporter<'_>) {
    if !has_escaped_breaks(text) || reporter.count_if_full(Severity::Warning) {
        return;
    }
    let message = "`\\n` is a backslash and a letter in this text, and not a line break";
    let diagnostic = reporter.warning(Code::MalformedReference, place, message.to_owned());
    reporter.push(
        diagnostic.help("write one backslash, `\\n` in a text in double quotes, for a line break"),
    );
}

/// Returns true if `text` is words with `\n` in it, and neither a path, nor a pattern, nor a program.
fn has_escaped_breaks(text: &str) -> bool {
    // Most texts have no backslash.
    if !text.contains("\\n") || text.contains('\n') {
        return false;
    }
    let mut rest = text;
    let mut is_break = false;
    while let Some((before, after)) = rest.split_once('\\') {
        let is_quoted = before.ends_with(['\'', '"', '`'])
            && after.get(1..2).is_some_and(|next| "'\"`".contains(next));
        let mut signs = after.chars();
        match signs.next() {
            Some('n') if !is_quoted => {
                // `C:\new` is a path.
                is_break |= before.is_empty()
                    || !signs.next().is_some_and(char::is_lowercase)
                    || !before.ends_with([':', '\\']) && before.contains(' ');
            }
            Some('t' | '"') if !is_quoted => {}
            _ => return false,
        }
        rest = after.get(1..).unwrap_or_default();
    }
    let is_program = ["printf", "awk", "sed ", "echo -e", "${", ":\\"]
        .iter()
        .any(|word| text.contains(word));
    is_break && !is_program
}

#[cfg(test)]
mod tests {
    use super::has_escaped_breaks;

    #[test]
    fn words_with_escaped_breaks() {
        for (text, expected) in [
            (r"x files\n\nx", true),
            (r"# Notes\n- one", true),
            (r"one\ntwo words\nthree", true),
            (r"C:\notes\new", false),
            (r"C:\Neu\nach", false),
            (r"\d+\n", false),
            (r"join with '\n' here", false),
            (r"printf 'a\n'", false),
            ("a\nb", false),
            ("a\\nb\n", false),
            ("plain", false),
        ] {
            assert_eq!(has_escaped_breaks(text), expected, "{text}");
        }
    }
}
