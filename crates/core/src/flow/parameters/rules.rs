//! The rules of a policy for the parameters of tools.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::policy::{BUILTIN_PARAMETERS, FlowPolicy, FlowRule, Guard, builtin_verb};
use crate::plan::{Node, NodeKind};
use crate::schema::Type;
use crate::{Hashing, Tool};

/// The rules that apply to the parameters of some tools, and the inspected parameters.
#[derive(Debug)]
pub(in crate::flow) struct ArgumentRules<'a> {
    pub(super) guards: Vec<ParameterMatch<'a>>,
    pub(super) leaves: Vec<ParameterMatch<'a>>,
    pub(super) decides: Vec<ParameterMatch<'a>>,
    pub(super) parameters: Vec<ToolParameter>,
}

/// The position of a parameter among those of its tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ParameterId(pub(super) u32);

/// The arguments as a whole.
pub(super) const ALL_ARGUMENTS: ParameterId = ParameterId(0);

/// A parameter of a tool, with the first rules that apply to it.
#[derive(Debug)]
pub(super) struct ToolParameter {
    pub(super) path: Vec<Arc<str>>,
    /// The path with dots.
    pub(super) name: Arc<str>,
    pub(super) guard: Option<Arc<str>>,
    pub(super) leaves: Option<Arc<str>>,
    pub(super) decides: bool,
    pub(super) fields: HashMap<Arc<str>, ParameterId, Hashing>,
    /// The position among the findings about the arguments of the current call.
    pub(super) found: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ParameterMatch<'a> {
    Rule(&'a FlowRule),
    /// All parameters of tools that start with a built-in verb.
    Verb(&'static str),
    /// A built-in name, at any depth.
    Name(&'static str),
}

impl ParameterMatch<'_> {
    /// Returns true if the rule applies to the parameter at `path`, provided that it applies to none around it.
    pub(super) fn covers(self, path: &[Arc<str>]) -> bool {
        match self {
            Self::Rule(rule) => rule.pattern.covers_field(path),
            Self::Verb(_) => true,
            Self::Name(name) => path.iter().any(|key| **key == *name),
        }
    }

    /// Returns true if the rule applies to all parameters of the tool.
    pub(super) fn is_of_tool(self) -> bool {
        match self {
            Self::Rule(rule) => !rule.pattern.has_field(),
            Self::Verb(_) => true,
            Self::Name(_) => false,
        }
    }

    pub(super) fn may_cover_inside(self, path: &[Arc<str>]) -> bool {
        match self {
            Self::Rule(rule) => rule.pattern.may_cover_inside(path),
            Self::Verb(_) | Self::Name(_) => true,
        }
    }

    /// Returns the name that the rule has for fields of a parameter whose path has `depth` names.
    pub(super) fn name_at(&self, depth: usize) -> Option<&str> {
        match self {
            Self::Rule(rule) => rule.pattern.name_at(depth),
            Self::Name(name) => Some(name),
            Self::Verb(_) => None,
        }
    }

    pub(super) fn is_path(self) -> bool {
        match self {
            Self::Rule(rule) => rule.pattern.is_path(),
            Self::Verb(_) | Self::Name(_) => false,
        }
    }

    pub(super) fn text(self) -> Arc<str> {
        match self {
            Self::Rule(rule) => Arc::clone(rule.pattern.text()),
            Self::Verb(verb) => format!("builtin: {verb}_*").into(),
            Self::Name(name) => format!("builtin: {name}").into(),
        }
    }
}

impl<'a> ArgumentRules<'a> {
    pub(super) fn of(policy: &'a FlowPolicy, matches: &RuleMatches) -> Self {
        let mut matches = matches.iter();
        let mut guards = Vec::new();
        for (guard, found) in policy.guard.iter().zip(matches.by_ref()) {
            match guard {
                Guard::Rule(rule) => guards.extend(found.map(|_| ParameterMatch::Rule(rule))),
                Guard::Builtin => {
                    guards.extend(found.map(ParameterMatch::Verb));
                    guards.extend(BUILTIN_PARAMETERS.iter().copied().map(ParameterMatch::Name));
                }
            }
        }
        let mut covering = |rules: &'a [FlowRule]| {
            let rules = rules.iter().zip(matches.by_ref());
            let rules = rules.filter_map(|(rule, found)| found.map(|_| ParameterMatch::Rule(rule)));
            rules.collect()
        };
        let mut rules = Self {
            guards,
            leaves: covering(&policy.leaves),
            decides: covering(&policy.decides),
            parameters: Vec::new(),
        };
        rules.add(Vec::new());
        rules
    }

    pub(super) fn add(&mut self, path: Vec<Arc<str>>) {
        let first = |rules: &[ParameterMatch<'_>]| {
            let rule = rules.iter().find(|rule| rule.covers(&path));
            rule.map(|rule| rule.text())
        };
        self.parameters.push(ToolParameter {
            name: path.join(".").into(),
            guard: first(&self.guards),
            leaves: first(&self.leaves),
            // A guard may end above the parameter that a rule spells out.
            decides: self
                .decides
                .iter()
                .any(|rule| rule.covers(&path) || rule.is_path() && rule.may_cover_inside(&path)),
            fields: HashMap::default(),
            found: None,
            path,
        });
    }

    /// Returns the field `key` of a parameter.
    pub(super) fn field(&mut self, parameter: ParameterId, key: &Arc<str>) -> ParameterId {
        let next = ParameterId(u32::try_from(self.parameters.len()).unwrap_or(u32::MAX));
        let Some(outer) = self.parameters.get_mut(parameter.0 as usize) else {
            return parameter;
        };
        if let Some(known) = outer.fields.get(key) {
            return *known;
        }
        outer.fields.insert(Arc::clone(key), next);
        let path = outer.path.iter().chain([key]).cloned().collect();
        self.add(path);
        next
    }

    /// Returns true if a rule applies to the parameter itself.
    pub(super) fn covers(&self, id: ParameterId) -> bool {
        let parameter = self.parameter(id);
        parameter.is_none_or(|one| one.guard.is_some() || one.leaves.is_some())
    }

    pub(super) fn parameter(&self, id: ParameterId) -> Option<&ToolParameter> {
        self.parameters.get(id.0 as usize)
    }
}

/// The rules of a policy that apply to a tool, one entry for each rule of `guard`, `leaves` and `decides`: `None` if it does
/// not apply, and the verb for the built-in guards.
pub(super) type RuleMatches = Vec<Option<&'static str>>;

pub(super) fn rule_matches(policy: &FlowPolicy, tool: &Tool) -> RuleMatches {
    let applies = |rule: &FlowRule| rule.pattern.covers_tool(tool).then_some("");
    let guards = policy.guard.iter().map(|guard| match guard {
        Guard::Builtin => builtin_verb(tool),
        Guard::Rule(rule) => applies(rule),
    });
    let others = policy.leaves.iter().chain(&policy.decides).map(applies);
    guards.chain(others).collect()
}

/// The rules for the parameters of all tools of a plan. Tools to which the same rules apply share them, since a plan may call
/// many tools, and each of them many times.
pub(in crate::flow) struct AllArgumentRules<'a> {
    pub(super) policy: &'a FlowPolicy,
    pub(super) rules: Vec<ArgumentRules<'a>>,
    pub(super) by_tool: HashMap<*const Tool, RulesId, Hashing>,
    pub(super) by_matches: HashMap<RuleMatches, RulesId, Hashing>,
}

