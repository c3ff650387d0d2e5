//! The flow policy: which outputs are untrusted or private, and which parameters are guarded or leave.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::outputs::ANY_KEY;
use crate::catalog::matches_name;
use crate::text::hex;
use crate::{Tool, ToolPattern, Value};

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
    // Names are short, so a plain loop over the bytes is faster than a search.
    let separator = name.as_bytes().windows(2).rposition(|pair| pair == b"__");
    let name = separator.map_or(Some(name), |at| name.get(at + 2..))?;
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

/// A pattern of a flow rule: `TOOL`, `TOOL:FIELD` or `TOOL:PATH.TO.FIELD`, with `*` for any text within one name.
///
/// The tool part is a [`ToolPattern`]. A single name as field matches at any depth; a path starts at the top. A rule for
/// a field also applies to everything in it. Positions in lists are left out of paths. A path also matches names that
/// contain its dots.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowPattern {
    text: Arc<str>,
    tool: ToolPattern,
    field: Vec<Arc<str>>,
}

/// The reason why a text is not a flow pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPatternError {
    text: String,
    reason: &'static str,
}

impl FlowPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    ///
    /// Fails if the tool, the field, or a name in the path is empty, or if the text has a control character or a
    /// space at an end.
    pub fn parse(text: &str) -> Result<Self, FlowPatternError> {
        let error = |reason| FlowPatternError {
            text: text.to_owned(),
            reason,
        };
        // Names of tools may contain colons, names of fields seldom do.
        let (tool, field) = match text.rsplit_once(':') {
            Some((tool, field)) => (tool, Some(field)),
            None => (text, None),
        };
        if tool.trim().is_empty() {
            return Err(error("the tool is missing; `*` means any"));
        }
        if text.trim() != text || text.chars().any(char::is_control) {
            return Err(error("it has a control character, or a space at an end"));
        }
        let field: Vec<Arc<str>> = field
            .into_iter()
            .flat_map(|field| field.split('.'))
            .map(Arc::from)
            .collect();
        if field.iter().any(|name| name.is_empty()) {
            return Err(error("a name of the field is empty"));
        }
        Ok(Self {
            text: text.into(),
            tool: ToolPattern::new(tool),
            field,
        })
    }

    /// Returns the text of the pattern.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the text of the pattern, shared.
    pub(super) fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns the pattern of the tools.
    pub fn tool(&self) -> &ToolPattern {
        &self.tool
    }

    /// Returns true if the pattern names a field.
    pub fn has_field(&self) -> bool {
        !self.field.is_empty()
    }

    /// Returns true if the pattern names a tool in full, or a field. Others cover tools that their author need not know.
    pub(super) fn is_specific(&self) -> bool {
        self.has_field() || !self.tool.as_str().contains('*')
    }

    /// Returns true if the pattern applies to `tool`, whatever the field.
    pub fn covers_tool(&self, tool: &Tool) -> bool {
        self.tool.covers(tool)
    }

    /// Returns the names of the field; empty if the pattern applies to all fields.
    pub(super) fn field(&self) -> &[Arc<str>] {
        &self.field
    }

    /// Returns true if the pattern applies to the field at `path` or to one around it.
    pub(super) fn covers_field(&self, path: &[Arc<str>]) -> bool {
        match self.field.as_slice() {
            [] => true,
            [name] => path.iter().any(|key| matches_name(name, key)),
            names => either_path(path, |keys| {
                keys.len() >= names.len() && starts(names, keys)
            }),
        }
    }

    /// Returns true if the pattern may apply to the field at `path` or to one around it, where a key may be
    /// [any](ANY_KEY).
    pub(super) fn may_cover_field(&self, path: &[Arc<str>]) -> bool {
        match self.field.as_slice() {
            [] => true,
            [name] => path.iter().any(|key| may_match(name, key)),
            names => either_path(path, |keys| {
                keys.len() >= names.len() && may_start(names, keys)
            }),
        }
    }

    /// Returns the name at a position of the path; a single name stands at any.
    pub(super) fn name_at(&self, depth: usize) -> Option<&str> {
        match self.field.as_slice() {
            [name] => Some(name),
            names => names.get(depth).map(|name| &**name),
        }
    }

    /// Returns true if the pattern spells a path of several names, which starts at the top.
    pub(super) fn is_path(&self) -> bool {
        self.field.len() > 1
    }

    /// Returns true if the pattern may apply to a field inside the value at `path`.
    pub(super) fn may_cover_inside(&self, path: &[Arc<str>]) -> bool {
        match self.field.as_slice() {
            [] | [_] => true,
            names => either_path(path, |keys| {
                keys.len() < names.len() && may_start(names, keys)
            }),
        }
    }
}

