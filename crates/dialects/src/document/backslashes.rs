//! Paths of Windows in JSON whose backslashes are not doubled: some of them form escapes, and the text has other signs than the path.

use planwright_core::{Code, Diagnostic, Place, TextEdit};

use super::edits::json;
use super::json_reader::JsonReader;
use super::quote;

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

impl JsonReader<'_> {
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
}
