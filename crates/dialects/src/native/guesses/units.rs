//! Fields of steps that have another unit or another meaning than those of this dialect.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::{Code, Diagnostic, TextEdit, Value};

use super::step::may_have_loose_arguments;
use super::texts::bare_name;
use super::words::{OF_STEPS, absent, are_steps, is_step, is_step_field, is_word, normal};
use super::{Guesses, field, get, has};
use crate::document::edits::{field_edits, json, removal};
use crate::document::{Item, ItemEntry, ItemKind, quote};

/// The meaning of a time limit beside `retry`, where other systems limit each attempt.
pub(super) const WHOLE_STEP: &str =
    ", the time of the step with all its attempts; without it, `--timeout` limits each of them";

/// Returns true if a step with `entries` makes several attempts.
pub(super) fn is_retried(entries: &[ItemEntry]) -> bool {
    let words = ["retry", "retries", "attempt", "tries"];
    let is_retry = |key: &str| words.iter().any(|word| key.contains(word));
    entries.iter().any(|entry| is_retry(&normal(&entry.key)))
}

/// Names of fields that are superfluous, because steps run in parallel anyway.
const PARALLEL: &[&str] = &["parallel", "async", "concurrent", "background"];

/// Words of units that are as often arguments of a call.
const LOOSE_UNITS: &[&str] = &[
    "enabled", "disabled", "skip", "serial", "required", "critical",
];

/// Returns true if a step without arguments may have `key` for one.
fn is_loose_unit(key: &str) -> bool {
    LOOSE_UNITS.contains(&key) || absent(OF_STEPS, key).is_some_and(|absent| absent.is_loose)
}

/// Returns true for `"on_error": "continue"`.
fn is_continuation(entry: &ItemEntry) -> bool {
    &*entry.key == "on_error"
        && entry
            .item
            .as_text()
            .is_some_and(|text| &**text == "continue")
}

/// Words for the pause between the attempts of a call.
const PAUSES: &[&str] = &[
    "waitbetweentries",
    "waitbetweenretries",
    "retrydelay",
    "retrydelayms",
    "retrydelayseconds",
    "retryinterval",
    "retryintervalseconds",
    "retrywait",
    "delaybetweenretries",
    "retrybackoffseconds",
];

/// Words for whether a call has several attempts.
const RETRIED: &[&str] = &["retryonfail", "retryonfailure", "retryonerror", "retryable"];

