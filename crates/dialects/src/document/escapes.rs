//! Signs in the texts of JSON that are not escaped: backslashes of Windows paths, which may form escapes, so that the text has other signs
//! than the path; and quotation marks, at which the text ends.

use std::sync::Arc;

use planwright_core::{Code, Diagnostic, Place, TextEdit};

use super::edits::json;
use super::json_reader::JsonReader;
use super::quote;
use super::scalar::read;

/// A path with single backslashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Backslashes {
    /// The path.
    pub(super) meant: String,
    /// The byte of the first single backslash in the quoted text, and that backslash with the letter after it.
    escape: (usize, String),
    /// True if no backslash is doubled.
    pub(super) is_single: bool,
}

/// The path in the quoted text `written`, if single backslashes of it form escapes.
pub(super) fn backslashes(written: &str) -> Option<Backslashes> {
    let inside = written.get(1..written.len().checked_sub(1)?)?;
    let (head, rest) = inside.split_at_checked(2)?;
    let is_drive = head.starts_with(|sign: char| sign.is_ascii_alphabetic())
        && head.ends_with(':')
        && rest.starts_with('\\');
    is_drive.then_some(())?;
    let mut meant = head.to_owned();
    let mut escape = None;
    let (mut names, mut is_single) = (0, true);
    let mut signs = rest.char_indices().peekable();
    while let Some((at, sign)) = signs.next() {
        if sign != '\\' {
            // Signs that no path has.
            if "\"/:*?<>|'`".contains(sign) || sign.is_control() {
                return None;
            }
            meant.push(sign);
            continue;
        }
        names += 1;
        meant.push('\\');
        let (_, letter) = *signs.peek()?;
        if letter == '\\' {
            signs.next();
            is_single = false;
            continue;
        }
        let code = rest.get(at + 2..at + 6).unwrap_or_default();
        // The code of a character is meant as one.
        if letter == 'u' && code.len() == 4 && code.bytes().all(|sign| sign.is_ascii_hexdigit()) {
            return None;
        }
        let at = 1 + head.len() + at;
        escape.get_or_insert_with(|| (at, format!("\\{letter}")));
    }
    // `Q:\nYes` is a question and its answer.
    let is_path =
        names > 1 || meant.ends_with(|sign: char| sign.is_alphanumeric()) && meant.contains('.');
    Some(Backslashes {
        escape: escape.filter(|_| is_path)?,
        meant,
        is_single,
    })
}

/// The maximum length of what follows the first quotation mark in a text, in bytes.
const MAX_REST: usize = 2000;

/// A text that goes on after a quotation mark in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InnerQuotes {
    /// The quoted text with escaped marks.
    written: String,
    /// The byte after the first mark that ends the text as JSON reads it, and the one after the mark that is meant to end it.
    ends: (usize, usize),
}

/// The text at the start of `text` that is meant, if it goes on after the mark before byte `end`, at which it ends in JSON.
pub(super) fn inner_quotes(text: &str, end: usize) -> Option<InnerQuotes> {
    (text.starts_with('"') && goes_on(&text[end..])).then_some(())?;
    let window = &text[..text.floor_char_boundary(end + MAX_REST)];
    let length = window[end..].find('\n').map(|length| end + length);
    let line = &window[..length.unwrap_or(window.len())];
    let inside = line.as_bytes();
    let is_mark = |at: &usize| inside[*at] == b'"' && inside[at - 1] != b'\\';
    let mut odd = None;
    let mut last = None;
    // Marks inside of a text come in pairs, unless one is a sign of its own, such as that of inches.
    for (count, at) in (end..line.len()).filter(is_mark).enumerate() {
        let after = line[at + 1..].trim_start();
        // A key begins another field.
        if after.starts_with(':') {
            break;
        }
        if ends_value(after) {
            if count % 2 == 1 {
                last = Some(at);
                break;
            }
            odd.get_or_insert(at);
        }
    }
    let last = last.or(odd)?;
    let mut written = line[..1].to_owned();
    for (at, sign) in line[..last].char_indices().skip(1) {
        if is_mark(&at) {
            written.push('\\');
        }
        written.push(sign);
    }
    written.push('"');
    Some(InnerQuotes {
        written,
        ends: (end, last + 1),
    })
}

/// Returns true if `rest`, which stands after a text, is neither the end of its value nor another value.
fn goes_on(rest: &str) -> bool {
    let is_apart = rest.starts_with([' ', '\t']);
    let rest = rest.trim_start_matches([' ', '\t']);
    let length = rest.find(|sign: char| !sign.is_alphanumeric() && sign != '_');
    let (word, after) = rest.split_at(length.unwrap_or(rest.len()));
    if word.is_empty() {
        let is_comment = rest.starts_with("//") || rest.starts_with("/*");
        return !is_apart && !is_comment && rest.starts_with(['%', '*', '/', '<', '$', '\'']);
    }
    let is_number = word.starts_with(|sign: char| sign.is_ascii_digit());
    let is_literal = ["true", "false", "null", "True", "False", "None"].contains(&word);
    let is_value = is_literal || is_number && (is_apart || !after.starts_with('"'));
    let is_call = after.starts_with('(');
    !is_value && !is_call && !after.trim_start().starts_with([':', '='])
}

