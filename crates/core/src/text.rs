//! Invisible characters in text from other parties: escaping and removal; and bytes as text.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use regex::{Captures, Regex};

use crate::{Object, Value};

/// Keywords whose values people and models read as text.
const TEXT_FIELDS: [&str; 2] = ["title", "description"];

/// Schema keywords whose values map names to schemas.
const NAME_MAPS: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// Schema keywords whose values are data.
const DATA_KEYWORDS: [&str; 5] = ["default", "const", "enum", "examples", "_meta"];

/// Characters that no name needs: control, format, bidirectional, ignorable, unassigned and private ones, and spaces
/// other than U+0020.
const INVISIBLE: &str = r"[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\x{2800}--\x{20}]";

/// Characters that no text needs. Joiners and variation selectors are legitimate in scripts and emoji, but a run of
/// them is not, except the one that emoji use.
const HIDDEN: &str = r"[\p{Cc}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\x{FFF9}-\x{FFFB}\x{2028}\x{2029}--[\t\n\r\x{200C}\x{200D}\x{FE0E}\x{FE0F}]]+";
const JOINERS: &str = r"[\x{200C}\x{200D}\x{FE0E}\x{FE0F}]{2,}";
const EMOJI_JOINERS: &str = "\u{fe0f}\u{200d}";

/// Returns bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    // Each call has a key in this form, and a formatter takes longer than the digest.
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digit = |digit: u8| char::from(digit + if digit < 10 { b'0' } else { b'a' - 10 });
    digits.map(digit).collect()
}

/// Escapes every character of `text` that is invisible or changes how others look: control, format, bidirectional,
/// ignorable, unassigned and private ones, and spaces other than U+0020.
pub fn visible(text: &str) -> Cow<'_, str> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(INVISIBLE).ok());
    let Some(invisible) = &*PATTERN else {
        // The pattern is constant, and a test compiles it.
        return Cow::Owned(text.escape_default().to_string());
    };
    invisible.replace_all(text, |found: &Captures<'_>| {
        let mut escaped = String::new();
        for character in found.get(0).map_or("", |found| found.as_str()).chars() {
            match character {
                '\n' => escaped.push_str("\\n"),
                '\r' => escaped.push_str("\\r"),
                '\t' => escaped.push_str("\\t"),
                other => {
                    // Writing to a `String` cannot fail.
                    let _ = write!(escaped, "\\u{{{:04x}}}", u32::from(other));
                }
            }
        }
        escaped
    })
}

/// Returns true if every character of `name` is visible.
pub fn is_visible(name: &str) -> bool {
    matches!(visible(name), Cow::Borrowed(_))
}

/// Removes invisible characters from `text`, which could carry instructions that only a model reads. Line breaks and
/// tabs stay, as do single joiners of scripts and emoji.
pub fn without_hidden(text: &str) -> Cow<'_, str> {
    static PATTERNS: LazyLock<Option<(Regex, Regex)>> =
        LazyLock::new(|| Some((Regex::new(HIDDEN).ok()?, Regex::new(JOINERS).ok()?)));
    let Some((hidden, joiners)) = &*PATTERNS else {
        return Cow::Owned(text.escape_default().to_string());
    };
    let clean = hidden.replace_all(text, "");
    let is_odd = |run: &str| run != EMOJI_JOINERS;
    if !joiners.find_iter(&clean).any(|run| is_odd(run.as_str())) {
        return clean;
    }
    let joined = joiners.replace_all(&clean, |found: &Captures<'_>| {
        let run = found.get(0).map_or("", |found| found.as_str());
        if is_odd(run) { "" } else { EMOJI_JOINERS }
    });
    Cow::Owned(joined.into_owned())
}

/// Removes [hidden characters](without_hidden) from the titles and descriptions of a tool or a schema. Returns `None`
/// if there are none.
pub fn without_hidden_texts(value: &Value) -> Option<Value> {
    clean(value, false)
}