impl Guesses<'_> {
    /// Removes the names of steps that run after a success or a failure, and reports the condition that these steps need.
    pub(super) fn handlers(&mut self, entries: &mut Vec<ItemEntry>) {
        let id = get(entries, "id").and_then(Item::as_text).cloned();
        let Some(id) = id.filter(|id| bare_name(id).as_deref() == Some(&**id)) else {
            return;
        };
        let mut condition = None;
        entries.retain(|entry| {
            let Some(target) = entry.item.as_text().filter(|text| on_error_word(text).is_none())
            else {
                return true;
            };
            let mut edits = Vec::new();
            let help = match &*entry.key {
                "fallback_for" | "fallbackFor" | "fallback_of" | "on_failure_of" | "if_failed"
                | "alternative_to"
                    if bare_name(target).is_some() =>
                {
                    condition = Some(format!("${{!results.{target}.success}}"));
                    format!("write `\"when\": \"${{!results.{target}.success}}\"`")
                }
                "fallback" | "fallback_step" | "fallbackStep" | "fallback_to"
                    if self.ids.contains(target) =>
                {
                    edits = self.fallback_edits(entry, &id, target);
                    format!(
                        "write `\"on_error\": \"continue\"`, and in the step `{target}` `\"when\": \"${{!results.{id}.success}}\"`"
                    )
                }
                "on_success" | "onSuccess" => format!(
                    "leave it out, and write `\"when\": \"${{results.{id}.success}}\"` in the step `{target}`"
                ),
                "on_failure" | "onFailure" | "onError" | "catch" => format!(
                    "leave it out, write `\"on_error\": \"continue\"` here, and `\"when\": \"${{!results.{id}.success}}\"` in the step `{target}`"
                ),
                _ => return true,
            };
            self.unknown_with(entry, &help, edits);
            false
        });
        if let Some(condition) = condition.filter(|_| !has(entries, "when")) {
            let when = ItemKind::Text(condition.into());
            entries.push(field("when", when, planwright_core::Place::NOWHERE));
        }
    }

    /// The edits that let the step `target` run only if `id`, whose field `entry` names it, fails. Empty if the text has no such object, or
    /// if `target` may have another purpose.
    pub(super) fn fallback_edits(
        &self,
        entry: &ItemEntry,
        id: &str,
        target: &str,
    ) -> Vec<TextEdit> {
        let when = json(&format!("${{!results.{id}.success}}"));
        let place = self.unconditional.get(target).filter(|_| id != target);
        // An earlier step, and one that is read without a default, may be there for its own sake.
        let start = place.and_then(|place| self.source.span(*place));
        let is_later = start.is_some_and(|span| entry.key_span.end <= span.start);
        let is_read = ["}", ".", "["].iter().any(|end| {
            let read = format!("${{{target}{end}");
            self.source.text().contains(&read)
        });
        let place = place.filter(|_| is_later && !is_read);
        let added = place.and_then(|place| self.first_field(*place, "when", &when));
        let mut edits = field_edits(self.source, entry, "on_error", Some(json("continue")));
        match added.filter(|_| !edits.is_empty()) {
            Some(added) => edits.push(added),
            None => edits.clear(),
        }
        edits
    }

    /// Reads fields that have another unit or another meaning than those of this dialect.
    pub(super) fn units(&mut self, entries: &mut Vec<ItemEntry>) {
        self.retries(entries);
        let id = get(entries, "id").and_then(Item::as_text);
        let id = id.filter(|id| bare_name(id).as_deref() == Some(&***id));
        let id = id.map_or_else(|| "ID".to_owned(), ToString::to_string);
        let mut remaining = Vec::with_capacity(entries.len());
        let written_fields: HashSet<Arc<str>> =
            entries.iter().map(|entry| Arc::clone(&entry.key)).collect();
        let is_loose = may_have_loose_arguments(entries);
        let is_retried = is_retried(entries);
        for mut entry in std::mem::take(entries) {
            match replacement(&entry).filter(|_| !is_loose || !is_loose_unit(&entry.key)) {
                // An output in place of the answer says that the run continues as well.
                Some(Replacement::Write("on_error", kind, written))
                    if matches!(kind, ItemKind::Object(_))
                        && remaining.iter().any(is_continuation) =>
                {
                    let help = format!("write `\"on_error\": {written}` in place of both fields");
                    self.unknown(&entry, &help);
                    remaining.retain(|other| !is_continuation(other));
                    entry.key = "on_error".into();
                    entry.item.kind = kind;
                    remaining.push(entry);
                }
                // Of two values, neither is certain.
                Some(Replacement::Write(name, ..))
                    if written_fields.contains(name) || has(&remaining, name) =>
                {
                    let help = format!("leave out this field or `{name}`, which it stands for");
                    self.unknown(&entry, &help);
                }
                Some(Replacement::Write(name, kind, written)) => {
                    let is_count = normal(&entry.key).contains("retr") && name == "retry";
                    let scope = if name == "timeout" && is_retried {
                        WHOLE_STEP
                    } else if is_count && written_fields.contains("timeout") {
                        ": attempts in all, with the first one; `timeout` limits all of them together, and `--timeout` each"
                    } else if is_count {
                        ": attempts in all, with the first one"
                    } else {
                        ""
                    };
                    let help = format!("write `\"{name}\": {written}`{scope}");
                    let edits = field_edits(self.source, &entry, name, Some(written));
                    self.unknown_with(&entry, &help, edits);
                    entry.key = name.into();
                    entry.item.kind = kind;
                    remaining.push(entry);
                }
                Some(Replacement::LeaveOut(reason)) => {
                    let help = format!("leave it out: {}", reason.replace("ID", &id));
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
    /// Reads the fields of a step that say how often a call is made, and after which pause, as one `retry`.
    fn retries(&mut self, entries: &mut Vec<ItemEntry>) {
        let is_of_retry = |entry: &ItemEntry, words: &[&str]| words.contains(&&*normal(&entry.key));
        let Some(first) = entries
            .iter()
            .position(|entry| is_of_retry(entry, PAUSES) || is_of_retry(entry, RETRIED))
        else {
            return;
        };
        let mut attempts = None;
        let mut pause = None;
        let mut is_retried = true;
        let mut parts = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            let number = match &entry.item.kind {
                ItemKind::Number(number) => number.as_u64(),
                _ => None,
            };
            let key = normal(&entry.key);
            let counted = match (&*key, replacement(entry)) {
                ("retry" | "attempts" | "maxattempts", _) => number,
                (_, Some(Replacement::Write("retry", _, written))) => written.parse().ok(),
                _ => None,
            };
            if counted.is_some() {
                attempts = counted;
            } else if PAUSES.contains(&&*key) {
                pause = match (&entry.item.kind, number) {
                    (ItemKind::Text(text), _) => Some(text.to_string()),
                    // Numbers of this size are hardly seconds.
                    (_, Some(count)) if key.ends_with("ms") || count >= 100 => {
                        Some(format!("{count}ms"))
                    }
                    (_, Some(count)) => Some(format!("{count}s")),
                    _ => None,
                };
            } else if RETRIED.contains(&&*key) {
                is_retried &= !matches!(entry.item.kind, ItemKind::Bool(false));
            } else {
                continue;
            }
            parts.push(at);
        }
        // An object in `retry` has these parts as fields of its own.
        if has(entries, "retry") && attempts.is_none() {
            return;
        }
        let attempts = attempts.unwrap_or(DEFAULT_ATTEMPTS);
        let (Some(kind), Some(place)) = (
            number_kind(attempts),
            entries.get(first).map(|entry| entry.item.place),
        ) else {
            return;
        };
        let help = match (is_retried, &pause) {
            (true, Some(pause)) => format!(
                "write `\"retry\": {{\"attempts\": {attempts}, \"delay\": {}}}`",
                json(pause)
            ),
            (true, None) => format!(
                "write `\"retry\": {attempts}`: attempts in all, after a lost connection or a busy server; an error that the tool reports is not retried"
            ),
            (false, _) => "leave it out: a call is made once".to_owned(),
        };
        let names = parts.iter().filter_map(|at| entries.get(*at));
        let names: Vec<String> = names.map(|entry| quote(&entry.key)).collect();
        let message = match names.as_slice() {
            [only] => format!("the step has an unknown field {only}"),
            _ => format!("the step has {} in place of `retry`", names.join(", ")),
        };
        // The first field becomes `retry`, and the others go.
        let written = match (is_retried, &pause) {
            (true, Some(pause)) => {
                format!("{{\"attempts\": {attempts}, \"delay\": {}}}", json(pause))
            }
            (true, None) => attempts.to_string(),
            (false, _) => String::new(),
        };
        let others = parts.iter().filter(|at| **at != first || !is_retried);
        let others = others.filter_map(|at| removal(self.source, entries.get(*at)?));
        let mut edits: Vec<TextEdit> = others.collect();
        // Of two fields at the end, each would take the comma between them.
        let is_apart = edits
            .windows(2)
            .all(|pair| matches!(pair, [one, other] if one.span.end <= other.span.start));
        let mut is_complete = is_apart && edits.len() + usize::from(is_retried) == parts.len();
        if let Some(entry) = entries.get(first) {
            if is_retried {
                let edit = field_edits(self.source, entry, "retry", Some(written));
                is_complete &= !edit.is_empty();
                edits.extend(edit);
            }
            let diagnostic = Diagnostic::error(Code::UnknownField, message);
            let edits = if is_complete { edits } else { Vec::new() };
            self.sink
                .push_at_key(entry, diagnostic.help(help).fixes(edits));
        }
        let mut at = 0;
        entries.retain(|_| {
            at += 1;
            !parts.contains(&(at - 1))
        });
        if is_retried {
            let mut fields = vec![field("attempts", kind, place)];
            fields.extend(pause.map(|pause| field("delay", ItemKind::Text(pause.into()), place)));
            entries.push(field("retry", ItemKind::Object(fields), place));
        }
    }
}

/// The number of attempts if other fields say only that a call is made again.
const DEFAULT_ATTEMPTS: u64 = 3;

impl Guesses<'_> {
    /// Reads the fields of `retry`, which the text calls `outer`, that have another unit, and leaves out those that say how the delay
    /// grows.
    pub(super) fn retry_units(&mut self, entries: &mut Vec<ItemEntry>, outer: &str) {
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
            if let Some(attempts) = retries
                && !has_attempts
                && counts_retries(outer, &normal(&entry.key))
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
            let of_kinds = ["on", "retry_on", "retryon", "on_errors", "errors", "error_types", "when", "if"];
            if of_kinds.contains(&&*entry.key.to_lowercase()) {
                let help = "leave it out: an attempt follows a lost connection or a busy server, and none an error that the tool reports";
                self.sink.push_at_key(entry, diagnostic.help(help));
                return false;
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
            // A number without a unit is in milliseconds here, and a large one in other systems.
            let is_named = matches!(&*entry.key.to_lowercase(), "initial_delay" | "initialdelay" | "wait" | "interval" | "pause");
            let count = number.as_deref().and_then(|number| number.parse::<u64>().ok());
            let unit = unit.or(match count {
                Some(count) if is_named && !has_delay => Some(if count >= 100 { "ms" } else { "s" }),
                _ => None,
            });
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
            let edit = removal(self.source, entry);
            self.sink
                .push_at_key(entry, diagnostic.help(help).fixes(edit));
            false
        });
    }
}

