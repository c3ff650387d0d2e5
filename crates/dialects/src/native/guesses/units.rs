//! Fields of steps that have another unit or another meaning than those of this dialect.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::{Code, Diagnostic, Value};

use super::step::may_have_loose_arguments;
use super::texts::bare_name;
use super::words::{are_steps, is_step, is_word};
use super::{Guesses, field, get, has};
use crate::document::edits::{field_edits, json, removal};
use crate::document::{Item, ItemEntry, ItemKind, quote};

/// Names of fields that are superfluous, because steps run in parallel anyway.
const PARALLEL: &[&str] = &["parallel", "async", "concurrent", "background"];

/// Words of units that are as often arguments of a call.
const LOOSE_UNITS: &[&str] = &[
    "enabled",
    "disabled",
    "skip",
    "batch",
    "batch_size",
    "priority",
    "cache",
    "tags",
    "labels",
    "category",
    "owner",
    "weight",
    "cost",
    "color",
    "icon",
    "serial",
];

impl Guesses<'_> {
    /// Removes the names of steps that run after a success or a failure, and reports the condition that these steps need.
    pub(super) fn handlers(&mut self, entries: &mut Vec<ItemEntry>) {
        let id = get(entries, "id").and_then(Item::as_text).cloned();
        let Some(id) = id.filter(|id| bare_name(id).as_deref() == Some(&**id)) else {
            return;
        };
        entries.retain(|entry| {
            let Some(target) = entry.item.as_text().filter(|text| on_error_word(text).is_none())
            else {
                return true;
            };
            let help = match &*entry.key {
                "on_success" | "onSuccess" => format!(
                    "leave it out, and write `\"when\": \"${{results.{id}.success}}\"` in the step `{target}`"
                ),
                "on_failure" | "onFailure" | "onError" | "catch" => format!(
                    "leave it out, write `\"on_error\": \"continue\"` here, and `\"when\": \"${{!results.{id}.success}}\"` in the step `{target}`"
                ),
                _ => return true,
            };
            self.unknown(entry, &help);
            false
        });
    }

    /// Reads fields that have another unit or another meaning than those of this dialect.
    pub(super) fn units(&mut self, entries: &mut Vec<ItemEntry>) {
        let mut remaining = Vec::with_capacity(entries.len());
        let written_fields: HashSet<Arc<str>> =
            entries.iter().map(|entry| Arc::clone(&entry.key)).collect();
        let is_loose = may_have_loose_arguments(entries);
        for mut entry in std::mem::take(entries) {
            match replacement(&entry).filter(|_| !is_loose || !LOOSE_UNITS.contains(&&*entry.key)) {
                // Of two values, neither is certain.
                Some(Replacement::Write(name, ..))
                    if written_fields.contains(name) || has(&remaining, name) =>
                {
                    let help = format!("leave out this field or `{name}`, which it stands for");
                    self.unknown(&entry, &help);
                }
                Some(Replacement::Write(name, kind, written)) => {
                    let help = format!("write `\"{name}\": {written}`");
                    let edits = field_edits(self.source, &entry, name, Some(written));
                    self.unknown_with(&entry, &help, edits);
                    entry.key = name.into();
                    entry.item.kind = kind;
                    remaining.push(entry);
                }
                Some(Replacement::LeaveOut(reason)) => {
                    let help = format!("leave it out: {reason}");
                    self.unknown(&entry, &help);
                }
                Some(Replacement::Remove(reason)) => {
                    let help = format!("leave it out: {reason}");
                    let edits = removal(self.source, &entry).into_iter().collect();
                    self.unknown_with(&entry, &help, edits);
                }
                None => remaining.push(entry),
            }
        }
        *entries = remaining;
    }
}