/// Replaces the invisible characters of `json` by JSON escapes.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    if is_visible(json) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::new();
    let mut units = [0; 2];
    for character in json.chars() {
        if is_visible(character.encode_utf8(&mut [0; 4])) {
            escaped.push(character);
        } else {
            for unit in character.encode_utf16(&mut units) {
                // Writing to a `String` cannot fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        }
    }
    Cow::Owned(escaped)
}

/// Cleans a value as [`without_hidden_texts`] does. `has_names` is true if the keys of `value` are names, not keywords.
fn clean(value: &Value, has_names: bool) -> Option<Value> {
    match value {
        Value::List(items) => {
            let cleaned: Vec<Option<Value>> = items.iter().map(|item| clean(item, false)).collect();
            if cleaned.iter().all(Option::is_none) {
                return None;
            }
            let items = items.iter().zip(cleaned);
            Some(Value::list(items.map(|(item, cleaned)| {
                cleaned.unwrap_or_else(|| item.clone())
            })))
        }
        Value::Object(fields) => {
            let mut changed: Option<Object> = None;
            for (name, field) in fields.iter() {
                let is = |words: &[&str]| !has_names && words.contains(&&**name);
                let cleaned = match field {
                    _ if is(&DATA_KEYWORDS) => None,
                    Value::Text(text) if is(&TEXT_FIELDS) => {
                        let clean = without_hidden(text);
                        (*clean != **text).then(|| Value::from(clean.as_ref()))
                    }
                    other => clean(other, is(&NAME_MAPS)),
                };
                if let Some(cleaned) = cleaned {
                    let changed = changed.get_or_insert_with(|| Object::clone(fields));
                    changed.insert(Arc::clone(name), cleaned);
                }
            }
            changed.map(Value::from)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_visible, visible, visible_json, without_hidden};

    #[test]
    fn invisible_characters_are_escaped() {
        let cases = [
            ("plain, é, 東京, 😀", "plain, é, 東京, 😀"),
            (
                "zero\u{200b}width\u{200d}\u{feff}",
                "zero\\u{200b}width\\u{200d}\\u{feff}",
            ),
            ("\u{202e}gpj.exe\u{2066}", "\\u{202e}gpj.exe\\u{2066}"),
            ("tag\u{e0041}\u{e007f}", "tag\\u{e0041}\\u{e007f}"),
            (
                "soft\u{ad}\u{34f}\u{115f}\u{3164}\u{2800}",
                "soft\\u{00ad}\\u{034f}\\u{115f}\\u{3164}\\u{2800}",
            ),
            (
                "nb\u{a0}sp\u{2003}\u{3000}",
                "nb\\u{00a0}sp\\u{2003}\\u{3000}",
            ),
            (
                "a\nb\tc\rd\u{1b}[2K\u{9b}",
                "a\\nb\\tc\\rd\\u{001b}[2K\\u{009b}",
            ),
            ("private\u{e000}", "private\\u{e000}"),
        ];
        for (text, wanted) in cases {
            assert_eq!(visible(text), wanted);
            assert_eq!(is_visible(text), text == wanted);
        }
    }

    #[test]
    fn hidden_characters_are_removed() {
        let cases = [
            ("Reads a file.\n\tMore.", "Reads a file.\n\tMore."),
            ("nb\u{a0}sp, 東京\u{3000}", "nb\u{a0}sp, 東京\u{3000}"),
            (
                "❤\u{fe0f}\u{200d}🔥 👩\u{200d}👩",
                "❤\u{fe0f}\u{200d}🔥 👩\u{200d}👩",
            ),
            ("می\u{200c}خواهم", "می\u{200c}خواهم"),
            ("a\u{e0049}\u{e0067}\u{e007f}b", "ab"),
            ("a\u{200b}\u{2060}\u{feff}b\u{202e}c\u{ad}", "abc"),
            ("a\u{fe01}\u{e0101}b", "ab"),
            ("a\u{200c}\u{200d}\u{200c}b", "ab"),
            ("a\u{200d}\u{200b}\u{200d}b", "ab"),
            ("a\u{1b}[2Kb\u{9b}", "a[2Kb"),
        ];
        for (text, wanted) in cases {
            assert_eq!(without_hidden(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn json_keeps_its_meaning_with_escapes() {
        assert_eq!(visible_json(r#""plain é""#), r#""plain é""#);
        assert_eq!(
            visible_json("\"a\u{200b}\u{e0041}\""),
            r#""a\u200b\udb40\udc41""#
        );
    }
}
