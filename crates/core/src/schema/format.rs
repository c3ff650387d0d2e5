//! Formats of texts. They are checked for written values only: servers disagree about computed ones.

use std::sync::LazyLock;

use jsonschema::ValidationOptions;

use super::instance::ValueJson;
use crate::Value;

/// The formats that are checked.
pub(super) const CHECKED: &[&str] = &["date", "date-time", "email", "uri"];

/// Formats that the validator knows, but that are not checked.
const UNCHECKED: &[&str] = &[
    "duration",
    "hostname",
    "idn-email",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "time",
    "uri-reference",
    "uri-template",
    "uuid",
];

/// Returns true if `schema` declares a format that is checked.
pub(super) fn declares(schema: &Value) -> bool {
    match schema {
        Value::List(items) => items.iter().any(declares),
        Value::Object(fields) => fields.iter().any(|(key, value)| match (&**key, value) {
            ("format", Value::Text(format)) => CHECKED.contains(&&**format),
            _ => declares(value),
        }),
        _ => false,
    }
}

/// Returns `options` with checks of formats.
pub(super) fn with_format_checks<R>(
    options: ValidationOptions<'_, R, ValueJson>,
) -> ValidationOptions<'_, R, ValueJson> {
    let options = options
        .should_validate_formats(true)
        .with_format("date-time", is_date_time);
    UNCHECKED.iter().fold(options, |options, format| {
        options.with_format(*format, |_: &str| true)
    })
}

/// Returns true for a date with a time as RFC 3339 writes it, or with parts left out that many servers do not require:
/// the `T`, the seconds, the offset, or the whole time.
fn is_date_time(text: &str) -> bool {
    static STRICT: LazyLock<Option<jsonschema::Validator>> = LazyLock::new(|| {
        let schema = serde_json::json!({"format": "date-time"});
        let options = jsonschema::options().should_validate_formats(true);
        options.build(&schema).ok()
    });
    let is_strict = |text: &str| {
        let strict = STRICT.as_ref();
        strict.is_none_or(|strict| strict.is_valid(&serde_json::Value::from(text)))
    };
    is_strict(text) || complete_date_time(text).is_some_and(|text| is_strict(&text))
}

/// Adds the parts of a date-time that are left out.
fn complete_date_time(text: &str) -> Option<String> {
    let (date, rest) = text.split_at_checked(10)?;
    if rest.is_empty() {
        return Some(format!("{date}T00:00:00Z"));
    }
    let time = rest.strip_prefix(['T', 't', ' '])?;
    let offset = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (time, offset) = time.split_at_checked(offset)?;
    let seconds = if time.len() == 5 { ":00" } else { "" };
    let offset = if offset.is_empty() { "Z" } else { offset };
    Some(format!("{date}T{time}{seconds}{offset}"))
}

#[cfg(test)]
mod tests {
    use crate::{Schema, Value};

    #[track_caller]
    fn check(format: &str, text: &str, fits: bool) {
        let schema = serde_json::json!({"type": "string", "format": format});
        let schema = Schema::from_value(Value::from(schema));
        let value = Value::text(text);
        assert_eq!(schema.validate_literal(&value).is_empty(), fits, "{text}");
        // Computed values are not checked.
        assert!(schema.is_valid(&value), "{text}");
    }

    #[test]
    fn dates() {
        check("date", "2026-02-28", true);
        check("date", "2024-02-29", true);
        check("date", "2026-02-29", false);
        check("date", "28.02.2026", false);
        check("date", "tomorrow", false);
        check("date", "2026-02-28T10:00:00Z", false);
    }

    #[test]
    fn dates_with_times() {
        check("date-time", "2026-02-28T10:00:00Z", true);
        check("date-time", "2026-02-28T10:00:00.5+01:00", true);
        check("date-time", "2026-02-28T10:00:00", true);
        check("date-time", "2026-02-28 10:00", true);
        check("date-time", "2026-02-28", true);
        check("date-time", "2026-02-30", false);
        check("date-time", "2026-02-28T25:00:00", false);
        check("date-time", "10:00", false);
        check("date-time", "tomorrow at ten", false);
        check("date-time", "2026-02-28x10:00", false);
        check("date-time", "ääääääääää", false);
    }

    #[test]
    fn addresses() {
        check("email", "ann@example.org", true);
        check("email", "ann", false);
        check("email", "@example.org", false);
        check("uri", "https://example.org/a?b=c#d", true);
        check("uri", "mailto:ann@example.org", true);
        check("uri", "example.org", false);
        check("uri", "not an address", false);
    }

    #[test]
    fn other_formats() {
        check("ipv4", "localhost", true);
        check("uuid", "7", true);
        check("made-up", "7", true);
    }

    #[test]
    fn formats_in_alternatives() {
        let schema =
            serde_json::json!({"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]});
        let schema = Schema::from_value(Value::from(schema));
        let violations = |value: Value| {
            let violations = schema.validate_literal(&value).into_iter();
            violations
                .map(|violation| violation.message)
                .collect::<Vec<_>>()
        };
        assert_eq!(violations(Value::Null), [""; 0]);
        assert_eq!(violations(Value::text("2026-01-01")), [""; 0]);
        let message = "`\"soon\"` does not have the format `date`";
        assert_eq!(violations(Value::text("soon")), [message]);
    }
}
