//! Durations in `mcp.json`.

use std::time::Duration;

use serde_json::Value;

/// Parses `"30s"`, `"250ms"`, `"2m"`, or a number of milliseconds as other clients write it. Returns `None` for
/// anything else and for zero.
pub(super) fn read(value: &Value) -> Option<Duration> {
    let duration = match value {
        Value::Number(number) => Duration::from_millis(number.as_u64()?),
        Value::String(text) => read_text(text.trim())?,
        _ => return None,
    };
    (!duration.is_zero()).then_some(duration)
}

fn read_text(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let amount: f64 = digits.trim_end().parse().ok()?;
    let seconds = match &text[digits.len()..] {
        "ms" => amount / 1000.0,
        "s" => amount,
        "m" | "min" => amount * 60.0,
        "h" => amount * 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}