impl Guesses<'_> {
    /// Reads the fields of `retry` that have another unit, and leaves out those that say how the delay grows.
    pub(super) fn retry_units(&mut self, entries: &mut Vec<ItemEntry>) {
        let mut has_delay = has(entries, "delay");
        let has_attempts = has(entries, "attempts");
        entries.retain_mut(|entry| {
            let is_delay = ["delay", "backoff", "interval", "wait", "pause"]
                .iter()
                .any(|word| entry.key.to_lowercase().contains(word));
            let unit = ["_ms", "Ms", "_millis", "Millis"]
                .iter()
                .any(|end| entry.key.ends_with(end))
                .then_some("ms");
            let seconds = ["_s", "_sec", "_secs", "_seconds", "Seconds", "Secs"];
            let unit = unit.or_else(|| {
                let is_seconds = seconds.iter().any(|end| entry.key.ends_with(end));
                is_seconds.then_some("s")
            });
            let number = match &entry.item.kind {
                ItemKind::Number(number) => Some(number.to_string()),
                ItemKind::Null
                | ItemKind::Bool(_)
                | ItemKind::Text(_)
                | ItemKind::List(_)
                | ItemKind::Object(_) => None,
            };
            let message = format!("`retry` has an unknown field {}", quote(&entry.key));
            let diagnostic = Diagnostic::error(Code::UnknownField, message);
            let retries = match &entry.item.kind {
                ItemKind::Number(number) => number.as_u64().and_then(|count| count.checked_add(1)),
                _ => None,
            };
            if let ("max_retries" | "maxRetries" | "retries" | "retry_count", Some(attempts)) =
                (&*entry.key, retries)
                && !has_attempts
                && let Ok(Value::Number(number)) = Value::from_json(&attempts.to_string())
            {
                let written = attempts.to_string();
                let help = format!("write `\"attempts\": {written}`: the first one counts as well");
                let edits = field_edits(self.source, entry, "attempts", Some(written));
                self.sink
                    .push_at_key(entry, diagnostic.help(help).fixes(edits));
                entry.key = "attempts".into();
                entry.item.kind = ItemKind::Number(number);
                return true;
            }
            if entry.key.to_lowercase().contains("max") && is_delay {
                let help = "leave it out: the delay has no maximum";
                self.sink.push_at_key(entry, diagnostic.help(help));
                return false;
            }
            if is_delay && unit.is_some() && has_delay {
                let help = "leave out this field or `delay`, which it stands for";
                self.sink.push_at_key(entry, diagnostic.help(help));
                return false;
            }
            if let (true, Some(unit), Some(number)) = (is_delay, unit, number) {
                has_delay = true;
                let written = json(&format!("{number}{unit}"));
                let help = format!("write `\"delay\": {written}`");
                let edits = field_edits(self.source, entry, "delay", Some(written));
                self.sink
                    .push_at_key(entry, diagnostic.help(help).fixes(edits));
                entry.key = "delay".into();
                entry.item.kind = ItemKind::Text(format!("{number}{unit}").into());
                return true;
            }
            if !GROWTH.contains(&&*entry.key) || entry.key.contains("backoff") && is_time(entry) {
                return true;
            }
            let help =
                "leave it out: the delay before each further attempt is twice the one before";
            self.sink.push_at_key(entry, diagnostic.help(help));
            false
        });
    }
}

/// Fields of `retry` in other systems that say how the delay grows.
const GROWTH: [&str; 14] = [
    "strategy",
    "policy",
    "type",
    "backoff",
    "backoff_strategy",
    "backoff_type",
    "backoffRate",
    "backoff_rate",
    "backoff_factor",
    "multiplier",
    "factor",
    "exponential",
    "exponential_backoff",
    "jitter",
];

/// Returns true if the value is a text with a number, such as `1s`.
fn is_time(entry: &ItemEntry) -> bool {
    let text = entry.item.as_text();
    text.is_some_and(|text| text.starts_with(|sign: char| sign.is_ascii_digit()))
}

/// Fields of other systems that say whether a person is asked.
const APPROVALS: [&str; 8] = [
    "human_approval",
    "humanApproval",
    "requires_approval",
    "requiresApproval",
    "needs_approval",
    "approval_required",
    "confirmation",
    "human_in_the_loop",
];

/// The value of `on_error` that `word` of another system stands for.
pub(in crate::native) fn on_error_word(word: &str) -> Option<&'static str> {
    match &*word.to_lowercase() {
        "continue" | "skip" | "ignore" | "proceed" | "resume" | "pass" | "suppress" => {
            Some("continue")
        }
        "fail" | "stop" | "abort" | "halt" | "raise" | "throw" | "error" | "exit" => Some("fail"),
        _ => None,
    }
}

