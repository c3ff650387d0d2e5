//! Texts of servers: repaired, so that a strict parser accepts them, and shortened for messages.

use std::borrow::Cow;

/// Maximum number of bytes that an error shows.
pub(crate) const MAX_SHOWN: usize = 2 << 10;

/// Replaces bytes that are not UTF-8, and lone surrogates such as `\ud83d`, with the replacement character, so that a
/// strict parser accepts the text. Servers in JavaScript and Python write lone surrogates when they cut a text within
/// an emoji. Returns `None` if the text needs no repair.
pub(crate) fn repair_text(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let repaired = replace_lone_surrogates(&text);
    match (text, repaired) {
        (_, Some(repaired)) => Some(repaired),
        (Cow::Owned(text), None) => Some(text),
        (Cow::Borrowed(_), None) => None,
    }
}

fn replace_lone_surrogates(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut copied = 0;
    let mut from = 0;
    while let Some(offset) = text[from..].find('\\') {
        let at = from + offset;
        from = match surrogate_at(text, at) {
            // Any other escape is skipped as two bytes; it may be an escaped backslash.
            None => text[at + 1..]
                .chars()
                .next()
                .map_or(text.len(), |next| at + 1 + next.len_utf8()),
            Some(SurrogateHalf::Leading)
                if surrogate_at(text, at + 6) == Some(SurrogateHalf::Trailing) =>
            {
                at + 12
            }
            Some(_) => {
                out.push_str(&text[copied..at]);
                out.push_str("\\ufffd");
                copied = at + 6;
                copied
            }
        };
    }
    (copied > 0).then(|| {
        out.push_str(&text[copied..]);
        out
    })
}

#[derive(PartialEq, Eq)]
enum SurrogateHalf {
    Leading,
    Trailing,
}

fn surrogate_at(text: &str, at: usize) -> Option<SurrogateHalf> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(SurrogateHalf::Leading),
        0xdc00..=0xdfff => Some(SurrogateHalf::Trailing),
        _ => None,
    }
}

/// Shortens a text of a server to what an error shows.
pub(crate) fn truncate_message(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_SHOWN {
        return Cow::Borrowed(text);
    }
    let mut end = MAX_SHOWN;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Cow::Owned(format!("{}…", &text[..end]))
}

#[cfg(test)]
mod tests {
    use super::{MAX_SHOWN, repair_text, truncate_message};

    #[test]
    fn repairs_cut_text() {
        let cases: [(&[u8], Option<&str>); 10] = [
            (b"plain", None),
            (br#""\ud83d\ude00""#, None),
            (br#""\\ud83d""#, None),
            (br#""\ud83d""#, Some(r#""\ufffd""#)),
            (br#""\ude00\ud83d""#, Some(r#""\ufffd\ufffd""#)),
            (
                br#""\ud83dx\n\ud83d\ude00""#,
                Some(r#""\ufffdx\n\ud83d\ude00""#),
            ),
            (br#""\\\ud83d""#, Some(r#""\\\ufffd""#)),
            (b"\"\\ud8", None),
            (b"\\", None),
            (b"\"\xff\"", Some("\"\u{fffd}\"")),
        ];
        for (line, expected) in cases {
            assert_eq!(
                repair_text(line).as_deref(),
                expected,
                "{}",
                line.escape_ascii()
            );
        }
    }

    #[test]
    fn errors_are_brief() {
        let check = |text: &str, expected: &str| assert_eq!(truncate_message(text), expected);
        let whole = "x".repeat(MAX_SHOWN);
        check("no", "no");
        check(&whole, &whole);
        check(&format!("{whole}x"), &format!("{whole}…"));
        check(
            &"é".repeat(MAX_SHOWN),
            &format!("{}…", "é".repeat(MAX_SHOWN / 2)),
        );
    }
}