/// The name of the field of a step with the policy of its retries, in any spelling.
pub(super) fn retry_field(entries: &[ItemEntry]) -> String {
    let mut names = entries
        .iter()
        .filter(|entry| matches!(entry.item.kind, ItemKind::Object(_)));
    let name = names.find_map(|entry| {
        let name = normal(&entry.key);
        name.starts_with("retr").then_some(name)
    });
    name.unwrap_or_default()
}

/// Returns true if the field `name` of the policy `outer` is the number of calls after the first one.
fn counts_retries(outer: &str, name: &str) -> bool {
    match name {
        "maxretries" | "retries" | "retrycount" | "numretries" | "limit" => true,
        "max" | "count" | "times" | "number" => outer == "retries",
        _ => false,
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

/// The value of `on_error` that `word` of another system stands for.
pub(in crate::native) fn on_error_word(word: &str) -> Option<&'static str> {
    match &*word.to_lowercase() {
        // A failure that does not end the run is reported anyway.
        "continue" | "skip" | "ignore" | "proceed" | "resume" | "pass" | "suppress" | "warn"
        | "warning" | "log" | "report" => Some("continue"),
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
    if is_step_field(&entry.key) {
        return None;
    }
    let number = match &entry.item.kind {
        ItemKind::Number(number) => number.as_u64(),
        ItemKind::Text(text) => text.trim().parse().ok(),
        _ => None,
    };
    let bool = match &entry.item.kind {
        ItemKind::Bool(value) => Some(*value),
        _ => None,
    };
    match (&*normal(&entry.key), number, bool) {
        ("retries" | "maxretries" | "retrycount" | "numretries" | "retrylimit", Some(count), _) => {
            // The first attempt counts as well.
            let attempts = count.checked_add(1)?;
            Some(Replacement::Write(
                "retry",
                number_kind(attempts)?,
                attempts.to_string(),
            ))
        }
        ("maxtries" | "tries" | "retryattempts", Some(count), _) => Some(Replacement::Write(
            "retry",
            number_kind(count)?,
            count.to_string(),
        )),
        ("timeoutms" | "timeoutmillis" | "timeoutmilliseconds", Some(count), _) => {
            quoted("timeout", &format!("{count}ms"))
        }
        ("timeoutseconds" | "timeouts" | "timeoutsec" | "timeoutsecs", Some(count), _) => {
            quoted("timeout", &format!("{count}s"))
        }
        ("timeoutminutes" | "timeoutmin" | "timeoutmins", Some(count), _) => {
            quoted("timeout", &format!("{count}m"))
        }
        ("timeouthours", Some(count), _) => quoted("timeout", &format!("{count}h")),
        (
            "continueonerror" | "continueonfail" | "continueonfailure" | "ignoreerrors"
            | "ignoreerror" | "ignorefailure" | "ignorefailures" | "allowfailure" | "optional"
            | "noncritical" | "failsafe" | "softfail" | "besteffort",
            _,
            Some(true),
        )
        | (
            "critical" | "required" | "mandatory" | "mustsucceed" | "failfast" | "stoponerror"
            | "abortonerror" | "failonerror" | "blocking",
            _,
            Some(false),
        ) => quoted("on_error", "continue"),
        (
            "continueonerror" | "continueonfail" | "continueonfailure" | "ignoreerrors"
            | "ignoreerror" | "ignorefailure" | "ignorefailures" | "allowfailure" | "optional"
            | "noncritical" | "failsafe" | "softfail" | "besteffort" | "critical" | "required"
            | "mandatory" | "mustsucceed" | "failfast" | "stoponerror" | "abortonerror"
            | "failonerror" | "blocking",
            _,
            Some(_),
        ) => Some(Replacement::Remove(
            "a failure stops the steps that need this one",
        )),
        ("onfailure" | "onerror" | "onfail" | "errorhandling" | "errorstrategy", _, _) => {
            quoted("on_error", on_error_word(entry.item.as_text()?)?)
        }
        ("fallback" | "default" | "defaultvalue" | "fallbackvalue" | "defaultoutput", _, _)
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
        ("fallback" | "default" | "defaultvalue" | "fallbackvalue" | "defaultoutput", _, _) => {
            let value = entry.item.to_value().to_json();
            let output = field("output", entry.item.kind.clone(), entry.item.place);
            Some(Replacement::Write(
                "on_error",
                ItemKind::Object(vec![output]),
                format!("{{\"output\": {value}}}"),
            ))
        }
        ("enabled", _, Some(true)) | ("disabled" | "skip", _, Some(false)) => Some(
            Replacement::Remove("a step runs unless its `when` is false"),
        ),
        ("enabled", _, Some(false)) | ("disabled" | "skip", _, Some(true)) => Some(
            Replacement::Write("when", ItemKind::Bool(false), "false".to_owned()),
        ),
        ("sequential" | "serial" | "inorder", _, Some(true)) => Some(Replacement::Write(
            "max_parallel",
            number_kind(1)?,
            "1".to_owned(),
        )),
        (word, _, Some(value)) if PARALLEL.contains(&word) => Some(if value {
            Replacement::Remove("steps run in parallel unless one needs the other")
        } else {
            Replacement::LeaveOut(
                "steps run in parallel unless one needs the other; `\"alone\": true` lets no other run beside this one, and `after` puts it behind others",
            )
        }),
        _ => absent(OF_STEPS, &entry.key).map(|absent| Replacement::LeaveOut(absent.advice)),
    }
}

/// The item of the number `value`.
fn number_kind(value: u64) -> Option<ItemKind> {
    match Value::from_json(&value.to_string()) {
        Ok(Value::Number(number)) => Some(ItemKind::Number(number)),
        Ok(_) | Err(_) => None,
    }
}
