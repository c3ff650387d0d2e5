//! The bounds of runs: the one definition of each, with its key in `planwright.toml` and its flag, and the precedence of files.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

use planwright_core::{ToolPattern, Value};
use planwright_engine::{Bound, Guards, Rate};
use planwright_format::SettingV1;
use serde::Deserialize;
use toml::Spanned;

use super::setting::{ConfigText, List, Origin, lower, shown_rate, shown_time};
use super::value_syntax::{RateLimit, Size, TimeLimit};

/// A bound of a run that is a single value.
#[derive(Debug)]
pub struct RunBound {
    /// The key in `planwright.toml`.
    pub key: &'static str,
    /// The flag of the commands that run plans, if it has one.
    pub flag: Option<BoundFlag>,
    /// The field that it sets.
    pub field: BoundField,
}

/// The flag of a bound.
#[derive(Debug)]
pub struct BoundFlag {
    /// The name, such as `--max-calls`. Errors report it, and a resumed run recognises the bound by it.
    pub name: &'static str,
    /// The meaning, as a sentence without a full stop.
    pub description: &'static str,
}

/// The field of a bound, by the type of its limit.
#[derive(Debug)]
pub enum BoundField {
    /// A number: of calls, failures, rounds or bytes.
    Count(BoundAccess<u64>),
    /// A time.
    Time(BoundAccess<Duration>),
}

/// Access to a field of the guards.
#[derive(Debug)]
pub struct BoundAccess<T: 'static> {
    /// Reads the field.
    pub get: fn(&Guards) -> Option<&Bound<T>>,
    /// Returns the field, to set it.
    pub slot: fn(&mut Guards) -> &mut Option<Bound<T>>,
}

macro_rules! access {
    ($field:ident) => {
        BoundAccess {
            get: |guards| guards.$field.as_ref(),
            slot: |guards| &mut guards.$field,
        }
    };
}

/// All bounds that are single values, in the order of the reference.
pub const RUN_BOUNDS: &[RunBound] = &[
    RunBound {
        key: "budgets.calls",
        flag: Some(BoundFlag {
            name: "--max-calls",
            description: "Maximum number of calls of the run, counting every attempt, failed ones included; unlimited by default",
        }),
        field: BoundField::Count(access!(calls)),
    },
    RunBound {
        key: "budgets.wall_time",
        flag: Some(BoundFlag {
            name: "--max-time",
            description: "Maximum duration of the run; calls in flight are cancelled when it is over. Unlimited by default",
        }),
        field: BoundField::Time(access!(wall_time)),
    },
    RunBound {
        key: "budgets.output_bytes",
        flag: None,
        field: BoundField::Count(access!(output_bytes)),
    },
    RunBound {
        key: "budgets.written_bytes",
        flag: None,
        field: BoundField::Count(access!(written_bytes)),
    },
    RunBound {
        key: "budgets.failures_in_a_row",
        flag: None,
        field: BoundField::Count(access!(failures_in_a_row)),
    },
    RunBound {
        key: "runaway.same_call",
        flag: None,
        field: BoundField::Count(access!(same_call)),
    },
    RunBound {
        key: "runaway.same_rounds",
        flag: None,
        field: BoundField::Count(access!(same_rounds)),
    },
];

impl RunBound {
    /// Lists the bound.
    fn list(&self, guards: &Guards, list: &mut List) {
        match &self.field {
            BoundField::Count(field) => list.one(self.key, (field.get)(guards), Value::from),
            BoundField::Time(field) => list.one(self.key, (field.get)(guards), |time| {
                Value::from(shown_time(time))
            }),
        }
    }

    /// Replaces the bound in `guards` by that in `other`, if `other` has one that `applies`.
    pub(super) fn replace(
        &self,
        guards: &mut Guards,
        other: &Guards,
        applies: impl Fn(&str) -> bool,
    ) {
        match &self.field {
            BoundField::Count(field) => field.replace(guards, other, applies),
            BoundField::Time(field) => field.replace(guards, other, applies),
        }
    }
}