impl<'a> AllArgumentRules<'a> {
    pub(in crate::flow) fn new(policy: &'a FlowPolicy) -> Self {
        Self {
            policy,
            rules: Vec::new(),
            by_tool: HashMap::default(),
            by_matches: HashMap::default(),
        }
    }

    /// Returns the position of the rules for the parameters of `tool`.
    pub(in crate::flow) fn of(&mut self, tool: &'a Tool) -> RulesId {
        *self
            .by_tool
            .entry(std::ptr::from_ref(tool))
            .or_insert_with(|| {
                let matches = rule_matches(self.policy, tool);
                match self.by_matches.get(&matches) {
                    Some(known) => *known,
                    None => {
                        let id = RulesId(self.rules.len());
                        self.rules.push(ArgumentRules::of(self.policy, &matches));
                        self.by_matches.insert(matches, id);
                        id
                    }
                }
            })
    }

    pub(in crate::flow) fn get_mut(&mut self, id: RulesId) -> Option<&mut ArgumentRules<'a>> {
        self.rules.get_mut(id.0)
    }
}

/// The position of the rules for the parameters of a tool.
#[derive(Clone, Copy, Debug)]
pub(in crate::flow) struct RulesId(usize);

impl ArgumentRules<'_> {
    /// Returns true if the label of the argument `node` for the field `key` of the arguments may matter: a rule applies to it,
    /// or may apply to a field inside. `shape` is the type of all arguments.
    pub(in crate::flow) fn concern(&mut self, key: &Arc<str>, node: &Node, shape: &Type) -> bool {
        let id = self.field(ALL_ARGUMENTS, key);
        if self.covers(id) {
            return true;
        }
        match &node.kind {
            NodeKind::Text(_) => false,
            // A value of such a type has no fields.
            NodeKind::Reference(_) => !matches!(
                shape,
                Type::Object(object) if matches!(
                    object.field(key),
                    Type::Null | Type::Boolean | Type::Integer | Type::Number | Type::Text
                )
            ),
            NodeKind::Literal(_) | NodeKind::List(_) | NodeKind::Object(_) => true,
        }
    }
}
