//! `[flow]`: where data may go. See `docs/guide/flow.md`.

use std::ops::Range;
use std::sync::Arc;

use planwright_core::Value;
use planwright_core::flow::{FlowPattern, FlowPolicy, FlowRule, Guard, OnViolation, PlannerLabel};
use serde::Deserialize;
use toml::Spanned;

use super::setting::{ConfigText, List, Origin};
use super::value_syntax::is_tool_pattern;

/// The text that stands for the built-in guards in a list.
const BUILTIN: &str = "builtin";

/// The rules of data flow. If the table exists, plans are checked against it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "flow"))]
pub(super) struct FlowTable {
    /// False to switch the analysis off; without it, true. A project's file can only switch it on.
    #[cfg_attr(test, schemars(with = "bool"))]
    enabled: Option<Spanned<bool>>,
    /// The outputs that are untrusted, as `TOOL` or `TOOL:FIELD`; without it, `["*"]`. A project's file adds to it.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    untrusted: Option<Spanned<Vec<Spanned<FlowPatternText>>>>,
    /// The outputs that are trusted nevertheless; only in your own file.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    trusted: Option<Spanned<Vec<Spanned<FlowPatternText>>>>,
    /// The parameters that untrusted values must not reach; `builtin` stands for the built-in list, which holds without it. A project's
    /// file adds to it.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    guard: Option<Spanned<Vec<Spanned<FlowPatternText>>>>,
    /// The outputs that are private; without it, none. A project's file adds to it.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    private: Option<Spanned<Vec<Spanned<FlowPatternText>>>>,
    /// The parameters through which values leave; without it, none. A project's file adds to it.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    leaves: Option<Spanned<Vec<Spanned<FlowPatternText>>>>,
    /// The guarded parameters whose calls untrusted values must not decide; without it, none. A project's file adds to it.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    decides: Option<Spanned<Vec<Spanned<FlowPatternText>>>>,
    /// The label of literals and inputs of plans: `clean`, or `exposed` if they are untrusted; without it, `clean`. A project's file can
    /// only write `exposed`.
    #[cfg_attr(test, schemars(with = "String"))]
    planner: Option<Spanned<PlannerWord>>,
    /// The consequence of a violation: `ask` lets the step wait for approval, `deny` refuses the plan, `warn` only warns;
    /// default: `ask`. A project's file can only make it stricter.
    #[cfg_attr(test, schemars(with = "String"))]
    violation: Option<Spanned<ViolationWord>>,
    /// The policy for destructive tools: `ask` asks before each call, `by-flow` only for a call that violates the flow policy; without it,
    /// `ask`. Only in your own file.
    #[cfg_attr(test, schemars(with = "String"))]
    effects: Option<Spanned<EffectsWord>>,
}

/// A pattern, or `builtin` in the list of guards.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
struct FlowPatternText(FlowPattern);

