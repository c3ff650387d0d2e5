//! The flow policy: which outputs are untrusted or private, and which parameters are guarded or leave.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::FlowPattern;
use crate::catalog::hex;
use crate::{Tool, Value};

/// A rule of the policy, with the place where it is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRule {
    /// The tools and the field that the rule applies to.
    pub pattern: FlowPattern,
    /// The place of the rule, such as `planwright.toml:4`, for messages.
    pub set_in: Option<Arc<str>>,
}

impl From<FlowPattern> for FlowRule {
    fn from(pattern: FlowPattern) -> Self {
        Self {
            pattern,
            set_in: None,
        }
    }
}

/// An entry of the list of guarded parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The built-in list, `builtin`.
    Builtin,
    /// A rule.
    Rule(FlowRule),
}

/// The integrity of what the planner writes itself: literals and inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlannerLabel {
    /// The author of the plan has read nothing untrusted.
    #[default]
    Clean,
    /// The planner has read untrusted text, so its literals and inputs are untrusted.
    Exposed,
}

/// The consequence of a violation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnViolation {
    /// A warning; the plan runs.
    Warn,
    /// The step waits for the approval of a person.
    #[default]
    Ask,
    /// An error; nothing runs.
    Deny,
}

/// The rules about where data may go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPolicy {
    /// The outputs that are untrusted.
    pub untrusted: Vec<FlowRule>,
    /// The outputs that are trusted although a rule calls them untrusted.
    pub trusted: Vec<FlowRule>,
    /// The parameters that untrusted values must not reach.
    pub guard: Vec<Guard>,
    /// The outputs that are private.
    pub private: Vec<FlowRule>,
    /// The parameters through which values leave.
    pub leaves: Vec<FlowRule>,
    /// The guarded parameters whose calls must not be decided by untrusted values.
    pub decides: Vec<FlowRule>,
    /// The label of literals and inputs.
    pub planner: PlannerLabel,
    /// The consequence of a violation.
    pub violation: OnViolation,
}

impl Default for FlowPolicy {
    /// Returns the policy without any rules of its own: all outputs are untrusted, the built-in guards hold, and
    /// violations ask.
    fn default() -> Self {
        // The pattern `*` is valid.
        let everything = FlowPattern::parse("*").map(FlowRule::from);
        Self {
            untrusted: everything.into_iter().collect(),
            trusted: Vec::new(),
            guard: vec![Guard::Builtin],
            private: Vec::new(),
            leaves: Vec::new(),
            decides: Vec::new(),
            planner: PlannerLabel::Clean,
            violation: OnViolation::Ask,
        }
    }
}

impl FlowPolicy {
    /// Returns the digest of the rules, SHA-256 in hexadecimal digits. Consent is bound to it. The label of the planner is
    /// not part of it: it says who wrote the plan, and a decision is about the call that was shown.
    pub fn digest(&self) -> String {
        let rules = |rules: &[FlowRule]| {
            let texts = rules.iter().map(|rule| Value::from(rule.pattern.as_str()));
            Value::list(texts)
        };
        let guards = self.guard.iter().map(|guard| match guard {
            // No pattern is an object.
            Guard::Builtin => Value::empty_object(),
            Guard::Rule(rule) => Value::from(rule.pattern.as_str()),
        });
        let all = Value::list([
            Value::from("planwright.flow-policy/1"),
            rules(&self.untrusted),
            rules(&self.trusted),
            Value::list(guards),
            rules(&self.private),
            rules(&self.leaves),
            rules(&self.decides),
            Value::from(match self.violation {
                OnViolation::Warn => "warn",
                OnViolation::Ask => "ask",
                OnViolation::Deny => "deny",
            }),
        ]);
        hex(&Sha256::digest(all.to_json()))
    }
}

/// The parameters that the built-in guards name, at any depth.
pub(super) const BUILTIN_PARAMETERS: &[&str] = &[
    "to",
    "recipient",
    "recipients",
    "cc",
    "bcc",
    "email",
    "user_email",
    "participants",
    "url",
    "uri",
    "host",
    "amount",
    "iban",
    "account",
    "password",
    "permission",
];

/// The verbs of tools whose parameters are all guarded, as in `delete_file`.
pub(super) const BUILTIN_VERBS: &[&str] = &["delete", "remove", "cancel", "reserve"];

/// Returns the built-in verb that the name of `tool` starts with, if any: `delete_file`, `delete-file`, `deleteFile`.
pub(super) fn builtin_verb(tool: &Tool) -> Option<&'static str> {
    // Some servers put a namespace before the name.
    let name = tool.name.rsplit(['.', '/', ':']).next()?;
    let name = name.rsplit("__").next()?;
    BUILTIN_VERBS.iter().copied().find(|verb| {
        let Some((start, rest)) = name.split_at_checked(verb.len()) else {
            return false;
        };
        let ends_there = rest
            .chars()
            .next()
            .is_some_and(|next| next == '_' || next == '-' || next.is_uppercase());
        start.eq_ignore_ascii_case(verb) && ends_there
    })
}