/// The field that a field of another unit stands for.
enum Replacement {
    /// Another field: its name, its value, and the value as it is written.
    Write(&'static str, ItemKind, String),
    /// The field is superfluous for this reason, although its author may have wanted another order of steps.
    LeaveOut(&'static str),
    /// The field states the default, for this reason.
    Remove(&'static str),
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
                Some(Replacement::Remove(
                    "a failure stops the steps that need this one",
                ))
            }
        }
        ("on_failure" | "onFailure" | "onError" | "on_fail" | "error_handling", _, _) => {
            quoted("on_error", on_error_word(entry.item.as_text()?)?)
        }
        ("next" | "next_step" | "nextStep" | "goto", _, _) => Some(Replacement::LeaveOut(
            "a step waits for those that it refers to, and for those in its `after`",
        )),
        ("fallback" | "default" | "default_value" | "defaultValue" | "fallback_value", _, _)
            if is_step(&entry.item) || are_steps(&entry.item) =>
        {
            Some(Replacement::LeaveOut(
                "another call is a step of its own, with `\"when\": \"${!results.ID.success}\"` for the `id` of this step, which has `\"on_error\": \"continue\"`",
            ))
        }
        // A word may be the name of a step or of a tool.
        ("fallback", _, _) if is_word(&entry.item) => Some(Replacement::LeaveOut(
            "an output in place of the answer is `\"on_error\": {\"output\": …}`, and another call is a step of its own, with `\"when\": \"${!results.ID.success}\"`",
        )),
        ("fallback" | "default" | "default_value" | "defaultValue" | "fallback_value", _, _) => {
            let value = entry.item.to_value().to_json();
            let output = field("output", entry.item.kind.clone(), entry.item.place);
            Some(Replacement::Write(
                "on_error",
                ItemKind::Object(vec![output]),
                format!("{{\"output\": {value}}}"),
            ))
        }
        ("backoff" | "retry_backoff" | "retryBackoff" | "backoff_strategy", _, _) => {
            Some(Replacement::LeaveOut(
                "`retry` waits longer before each further attempt, from its `delay` on, `{\"attempts\": 3, \"delay\": \"1s\"}`",
            ))
        }
        (word, _, _) if APPROVALS.contains(&word) => {
            let asks = [
                "required", "require", "always", "yes", "manual", "human", "ask",
            ];
            let text = entry.item.as_text()?.to_lowercase();
            asks.contains(&&*text)
                .then(|| Replacement::Write("approval", ItemKind::Bool(true), "true".to_owned()))
        }
        ("enabled", _, Some(true)) | ("disabled" | "skip", _, Some(false)) => Some(
            Replacement::Remove("a step runs unless its `when` is false"),
        ),
        ("enabled", _, Some(false)) | ("disabled" | "skip", _, Some(true)) => Some(
            Replacement::Write("when", ItemKind::Bool(false), "false".to_owned()),
        ),
        ("sequential" | "serial" | "in_order", _, Some(true)) => {
            let number = Value::from_json("1").ok()?;
            let Value::Number(number) = number else {
                return None;
            };
            Some(Replacement::Write(
                "max_parallel",
                ItemKind::Number(number),
                "1".to_owned(),
            ))
        }
        ("batch_size" | "batchSize" | "batch" | "chunk_size", Some(_), _) => {
            Some(Replacement::LeaveOut(
                "a loop has no batches; `\"max_parallel\": 5` says how many of its calls run at once",
            ))
        }
        (
            "priority" | "cache" | "tags" | "labels" | "category" | "owner" | "weight"
            | "estimated_time" | "estimated_duration" | "cost" | "color" | "icon",
            _,
            _,
        ) => Some(Replacement::LeaveOut("a step has no such field")),
        ("run_on" | "runOn" | "trigger_rule" | "triggerRule" | "run_when", _, _) => {
            Some(Replacement::LeaveOut(
                "a step that runs after a failure has `\"when\": \"${!results.ID.success}\"` with the id of the step that may fail, and that one `\"on_error\": \"continue\"`",
            ))
        }
        (word, _, Some(value)) if PARALLEL.contains(&word) => {
            let reason = "steps run in parallel unless one needs the other";
            Some(if value {
                Replacement::Remove(reason)
            } else {
                Replacement::LeaveOut(reason)
            })
        }
        _ => None,
    }
}