impl<T: Clone> BoundAccess<T> {
    fn replace(&self, guards: &mut Guards, other: &Guards, applies: impl Fn(&str) -> bool) {
        if let Some(bound) = (self.get)(other).filter(|bound| applies(&bound.set_in)) {
            *(self.slot)(guards) = Some(bound.clone());
        }
    }
}

/// Adds the bounds of a file: the lower of two applies.
pub(super) fn add(
    guards: &mut Guards,
    (budgets, rates, runaway): (&BudgetsTable, &RateTable, &RunawayTable),
    source: &ConfigText,
) {
    let count = |value: &Spanned<u64>| source.bound(value, *value.get_ref());
    let whole = |value: &Spanned<NonZeroU64>| source.bound(value, value.get_ref().get());
    let size = |value: &Spanned<Size>| source.bound(value, value.get_ref().0);
    let time = |value: &Spanned<TimeLimit>| source.bound(value, value.get_ref().0);
    let BudgetsTable {
        calls,
        wall_time,
        output_bytes,
        written_bytes,
        failures_in_a_row,
        tools,
        servers,
    } = budgets;
    lower(&mut guards.calls, calls.as_ref().map(count));
    lower(&mut guards.wall_time, wall_time.as_ref().map(time));
    lower(&mut guards.output_bytes, output_bytes.as_ref().map(size));
    // The default is at least as strict, so a looser project's file has no effect.
    let written = written_bytes
        .as_ref()
        .filter(|size| source.origin == Origin::User || size.get_ref().0 <= Guards::WRITTEN_BYTES);
    lower(&mut guards.written_bytes, written.map(size));
    let failures = failures_in_a_row.as_ref().map(whole);
    lower(&mut guards.failures_in_a_row, failures);
    for (pattern, limit) in tools {
        let pattern = ToolPattern::new(pattern.get_ref().as_str());
        guards.tools.push((pattern, count(limit)));
    }
    for (server, limit) in servers {
        guards.servers.push((server.as_str().into(), count(limit)));
    }
    for (server, rate) in rates {
        add_rate(guards, server, source.bound(rate, rate.get_ref().0));
    }
    let RunawayTable {
        same_call,
        same_rounds,
    } = runaway;
    lower(&mut guards.same_call, same_call.as_ref().map(whole));
    lower(&mut guards.same_rounds, same_rounds.as_ref().map(whole));
}

/// Lowers `guards` to those of `other`.
pub(super) fn narrow(guards: &mut Guards, other: &Guards) {
    for bound in RUN_BOUNDS {
        match &bound.field {
            BoundField::Count(field) => {
                // Without a bound of its own, a run has this one.
                let default = if bound.key == "budgets.written_bytes" {
                    Guards::WRITTEN_BYTES
                } else {
                    u64::MAX
                };
                let is_bounded = (field.get)(guards).is_some();
                let lower_one = (field.get)(other).cloned();
                let lower_one = lower_one.filter(|bound| is_bounded || bound.limit <= default);
                lower((field.slot)(guards), lower_one);
            }
            BoundField::Time(field) => {
                lower((field.slot)(guards), (field.get)(other).cloned());
            }
        }
    }
    guards.tools.extend(other.tools.iter().cloned());
    guards.servers.extend(other.servers.iter().cloned());
    for (server, rate) in &other.rates {
        add_rate(guards, server, rate.clone());
    }
}

/// Returns the settings of the bounds that are set, in the order of the reference.
pub(super) fn settings(guards: &Guards) -> Vec<SettingV1> {
    let mut all = List::default();
    list(guards, &mut all);
    all.0.retain(|setting| !setting.value.is_null());
    all.0
}

