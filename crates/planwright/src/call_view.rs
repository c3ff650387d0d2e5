//! The view of a call for the person who decides about it: the same lines on a terminal, in a form, and in lists.
//! Every key of the arguments is shown. Long values are cut in the middle, with the size of the hidden part and a digest of the whole, so
//! that no argument can push another one out of sight. Invisible characters are replaced by their escapes.

use std::fmt::Write as _;

use planwright_core::Value;
use planwright_engine::approval::{ApprovalRequest, CallSubject};
use planwright_engine::event::Address;
use sha2::{Digest, Sha256};

pub use planwright_core::text::visible;

/// The longest text that is shown whole, in characters.
const WHOLE_TEXT: usize = 240;

/// The number of characters that are shown of a longer text, at its beginning and at its end.
const TEXT_ENDS: (usize, usize) = (140, 60);

/// The longest list that is shown whole, in items.
const WHOLE_LIST: usize = 12;

/// The number of items that are shown of a longer list, at its beginning and at its end.
const LIST_ENDS: (usize, usize) = (8, 3);

/// Maximum depth to which values are shown on separate lines.
const MAX_DEPTH: usize = 6;

/// The maximum number of lines for all arguments together. With more, each argument takes one line.
const MAX_LINES: usize = 200;

/// The number of digits of the digest that represents a value with a hidden part.
const DIGEST_DIGITS: usize = 16;

/// A call that a person decides about.
#[derive(Clone, Debug)]
pub struct CallView<'a> {
    /// The calling step, item or round.
    pub at: &'a Address,
    /// The call that the decision is about. Secrets among its arguments are `[redacted]`.
    pub subject: &'a CallSubject,
    /// The reason why a person is asked, if it is known.
    pub reason: Option<&'a str>,
    /// The differences from the call of the previous decision, one clause each.
    pub changes: &'a [String],
}

impl<'a> CallView<'a> {
    /// The call that `request` is about.
    pub fn of(request: &'a ApprovalRequest) -> Self {
        Self {
            at: &request.at,
            subject: &request.subject,
            reason: request.reason.as_deref(),
            changes: &request.changes,
        }
    }

    /// Returns the lines: the step and the tool, all arguments, the changes, the reason for asking. The arguments come first, since some
    /// clients show only the first lines of a question.
    pub fn lines(&self) -> Vec<String> {
        self.lines_with(arguments(&self.subject.args))
    }

    /// Like [`lines`](Self::lines), with the arguments as the caller writes them.
    pub fn lines_with(&self, arguments: impl IntoIterator<Item = String>) -> Vec<String> {
        let at = self.at.to_string();
        let tool = self.subject.qualified_name();
        let mut lines = vec![format!("{} wants to call {}", visible(&at), visible(&tool))];
        lines.extend(arguments.into_iter().map(|line| format!("  {line}")));
        for change in self.changes {
            lines.push(format!("  since the last question: {}", short(change)));
        }
        if let Some(reason) = self.reason {
            let mut reasons = reason.lines();
            let first = reasons.next().unwrap_or_default();
            lines.push(format!("  why it asks: {}", short(first)));
            lines.extend(reasons.map(|line| format!("    {}", short(line))));
        }
        lines
    }

    /// The step and the tool in one clause, for a question below the lines.
    pub fn brief(&self) -> String {
        format!(
            "the call `{}` of `{}`",
            short(&self.at.to_string()),
            short(&self.subject.qualified_name())
        )
    }

    /// The lines as one text.
    pub fn text(&self) -> String {
        self.lines().join("\n")
    }
}

/// The arguments of a call, line by line.
pub fn arguments(args: &Value) -> Vec<String> {
    let Some(fields) = args.as_object() else {
        return named("arguments", args);
    };
    if fields.is_empty() {
        return vec!["no arguments".to_owned()];
    }
    let whole: Vec<String> = fields
        .iter()
        .flat_map(|(key, value)| named(key, value))
        .collect();
    if whole.len() <= MAX_LINES {
        return whole;
    }
    fields
        .iter()
        .map(|(key, value)| format!("{}: {}", short(key), in_brief(value)))
        .collect()
}

