//! Error messages of providers, on one line and without our key.

use serde_json::Value;

use super::settings::Key;

/// Maximum length of a message, in characters.
const MAX_CHARS: usize = 300;

/// JSON pointers to the message in error bodies.
const MESSAGE_POINTERS: &[&str] = &[
    "/error/message",
    "/0/error/message",
    "/error",
    "/message",
    "/detail",
    "/errors/0/message",
];

/// Extracts the message from an error body.
pub(super) fn parse(body: &str, key: Option<&Key>) -> Option<String> {
    match serde_json::from_str(body) {
        Ok(value) => parse_json(&value, key),
        // HTML comes from a proxy in between and says nothing useful.
        Err(_) if body.trim_start().starts_with('<') => None,
        Err(_) => sanitize(body, key),
    }
}

/// Extracts the message from an error body in JSON.
pub(super) fn parse_json(body: &Value, key: Option<&Key>) -> Option<String> {
    let mut candidates = MESSAGE_POINTERS
        .iter()
        .filter_map(|pointer| body.pointer(pointer));
    let message = candidates.find_map(Value::as_str);
    message.and_then(|message| sanitize(message, key))
}

/// Extracts the provider's error codes, joined by spaces.
pub(super) fn code(body: &Value) -> String {
    let pointers = ["/error/code", "/error/type", "/code", "/type"];
    let found = pointers.iter().filter_map(|pointer| body.pointer(pointer));
    let codes: Vec<String> = found
        .map(|code| {
            code.as_str()
                .map_or_else(|| code.to_string(), str::to_owned)
        })
        .collect();
    codes.join(" ")
}

/// Puts a message on one line, redacts the key and truncates it.
pub(super) fn sanitize(message: &str, key: Option<&Key>) -> Option<String> {
    let mut message: String = message.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some(key) = key {
        message = message.replace(key.expose(), "[redacted]");
    }
    // Messages are shown on terminals, and our own texts quote names in backticks.
    message.retain(|letter| !letter.is_control() && letter != '`');
    if let Some((end, _)) = message.char_indices().nth(MAX_CHARS) {
        message.truncate(end);
        message.push('…');
    }
    Some(message).filter(|message| !message.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: Option<&str>) {
        let key = Key::new("sk-1234");
        assert_eq!(parse(body, Some(&key)).as_deref(), expected, "{body}");
    }

    #[test]
    fn messages_are_found() {
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