/// Adds a rate limit; of two for one server, the one with the longer interval between calls applies.
fn add_rate(guards: &mut Guards, server: &str, rate: Bound<Rate>) {
    let gap = |rate: Rate| rate.per / rate.calls.get();
    let mut known = guards.rates.iter_mut();
    match known.find(|(known, _)| &**known == server) {
        Some((_, known)) if gap(rate.limit) > gap(known.limit) => *known = rate,
        Some(_) => {}
        None => guards.rates.push((server.into(), rate)),
    }
}

/// Lists the bounds in the order of the reference.
pub(super) fn list(guards: &Guards, list: &mut List) {
    let (budgets, runaway): (Vec<_>, Vec<_>) = RUN_BOUNDS
        .iter()
        .partition(|bound| bound.key.starts_with("budgets."));
    for bound in budgets {
        bound.list(guards, list);
    }
    for (pattern, bound) in &guards.tools {
        list.count(&format!("budgets.tools.\"{pattern}\""), Some(bound));
    }
    for (server, bound) in &guards.servers {
        list.count(&format!("budgets.servers.{server}"), Some(bound));
    }
    for (server, bound) in &guards.rates {
        let key = format!("rates.{server}");
        list.one(&key, Some(bound), |rate| Value::from(shown_rate(rate)));
    }
    for bound in runaway {
        bound.list(guards, list);
    }
}

/// The budgets of one run.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "budgets"))]
pub(super) struct BudgetsTable {
    /// Maximum number of calls, including each attempt and each failed call.
    #[cfg_attr(test, schemars(with = "u64"))]
    pub(super) calls: Option<Spanned<u64>>,
    /// Maximum duration of the run, such as `10m`. Calls that are in flight then are cancelled.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) wall_time: Option<Spanned<TimeLimit>>,
    /// Maximum size of all outputs together: a number of bytes, or text such as `50MB`.
    #[cfg_attr(test, schemars(schema_with = "super::tests::reference::size"))]
    pub(super) output_bytes: Option<Spanned<Size>>,
    /// Maximum size of the values of the run wherever they are written: computed outputs, arguments with
    /// their step and with each attempt, slots, the run's output. If it is not set, 64 MiB, plus four times the size of inputs and answers of
    /// tools.
    #[cfg_attr(test, schemars(schema_with = "super::tests::reference::size"))]
    pub(super) written_bytes: Option<Spanned<Size>>,
    /// The number of failed calls in a row after which nothing new is called.
    #[cfg_attr(test, schemars(with = "std::num::NonZeroU64"))]
    pub(super) failures_in_a_row: Option<Spanned<NonZeroU64>>,
    /// Maximum number of calls of all tools together that match a pattern, such as `"mail.*" = 5`.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, u64>"))]
    pub(super) tools: BTreeMap<Spanned<String>, Spanned<u64>>,
    /// Maximum number of calls of a server, by its name.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, u64>"))]
    pub(super) servers: BTreeMap<String, Spanned<u64>>,
}

/// The limits on repetition without progress. Nothing is limited unless it is set.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "runaway"))]
pub(super) struct RunawayTable {
    /// The largest number of calls of a tool with the same arguments in one run.
    #[cfg_attr(test, schemars(with = "std::num::NonZeroU64"))]
    pub(super) same_call: Option<Spanned<NonZeroU64>>,
    /// The largest number of rounds of a `repeat` in a row with the same output.
    #[cfg_attr(test, schemars(with = "std::num::NonZeroU64"))]
    pub(super) same_rounds: Option<Spanned<NonZeroU64>>,
}

/// The rate limits of servers, by their names.
pub(super) type RateTable = BTreeMap<String, Spanned<RateLimit>>;

/// The limits on values shown to people and models. Steps still pass on whole values.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "output"))]
pub(super) struct OutputTable {
    /// Maximum number of bytes that are shown of one step's output: a number, or text such as `64KiB`.
    #[cfg_attr(test, schemars(schema_with = "super::tests::reference::size"))]
    pub(super) max_bytes: Option<Spanned<Size>>,
}