/// A key with its value, on as many lines as it needs.
fn named(key: &str, value: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    add(&short(key), value, 0, &mut lines);
    lines
}

fn add(name: &str, value: &Value, depth: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) if !fields.is_empty() && depth < MAX_DEPTH => {
            lines.push(format!("{indent}{name}: {}", counted(fields.len(), "key")));
            for (key, field) in fields.iter() {
                add(&short(key), field, depth + 1, lines);
            }
        }
        Value::List(items) if !items.is_empty() && depth < MAX_DEPTH => {
            lines.push(format!("{indent}{name}: {}", counted(items.len(), "item")));
            let (head, tail) = if items.len() <= WHOLE_LIST {
                (items.len(), items.len())
            } else {
                (LIST_ENDS.0, items.len() - LIST_ENDS.1)
            };
            for (index, item) in items.iter().enumerate() {
                if index < head || tail <= index {
                    add(&format!("[{index}]"), item, depth + 1, lines);
                } else if index == head {
                    let hidden = counted(tail - head, "item");
                    let digest = digest(&value.to_json());
                    lines.push(format!("{indent}  … {hidden} hidden, sha256 {digest} …"));
                }
            }
        }
        _ => lines.push(format!("{indent}{name}: {}", in_brief(value))),
    }
}

/// A value on one line.
fn in_brief(value: &Value) -> String {
    match value {
        Value::Text(text) => quoted(text),
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::List(items) if items.is_empty() => "[]".to_owned(),
        Value::Object(fields) => collapsed(counted(fields.len(), "key"), value),
        Value::List(items) => collapsed(counted(items.len(), "item"), value),
        Value::Null | Value::Bool(_) | Value::Number(_) => short(&value.to_json()),
    }
}

/// The text in place of a list or an object that is too deep or too long to be shown.
fn collapsed(count: String, value: &Value) -> String {
    let json = value.to_json();
    format!(
        "{count}, {} bytes hidden, sha256 {}",
        json.len(),
        digest(&json)
    )
}

/// A text in quotes, cut in the middle if it is long.
fn quoted(text: &str) -> String {
    cut(text, |part| {
        visible(&Value::from(part).to_json()).into_owned()
    })
}

/// A name or a clause, cut in the middle if it is long.
fn short(text: &str) -> String {
    cut(text, |part| visible(part).into_owned())
}

fn cut(text: &str, write: impl Fn(&str) -> String) -> String {
    let count = text.chars().count();
    if count <= WHOLE_TEXT {
        return write(text);
    }
    let (head, tail) = TEXT_ENDS;
    let at = |characters: usize| {
        let mut starts = text.char_indices().map(|(start, _)| start);
        starts.nth(characters).unwrap_or(text.len())
    };
    let (first, rest) = text.split_at(at(head));
    let (hidden, last) = rest.split_at(at(count - tail) - first.len());
    format!(
        "{} … {} of {count} characters hidden, sha256 {} … {}",
        write(first),
        hidden.chars().count(),
        digest(text),
        write(last)
    )
}

