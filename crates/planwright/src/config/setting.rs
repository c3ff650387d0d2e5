//! Settings: the text and place of each in its file, bounds of several files, and the list of the effective ones.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::Value;
use planwright_core::check::ToolRule;
use planwright_engine::{Bound, Rate};
use planwright_format::SettingV1 as Setting;
use toml::Spanned;

/// The owner of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user's own, in the folder of settings.
    User,
    /// A project's file, written by the author of the project.
    Project,
}

/// The text of a `planwright.toml`.
#[derive(Debug)]
pub(super) struct ConfigText {
    /// The name of the file in diagnostics.
    pub(super) name: Arc<str>,
    pub(super) origin: Origin,
    pub(super) text: String,
}

impl ConfigText {
    /// Returns the place of a value: `planwright.toml:12`.
    pub(super) fn place<T>(&self, value: &Spanned<T>) -> Arc<str> {
        format!("{}:{}", self.name, line_of(&self.text, value.span().start)).into()
    }

    /// Returns a bound that a value sets.
    pub(super) fn bound<T, U>(&self, value: &Spanned<T>, limit: U) -> Bound<U> {
        Bound::set_in(limit, self.place(value))
    }
}

/// Returns the line of the byte `at` of `text`, from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().iter().take(at);
    1 + before.filter(|byte| **byte == b'\n').count()
}

/// Replaces `known` by the lower one of two bounds.
pub(super) fn lower<T: Ord>(known: &mut Option<Bound<T>>, other: Option<Bound<T>>) {
    let Some(other) = other else {
        return;
    };
    if known.as_ref().is_none_or(|known| other.limit < known.limit) {
        *known = Some(other);
    }
}

/// The list of effective settings.
#[derive(Default)]
pub(super) struct List(pub(super) Vec<Setting>);

impl List {
    pub(super) fn push(&mut self, key: &str, value: Value, set_in: Option<&Arc<str>>) {
        self.0.push(Setting {
            key: key.to_owned(),
            value,
            set_in: place_of(set_in),
        });
    }

    pub(super) fn rules<'a>(&mut self, key: &str, rules: impl Iterator<Item = &'a ToolRule>) {
        let before = self.0.len();
        for rule in rules {
            self.push(
                key,
                Value::from(rule.pattern.as_str()),
                rule.set_in.as_ref(),
            );
        }
        if self.0.len() == before {
            self.push(key, Value::Null, None);
        }
    }

    pub(super) fn count(&mut self, key: &str, bound: Option<&Bound>) {
        self.one(key, bound, Value::from);
    }

    pub(super) fn one<T: Copy>(
        &mut self,
        key: &str,
        bound: Option<&Bound<T>>,
        shown: impl Fn(T) -> Value,
    ) {
        match bound {
            Some(bound) => self.push(key, shown(bound.limit), Some(&bound.set_in)),
            None => self.push(key, Value::Null, None),
        }
    }

    /// A setting that is optional: it is listed only if a file sets it.
    pub(super) fn add<T: Copy>(
        &mut self,
        key: &str,
        bound: Option<&Bound<T>>,
        shown: impl Fn(T) -> Value,
    ) {
        if bound.is_some() {
            self.one(key, bound, shown);
        }
    }
}

/// A time as it may be written in the file.
pub(super) fn shown_time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 if time.is_zero() => "0s".to_owned(),
        _ if time.subsec_nanos() > 0 => format!("{}ms", time.as_millis()),
        _ if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        _ if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

pub(super) fn shown_rate(rate: Rate) -> String {
    let per = shown_time(rate.per);
    let per = match per.as_str() {
        "1s" | "1m" | "1h" => &per[1..],
        other => other,
    };
    format!("{}/{per}", rate.calls)
}

/// Returns the place of a rule, for lists of settings.
pub(super) fn place_of(set_in: Option<&Arc<str>>) -> Arc<str> {
    set_in.map_or_else(|| Arc::from("default"), Arc::clone)
}
