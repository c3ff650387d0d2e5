//! Fields of steps that have another unit or another meaning than those of this dialect.

use planwright_core::Value;

use super::Guesses;
use crate::document::{ItemEntry, ItemKind};

/// Words of fields that are left out, because steps run in parallel anyway.
const PARALLEL: &[&str] = &["parallel", "async", "concurrent", "background"];

impl Guesses<'_> {
    /// Reads fields that have another unit or another meaning than those of this dialect.
    pub(super) fn units(&mut self, entries: &mut Vec<ItemEntry>) {
        let mut remaining = Vec::with_capacity(entries.len());
        for mut entry in std::mem::take(entries) {
            match replacement(&entry) {
                Some(Replacement::Write(name, kind, written)) => {
                    self.unknown(&entry, &format!("write `\"{name}\": {written}`"));
                    entry.key = name.into();
                    entry.item.kind = kind;
                    remaining.push(entry);
                }
                Some(Replacement::LeaveOut(reason)) => {
                    self.unknown(&entry, &format!("leave it out: {reason}"));
                }
                None => remaining.push(entry),
            }
        }
        *entries = remaining;
    }
}

/// The field that a field of another unit stands for.
enum Replacement {
    /// Another field: its name, its value, and the value as it is written.
    Write(&'static str, ItemKind, String),
    /// The field is left out, for this reason.
    LeaveOut(&'static str),
}

fn replacement(entry: &ItemEntry) -> Option<Replacement> {
    let text = |text: &str| ItemKind::Text(text.into());
    let quoted = |name, value: &str| {
        Some(Replacement::Write(
            name,
            text(value),
            format!("\"{value}\""),
        ))
    };
    let number = match &entry.item.kind {
        ItemKind::Number(number) => number.as_u64(),
        _ => None,
    };
    let bool = match &entry.item.kind {
        ItemKind::Bool(value) => Some(*value),
        _ => None,
    };
    match (&*entry.key, number, bool) {
        (
            "retries" | "max_retries" | "maxRetries" | "retry_count" | "retryCount",
            Some(count),
            _,
        ) => {
            // The first attempt counts as well.
            let attempts = count.checked_add(1)?;
            let value = Value::from_json(&attempts.to_string()).ok()?;
            let Value::Number(number) = value else {
                return None;
            };
            let written = format!("{attempts}");
            Some(Replacement::Write(
                "retry",
                ItemKind::Number(number),
                written,
            ))
        }
        ("timeout_ms" | "timeoutMs" | "timeout_millis", Some(count), _) => {
            quoted("timeout", &format!("{count}ms"))
        }
        (
            "timeout_seconds" | "timeoutSeconds" | "timeout_s" | "timeout_sec" | "timeout_secs",
            Some(count),
            _,
        ) => quoted("timeout", &format!("{count}s")),
        (
            "continue_on_error" | "continueOnError" | "continue-on-error" | "ignore_errors"
            | "ignore_error" | "ignoreErrors" | "allow_failure" | "optional" | "continue_on_fail"
            | "continueOnFail",
            _,
            Some(value),
        ) => {
            if value {
                quoted("on_error", "continue")
            } else {
                Some(Replacement::LeaveOut(
                    "a failure stops the steps that need this one",
                ))
            }
        }
        ("on_failure" | "onFailure" | "onError" | "on_fail" | "error_handling", _, _) => {
            match &**entry.item.as_text()? {
                "continue" | "skip" | "ignore" | "proceed" => quoted("on_error", "continue"),
                "fail" | "stop" | "abort" | "halt" => quoted("on_error", "fail"),
                _ => None,
            }
        }
        ("next" | "next_step" | "nextStep" | "goto", _, _) => Some(Replacement::LeaveOut(
            "a step waits for those that it refers to, and for those in its `after`",
        )),
        (word, _, Some(_)) if PARALLEL.contains(&word) => Some(Replacement::LeaveOut(
            "steps run in parallel unless one needs the other",
        )),
        _ => None,
    }
}