fn digest(text: &str) -> String {
    let digest = Sha256::digest(text);
    let bytes = digest.iter().take(DIGEST_DIGITS / 2);
    bytes.fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// `1 step`, `2 steps`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str) -> String {
        arguments(&Value::from_json(json).unwrap()).join("\n")
    }

    #[test]
    fn shows_values_with_their_names() {
        insta::assert_snapshot!(check(r#"{"to": "ada", "amount": 20, "urgent": false, "note": null, "tags": [], "meta": {}}"#), @r#"
        to: "ada"
        amount: 20
        urgent: false
        note: null
        tags: []
        meta: {}
        "#);
        insta::assert_snapshot!(check(r#"{"mail": {"to": ["a@x", "b@x"], "body": "two\nlines"}}"#), @r#"
        mail: 2 keys
          to: 2 items
            [0]: "a@x"
            [1]: "b@x"
          body: "two\nlines"
        "#);
        assert_eq!(check("{}"), "no arguments");
        assert_eq!(check("7"), "arguments: 7");
    }

    #[test]
    fn a_long_value_hides_no_other() {
        let long = format!(
            "{}{}{}",
            "a".repeat(200),
            "b".repeat(4_000),
            "c".repeat(300)
        );
        let shown = check(&format!(
            r#"{{"content": "{long}", "path": "/etc/evil.sh"}}"#
        ));
        let (content, path) = shown.split_once('\n').unwrap();
        assert_eq!(path, r#"path: "/etc/evil.sh""#);
        let hidden = format!(
            r#"content: "{}" … 4300 of 4500 characters hidden, sha256 {} … "{}""#,
            "a".repeat(140),
            digest(&long),
            "c".repeat(60)
        );
        assert_eq!(content, hidden);
    }

    #[test]
    fn a_long_list_is_counted() {
        let items: Vec<String> = (0..100).map(|index| format!("\"to{index}@x\"")).collect();
        let json = format!(r#"{{"to": [{}], "text": "hi"}}"#, items.join(","));
        let shown = check(&json);
        assert!(
            shown.starts_with("to: 100 items\n  [0]: \"to0@x\"\n"),
            "{shown}"
        );
        assert!(
            shown.contains("\n  [7]: \"to7@x\"\n  … 89 items hidden, sha256 "),
            "{shown}"
        );
        assert!(
            shown.ends_with(
                " …\n  [97]: \"to97@x\"\n  [98]: \"to98@x\"\n  [99]: \"to99@x\"\ntext: \"hi\""
            ),
            "{shown}"
        );
    }

    #[test]
    fn every_key_is_shown_however_much_there_is() {
        let rows: Vec<String> = (0..9)
            .map(|row| format!(r#"{{"a": {row}, "b": [1, 2]}}"#))
            .collect();
        let rows = rows.join(",");
        let fields: Vec<String> = (0..300)
            .map(|key| format!(r#""k{key}": [{rows}]"#))
            .collect();
        let shown = check(&format!("{{{}}}", fields.join(",")));
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 300);
        for (key, line) in lines.iter().enumerate() {
            assert!(line.starts_with(&format!("k{key}: 9 items, ")), "{line}");
            assert!(line.contains(" bytes hidden, sha256 "), "{line}");
        }
        let deep = format!(
            r#"{{"deep": {}1{}}}"#,
            r#"{"x": "#.repeat(40),
            "}".repeat(40)
        );
        assert!(
            check(&deep).ends_with("x: 1 key, 205 bytes hidden, sha256 a76450bc34f13f70"),
            "{}",
            check(&deep)
        );
    }

    #[test]
    fn what_cannot_be_seen_is_made_visible() {
        let shown = check("{\"pa\u{200b}th\": \"a\u{2066}b\\r\"}");
        assert_eq!(shown, r#"pa\u{200b}th: "a\u{2066}b\r""#);
    }

    #[test]
    fn a_view_says_why_and_what_has_changed() {
        let at = Address {
            inside: None,
            instance: None,
            step: "harmless\r\n\u{1b}[2K".into(),
            item: None,
            round: None,
        };
        let subject = CallSubject {
            server: "bank".into(),
            tool: "pay\u{202e}".into(),
            args: Value::object([("to", Value::from("ada"))]),
            ..CallSubject::default()
        };
        let view = CallView {
            at: &at,
            subject: &subject,
            reason: Some("its server says that it may destroy something"),
            changes: &["the tool was `bank.list`".to_owned()],
        };
        insta::assert_snapshot!(view.text(), @r#"
        harmless\r\n\u{001b}%5B2K wants to call bank.pay\u{202e}
          to: "ada"
          since the last question: the tool was `bank.list`
          why it asks: its server says that it may destroy something
        "#);
    }
}
