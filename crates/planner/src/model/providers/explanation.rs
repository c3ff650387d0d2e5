//! What a provider says about its failure: the part of it that a person can use, on one line, without our key.

use serde_json::Value;

use super::settings::Key;

/// The longest explanation that is passed on, in letters.
const LONGEST: usize = 300;

/// Where providers put their words.
const PLACES: &[&str] = &[
    "/error/message",
    "/0/error/message",
    "/error",
    "/message",
    "/detail",
    "/errors/0/message",
];

/// The words of an answer.
pub(super) fn read(body: &str, key: Option<&Key>) -> Option<String> {
    match serde_json::from_str(body) {
        Ok(value) => read_value(&value, key),
        // A page of some proxy in between tells nobody anything.
        Err(_) if body.trim_start().starts_with('<') => None,
        Err(_) => tidy(body, key),
    }
}

/// The words of an answer that is JSON.
pub(super) fn read_value(body: &Value, key: Option<&Key>) -> Option<String> {
    let mut places = PLACES.iter().filter_map(|place| body.pointer(place));
    let words = places.find_map(Value::as_str);
    words.and_then(|words| tidy(words, key))
}

/// What kind of failure it is, in the provider's own words.
pub(super) fn code(body: &Value) -> String {
    let places = ["/error/code", "/error/type", "/code", "/type"];
    let found = places.iter().filter_map(|place| body.pointer(place));
    let words: Vec<String> = found
        .map(|code| {
            code.as_str()
                .map_or_else(|| code.to_string(), str::to_owned)
        })
        .collect();
    words.join(" ")
}

/// Puts it on one line, hides the key and cuts it.
pub(super) fn tidy(words: &str, key: Option<&Key>) -> Option<String> {
    let mut words: String = words.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(key) = key {
        words = words.replace(key.expose(), "[redacted]");
    }
    words.retain(|letter| !letter.is_control() && letter != '`');
    if let Some((end, _)) = words.char_indices().nth(LONGEST) {
        words.truncate(end);
        words.push('…');
    }
    Some(words).filter(|words| !words.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: Option<&str>) {
        let key = Key::new("sk-1234");
        assert_eq!(read(body, Some(&key)).as_deref(), expected, "{body}");
    }

    #[test]
    fn words_are_found() {
        check(
            r#"{"error": {"message": "no\n such model"}}"#,
            Some("no such model"),
        );
        check(r#"[{"error": {"message": "gone"}}]"#, Some("gone"));
        check(
            r#"{"error": "model 'a' not found"}"#,
            Some("model 'a' not found"),
        );
        check(r#"{"message": "no"}"#, Some("no"));
        check(
            r#"{"error": {"message": "bad key sk-1234."}}"#,
            Some("bad key [redacted]."),
        );
        check("upstream \u{1b}[31mfailed", Some("upstream [31mfailed"));
        check("<html>502</html>", None);
        check("{}", None);
        check("", None);
        let long = "a".repeat(1000);
        let cut = "a".repeat(300) + "…";
        check(&long, Some(&cut));
    }
}
