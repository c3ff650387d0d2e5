//! The effective settings and their sources, as a list.

use std::sync::Arc;
use std::time::Duration;

use planwright_core::Value;
use planwright_core::check::ToolRule;
use planwright_core::plan::ExternalValue;
use planwright_engine::{Bound, Rate};
use planwright_format::SettingV1 as Setting;

use super::external_values::ConfigPlace;
use super::settled::Config;
use super::tools::place_of;

impl Config {
    /// Returns all effective settings, in the order of the reference. A list has one entry for each of its patterns.
    pub fn settings(&self) -> Vec<Setting> {
        let mut list = List(Vec::new());
        self.list_tools(&mut list);
        list.one(
            "approvals.passphrase",
            self.passphrase.as_ref(),
            Value::from,
        );
        self.flow.list(&mut list);
        let guards = &self.guards;
        list.count("budgets.calls", guards.calls.as_ref());
        let time = guards.wall_time.as_ref();
        list.one("budgets.wall_time", time, |time| {
            Value::from(shown_time(time))
        });
        list.count("budgets.output_bytes", guards.output_bytes.as_ref());
        list.count("budgets.written_bytes", guards.written_bytes.as_ref());
        list.count(
            "budgets.failures_in_a_row",
            guards.failures_in_a_row.as_ref(),
        );
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
        list.count("runaway.same_call", guards.same_call.as_ref());
        list.count("runaway.same_rounds", guards.same_rounds.as_ref());
        list.count("output.max_bytes", self.max_output.as_ref());
        self.list_outside(&mut list);
        self.list_stages(&mut list);
        self.serve.list(&mut list);
        self.retention.list(&mut list);
        self.telemetry.list(&mut list);
        self.model.list(&mut list);
        list.0
    }

    fn list_stages(&self, list: &mut List) {
        for stage in &self.stages {
            let texts = |names: &[Arc<str>]| names.iter().cloned().map(Value::from).collect();
            let tools = stage.tools.iter().map(|tool| Value::from(tool.as_str()));
            let lists: [(&str, Vec<Value>); 3] = [
                ("tools", tools.collect()),
                ("next", texts(&stage.next)),
                ("needs", texts(&stage.needs)),
            ];
            for (word, values) in lists {
                let key = format!("stages.{}.{word}", stage.name);
                if values.is_empty() && word == "tools" {
                    list.push(&key, Value::list([]), stage.set_in.as_ref());
                }
                for value in values {
                    list.push(&key, value, stage.set_in.as_ref());
                }
            }
        }
    }

    /// Names, places and tools; values are nowhere in here.
    fn list_outside(&self, list: &mut List) {
        let outside = &self.outside;
        for release in &outside.releases {
            let (what, name) = (release.what, &release.name);
            let mut key = format!("{what}.{name}");
            if what == ExternalValue::Secrets {
                let mut secrets = outside.secrets.iter();
                if let Some(secret) = secrets.find(|secret| secret.name == *name) {
                    let (word, place) = match &secret.place {
                        ConfigPlace::Variable(variable) => ("env", variable),
                        ConfigPlace::File(path) => ("file", path),
                    };
                    let shown = Value::from(&**place);
                    list.push(&format!("{key}.{word}"), shown, Some(&secret.set_in));
                }
                key += ".tools";
            }
            for tools in &release.tools {
                for pattern in &tools.tools {
                    let shown = Value::from(pattern.as_str());
                    list.push(&key, shown, tools.set_in.as_ref());
                }
                if tools.tools.is_empty() {
                    list.push(&key, Value::list([]), tools.set_in.as_ref());
                }
            }
        }
    }

    fn list_tools(&self, list: &mut List) {
        let tools = &self.tools;
        if tools.allow.is_empty() {
            list.push("tools.allow", Value::Null, None);
        }
        for allowed in &tools.allow {
            for pattern in &allowed.tools {
                list.push(
                    "tools.allow",
                    Value::from(pattern.as_str()),
                    allowed.set_in.as_ref(),
                );
            }
            if allowed.tools.is_empty() {
                list.push("tools.allow", Value::list([]), allowed.set_in.as_ref());
            }
        }
        list.rules("tools.deny", tools.deny.iter());
        list.rules("tools.ask", tools.ask.iter());
        list.rules("tools.no_ask", tools.no_ask.iter());
        list.rules("tools.read_only", tools.read_only.iter());
        list.rules("tools.idempotent", tools.idempotent.iter());
        // Both hold: the stricter one of them.
        let pins = tools.pin.iter().chain(&tools.project_pin);
        let before = list.0.len();
        for rule in pins {
            let word = Value::from(rule.policy.as_str());
            list.push("tools.pin", word, Some(&rule.set_in));
        }
        if list.0.len() == before {
            list.push("tools.pin", Value::Null, None);
        }
        let rule = tools.unannotated.as_ref();
        let word = rule.map_or(Value::Null, |rule| Value::from(rule.word.as_str()));
        list.push("tools.unannotated", word, rule.map(|rule| &rule.set_in));
    }
}

pub(super) struct List(Vec<Setting>);

impl List {
    pub(super) fn push(&mut self, key: &str, value: Value, set_in: Option<&Arc<str>>) {
        self.0.push(Setting {
            key: key.to_owned(),
            value,
            set_in: place_of(set_in),
        });
    }

    fn rules<'a>(&mut self, key: &str, rules: impl Iterator<Item = &'a ToolRule>) {
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

    fn count(&mut self, key: &str, bound: Option<&Bound>) {
        self.one(key, bound, Value::from);
    }

    fn one<T: Copy>(&mut self, key: &str, bound: Option<&Bound<T>>, shown: impl Fn(T) -> Value) {
        match bound {
            Some(bound) => self.push(key, shown(bound.most), Some(&bound.set_in)),
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