/// Returns true if the shorter one of `names` and `keys` matches the start of the other.
fn starts(names: &[Arc<str>], keys: &[&str]) -> bool {
    let mut pairs = names.iter().zip(keys);
    pairs.all(|(name, key)| matches_name(name, key))
}

/// Returns true if the shorter one of `names` and `keys` may match the start of the other.
fn may_start(names: &[Arc<str>], keys: &[&str]) -> bool {
    let mut pairs = names.iter().zip(keys);
    pairs.all(|(name, key)| may_match(name, key))
}

fn may_match(name: &str, key: &str) -> bool {
    key == ANY_KEY || matches_name(name, key)
}

/// Returns true if `test` holds for `path`, or for its text with dots as the separator: a name may contain dots.
fn either_path(path: &[Arc<str>], test: impl Fn(&[&str]) -> bool) -> bool {
    let keys: Vec<&str> = path.iter().map(|key| &**key).collect();
    if test(&keys) {
        return true;
    }
    if !keys.iter().any(|key| key.contains('.')) {
        return false;
    }
    let parts: Vec<&str> = keys.iter().flat_map(|key| key.split('.')).collect();
    test(&parts)
}

impl fmt::Display for FlowPatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a pattern of a flow rule: {}",
            self.text, self.reason
        )
    }
}

impl std::error::Error for FlowPatternError {}

impl fmt::Display for FlowPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Vec<Arc<str>> {
        text.split('.')
            .filter(|name| !name.is_empty())
            .map(Arc::from)
            .collect()
    }

    #[test]
    fn a_single_name_matches_at_any_depth() {
        let check = |pattern: &str, covered: &[&str], others: &[&str]| {
            let pattern = FlowPattern::parse(pattern).unwrap();
            for field in covered {
                assert!(pattern.covers_field(&path(field)), "{pattern} {field}");
            }
            for field in others {
                assert!(!pattern.covers_field(&path(field)), "{pattern} {field}");
            }
        };
        check("bank.*", &["", "a", "a.b"], &[]);
        check(
            "bank.*:amount",
            &["amount", "a.amount", "amount.value"],
            &["", "amounts", "a"],
        );
        check("*:*_id", &["user_id", "a.user_id.x"], &["id", "user_ids"]);
        check(
            "*:recipient*",
            &["recipient", "recipients", "a.recipient_list"],
            &["to"],
        );
        check("x:a.b", &["a.b", "a.b.c"], &["a", "b", "x.a.b"]);
        check("x:a.*", &["a.b", "a.c.d"], &["a", "b"]);
    }

    #[test]
    fn a_path_matches_names_with_dots() {
        let pattern = FlowPattern::parse("x:a.b").unwrap();
        let key = |name: &str| Arc::<str>::from(name);
        assert!(pattern.covers_field(&[key("a.b")]));
        assert!(pattern.covers_field(&[key("a.b"), key("c")]));
        assert!(!pattern.covers_field(&[key("a.c")]));
        assert!(!pattern.may_cover_inside(&[key("a.b")]));
    }

    #[test]
    fn malformed_patterns_are_refused() {
        for (text, reason) in [
            ("", "the tool is missing"),
            (":to", "the tool is missing"),
            ("a:", "a name of the field is empty"),
            ("a:b..c", "a name of the field is empty"),
            ("a ", "a space at an end"),
            ("a:b\u{7}", "a control character"),
        ] {
            let error = FlowPattern::parse(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