/// Returns true if `after`, which stands after a quotation mark, shows that the mark ends a value.
fn ends_value(after: &str) -> bool {
    let Some(next) = after.strip_prefix(',') else {
        return after.is_empty() || after.starts_with(['}', ']']);
    };
    let next = next.trim_start();
    let length = next.find(|sign: char| !sign.is_alphanumeric() && sign != '_');
    next.is_empty()
        || next.starts_with(['"', '{', '[', '}', ']'])
        || next.starts_with(|sign: char| sign.is_ascii_digit())
        || length.is_some_and(|length| length > 0 && next[length..].trim_start().starts_with(':'))
}

impl JsonReader<'_> {
    /// Reports the text `found`, which begins at byte `start`, and reads on after it. Returns the text.
    pub(super) fn report_inner_quotes(
        &mut self,
        place: Place,
        start: usize,
        found: InnerQuotes,
    ) -> Arc<str> {
        let (first, last) = found.ends;
        let text = read(&found.written, 1, b'"', &mut |_| {}).text.into();
        let shown = quote(&found.written);
        let help = format!(
            "write `\\\"` for a quotation mark in a text: `{}`",
            shown.trim_matches('`')
        );
        let message = "the text ends at this `\"`, and goes on after it".to_owned();
        let edit = TextEdit::new(start..start + last, found.written);
        self.at = start + last;
        let mark = (start + first - 1, start + first);
        self.report_repairable(place, mark, message, &help, edit);
        text
    }

    /// Reports the path `found` in the quoted text that begins at byte `start`.
    pub(super) fn report_backslashes(
        &mut self,
        place: Place,
        start: usize,
        found: &Backslashes,
        is_certain: bool,
    ) {
        let written = json(&found.meant);
        let (at, escape) = &found.escape;
        let range = (start + at, start + at + escape.len());
        let is_known = ["\\n", "\\t", "\\b", "\\f", "\\r"].contains(&&**escape);
        let what = if is_known {
            "is one character, not a backslash and a letter"
        } else {
            "is not an escape"
        };
        let message = format!("{} {what}", quote(escape));
        let shown = quote(&written);
        let shown = shown.trim_matches('`');
        let diagnostic = if is_certain {
            let edit = TextEdit::new(start..self.at, written.clone());
            Diagnostic::error(Code::NotJson, message)
                .help(format!(
                    "in JSON, each backslash is doubled: write `{shown}`"
                ))
                .fixes([edit])
        } else {
            Diagnostic::warning(Code::NotJson, message).help(format!(
                "in a path, each backslash is doubled: write `{shown}`"
            ))
        };
        self.push(diagnostic, place, range.0, range.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_single_backslashes() {
        let check = |written: &str, expected: Option<(&str, bool)>| {
            let found = backslashes(written);
            let found = found.as_ref().map(|found| (&*found.meant, found.is_single));
            assert_eq!(found, expected, "{written}");
        };
        check(r#""C:\new\table""#, Some((r"C:\new\table", true)));
        check(
            r#""C:\Users\ada\notes.txt""#,
            Some((r"C:\Users\ada\notes.txt", true)),
        );
        check(r#""C:\notes.txt""#, Some((r"C:\notes.txt", true)));
        check(
            r#""C:\\Users\\ada\notes.txt""#,
            Some((r"C:\Users\ada\notes.txt", false)),
        );
        check(r#""C:\\new\\table""#, None);
        check(r#""C:/new/table""#, None);
        check(r#""Q:\nYes""#, None);
        check(r#""Q:\nWhat?\nA:\nThis.""#, None);
        check(r#""C:\\a.txt\nC:\\b.txt""#, None);
        check(r#""a:\u000ab.c""#, None);
        check(r#""\d+\n""#, None);
    }

    #[test]
    fn quotation_marks_in_texts() {
        let check = |line: &str, expected: Option<&str>| {
            let end = read(line, 1, b'"', &mut |_| {}).end;
            let found = inner_quotes(line, end);
            assert_eq!(
                found.as_ref().map(|found| &*found.written),
                expected,
                "{line}"
            );
        };
        let sql = r#""SELECT * FROM orders WHERE city = \"Paris\"""#;
        check(
            r#""SELECT * FROM orders WHERE city = "Paris""}},"#,
            Some(sql),
        );
        check(
            r#""city = "Paris" AND amount > 5"}"#,
            Some(r#""city = \"Paris\" AND amount > 5""#),
        );
        check(
            r#""He said "hello" to me", "b": 1"#,
            Some(r#""He said \"hello\" to me""#),
        );
        check(
            r#""say "a", "b" and \"c\" now","#,
            Some(r#""say \"a\", \"b\" and \"c\" now""#),
        );
        check(r#""5" pipe", "y": "6" pipe""#, Some(r#""5\" pipe""#));
        check(r#""id = "5""}"#, Some(r#""id = \"5\"""#));
        check(r#""like "%a%"""#, Some(r#""like \"%a%\"""#));
        check(r#""a" "b"]"#, None);
        check(r#""a" b: 1, "c": "d"}"#, None);
        check(r#""a" 5]"#, None);
        check(r#""a" true]"#, None);
        check(r#""a" // "b""#, None);
        check(r#""a".upper(), "b""#, None);
        check(r#""a" + "b"}"#, None);
        check(r#""a" b]"#, None);
        check(r#""a"}"#, None);
    }
}