impl TryFrom<String> for FlowPatternText {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let hint = "(write `TOOL`, `TOOL:FIELD` or `TOOL:PATH.TO.FIELD`)";
        let pattern = FlowPattern::parse(&text).map_err(|error| format!("{error} {hint}"))?;
        if !is_tool_pattern(pattern.tool().as_str()) {
            return Err(format!("`{}` cannot be a tool {hint}", pattern.tool()));
        }
        Ok(Self(pattern))
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
struct PlannerWord(PlannerLabel);

impl TryFrom<String> for PlannerWord {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        match word.as_str() {
            "clean" => Ok(Self(PlannerLabel::Clean)),
            "exposed" => Ok(Self(PlannerLabel::Exposed)),
            _ => Err(format!(
                "unknown planner label `{word}` (write `clean` or `exposed`)"
            )),
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
struct ViolationWord(OnViolation);

impl TryFrom<String> for ViolationWord {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        match word.as_str() {
            "warn" => Ok(Self(OnViolation::Warn)),
            "ask" => Ok(Self(OnViolation::Ask)),
            "deny" => Ok(Self(OnViolation::Deny)),
            _ => Err(format!(
                "unknown value `{word}` (write `ask`, `deny` or `warn`)"
            )),
        }
    }
}

fn violation_text(violation: OnViolation) -> &'static str {
    match violation {
        OnViolation::Warn => "warn",
        OnViolation::Ask => "ask",
        OnViolation::Deny => "deny",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
enum EffectsWord {
    Ask,
    ByFlow,
}

impl TryFrom<String> for EffectsWord {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        match word.as_str() {
            "ask" => Ok(Self::Ask),
            "by-flow" => Ok(Self::ByFlow),
            _ => Err(format!("unknown value `{word}` (write `ask` or `by-flow`)")),
        }
    }
}

/// The rules of the configuration about the flow of data.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowRules {
    policy: FlowPolicy,
    /// True if a file has the table and does not switch it off.
    enabled: bool,
    /// The place where the user's own file disables the analysis.
    switched_off: Option<Arc<str>>,
    by_flow: bool,
    settings: FlowSettings,
}

/// The settings in force, with their places; those of a list that a file only adds to have none.
#[derive(Clone, Debug, Default)]
struct FlowSettings(Vec<(&'static str, Value, Option<Arc<str>>)>);

impl FlowSettings {
    /// Adds the `patterns` of a list. The user's list replaces the default; a project's list adds to the patterns that hold `before`.
    fn add_list(
        &mut self,
        word: &'static str,
        patterns: &Spanned<Vec<Spanned<FlowPatternText>>>,
        before: impl Iterator<Item = Value>,
        source: &ConfigText,
    ) {
        let is_listed = self.0.iter().any(|(listed, ..)| *listed == word);
        if source.origin == Origin::Project && !is_listed {
            self.0.extend(before.map(|value| (word, value, None)));
        }
        for pattern in patterns.get_ref() {
            // Something holds now.
            self.0
                .retain(|(listed, value, _)| *listed != word || value.as_list().is_none());
            self.0
                .push((word, text_of(pattern), Some(source.place(pattern))));
        }
        if !self.0.iter().any(|(listed, ..)| *listed == word) {
            self.0
                .push((word, Value::list([]), Some(source.place(patterns))));
        }
    }
}

impl FlowRules {
    pub(super) fn add(&mut self, table: &FlowTable, source: &ConfigText) {
        let is_own = source.origin == Origin::User;
        match &table.enabled {
            Some(enabled) if !*enabled.get_ref() => {
                self.enabled = false;
                self.switched_off = Some(source.place(enabled));
            }
            Some(_) | None => self.enabled = true,
        }
        if let Some(enabled) = &table.enabled {
            self.say(
                "enabled",
                (*enabled.get_ref()).into(),
                source.place(enabled),
            );
        }
        let mut lists = [
            ("untrusted", &table.untrusted, &mut self.policy.untrusted),
            ("trusted", &table.trusted, &mut self.policy.trusted),
            ("private", &table.private, &mut self.policy.private),
            ("leaves", &table.leaves, &mut self.policy.leaves),
            ("decides", &table.decides, &mut self.policy.decides),
        ];
        for (word, patterns, rules) in &mut lists {
            let Some(patterns) = patterns else { continue };
            let before = rules.iter().map(|rule| Value::from(rule.pattern.as_str()));
            self.settings.add_list(word, patterns, before, source);
            // The user's list replaces the default; a project's list adds to it.
            if is_own {
                rules.clear();
            }
            rules.extend(patterns.get_ref().iter().map(|it| rule(source, it)));
        }
        if let Some(patterns) = &table.guard {
            let before = self.policy.guard.iter().map(|guard| match guard {
                Guard::Builtin => Value::from(BUILTIN),
                Guard::Rule(rule) => Value::from(rule.pattern.as_str()),
            });
            self.settings.add_list("guard", patterns, before, source);
            if is_own {
                self.policy.guard.clear();
            }
            let guards = patterns.get_ref().iter();
            self.policy
                .guard
                .extend(guards.map(|pattern| match pattern.get_ref().0.as_str() {
                    BUILTIN => Guard::Builtin,
                    _ => Guard::Rule(rule(source, pattern)),
                }));
        }
        if let Some(planner) = &table.planner {
            self.policy.planner = planner.get_ref().0;
            let word = match planner.get_ref().0 {
                PlannerLabel::Clean => "clean",
                PlannerLabel::Exposed => "exposed",
            };
            self.say("planner", word.into(), source.place(planner));
        }
        if let Some(violation) = &table.violation {
            let consequence = violation.get_ref().0;
            // A project's file only makes it stricter.
            if is_own || consequence > self.policy.violation {
                self.policy.violation = consequence;
            }
            let word = violation_text(consequence);
            self.say("violation", word.into(), source.place(violation));
        }
        if let Some(effects) = &table.effects {
            self.by_flow = *effects.get_ref() == EffectsWord::ByFlow;
            let word = if self.by_flow { "by-flow" } else { "ask" };
            self.say("effects", word.into(), source.place(effects));
        }
    }

    fn say(&mut self, word: &'static str, value: Value, place: Arc<str>) {
        self.settings.0.push((word, value, Some(place)));
    }

    /// Enables the analysis, overriding the files.
    pub(super) fn switch_on(&mut self) {
        self.enabled = true;
    }

    /// Labels literals and inputs of plans as untrusted.
    pub(super) fn expose(&mut self) {
        self.policy.planner = PlannerLabel::Exposed;
    }

    /// Returns the policy, if a file switches the analysis on.
    pub(super) fn enabled(&self) -> Option<&FlowPolicy> {
        self.enabled.then_some(&self.policy)
    }

    /// Returns the policy unless the user's own file switches the analysis off.
    pub(super) fn unless_switched_off(&self) -> Option<&FlowPolicy> {
        (self.enabled || self.switched_off.is_none()).then_some(&self.policy)
    }

    /// Returns the policy, whether or not it is switched on.
    pub(super) fn policy(&self) -> &FlowPolicy {
        &self.policy
    }

    /// Returns true if destructive tools need approval only for a violation of the policy.
    pub(super) fn is_by_flow(&self) -> bool {
        self.enabled && self.by_flow
    }

    /// Lists the settings that are set, and the defaults beside them.
    pub(super) fn list(&self, list: &mut List) {
        for (word, value, place) in &self.settings.0 {
            list.push(&format!("flow.{word}"), value.clone(), place.as_ref());
        }
    }
}

fn rule(source: &ConfigText, pattern: &Spanned<FlowPatternText>) -> FlowRule {
    FlowRule {
        pattern: pattern.get_ref().0.clone(),
        set_in: Some(source.place(pattern)),
    }
}

fn text_of(pattern: &Spanned<FlowPatternText>) -> Value {
    Value::from(pattern.get_ref().0.as_str())
}

/// Returns the settings of a project's file that only the user's own file may have, each with its place, the issue and a hint.
pub(super) fn issues(
    table: &FlowTable,
    source: &ConfigText,
) -> Vec<(Range<usize>, String, String)> {
    if source.origin == Origin::User {
        return Vec::new();
    }
    let own = |span: Range<usize>, message: &str, word: &str| {
        let help = format!("the user decides this: put `{word}` into your own planwright.toml");
        (span, message.to_owned(), help)
    };
    let off = table.enabled.as_ref().filter(|enabled| !*enabled.get_ref());
    let clean = table.planner.as_ref();
    let clean = clean.filter(|word| word.get_ref().0 == PlannerLabel::Clean);
    let warn = table.violation.as_ref();
    let warn = warn.filter(|word| word.get_ref().0 == OnViolation::Warn);
    let trusted = table.trusted.as_ref();
    let issues = [
        off.map(|it| {
            own(
                it.span(),
                "a project cannot disable the flow analysis",
                "enabled",
            )
        }),
        trusted.map(|it| own(it.span(), "a project cannot trust outputs", "trusted")),
        clean.map(|it| {
            own(
                it.span(),
                "a project cannot declare the planner clean",
                "planner",
            )
        }),
        warn.map(|it| own(it.span(), "a project cannot permit violations", "violation")),
        table.effects.as_ref().map(|it| {
            own(
                it.span(),
                "a project cannot waive the approval of destructive tools",
                "effects",
            )
        }),
    ];
    issues.into_iter().flatten().collect()
}
