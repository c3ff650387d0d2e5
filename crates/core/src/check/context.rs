//! The context of a check: tools, other plans, inputs, and the policy that plans must obey.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::flow::{FlowPolicy, RecalledLabels, StepLabels};
use crate::plan::ExternalValue;
use crate::{Catalog, Object, Plan, Tool, ToolPattern};

/// The context that a plan is checked against.
#[derive(Clone, Copy, Debug)]
pub struct CheckContext<'a> {
    /// The tools that the plan may call.
    pub catalog: &'a Catalog,
    /// The plans that it may run by name.
    pub library: &'a Library,
    /// The policy that it must obey.
    pub policy: &'a Policy,
    /// The inputs and variables of the run, by name.
    pub inputs: &'a Object,
    /// The labels of the results of earlier runs that it refers to.
    pub recalled: &'a RecalledLabels,
    /// The labels of retained results: an earlier plan of the same run computed them, and they stay although this plan would
    /// compute them from other data.
    pub retained: Option<&'a StepLabels>,
}

impl<'a> CheckContext<'a> {
    /// Creates a context with the tools of `catalog`, no other plans, the default limits and no inputs.
    pub fn new(catalog: &'a Catalog) -> Self {
        Self {
            catalog,
            library: Library::none(),
            policy: Policy::permissive(),
            inputs: no_values(),
            recalled: no_labels(),
            retained: None,
        }
    }

    /// Sets the library of plans.
    #[must_use]
    pub fn with_library(mut self, library: &'a Library) -> Self {
        self.library = library;
        self
    }

    /// Sets the policy.
    #[must_use]
    pub fn with_policy(mut self, policy: &'a Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the inputs and variables of the run.
    #[must_use]
    pub fn with_inputs(mut self, inputs: &'a Object) -> Self {
        self.inputs = inputs;
        self
    }

    /// Sets the labels of the results of earlier runs that the plan refers to.
    #[must_use]
    pub fn with_recalled(mut self, recalled: &'a RecalledLabels) -> Self {
        self.recalled = recalled;
        self
    }

    /// Sets the labels of results that an earlier plan of the same run computed.
    #[must_use]
    pub fn with_retained(mut self, retained: &'a StepLabels) -> Self {
        self.retained = Some(retained);
        self
    }
}

/// The plans that steps can run by name.
#[derive(Clone, Debug, Default)]
pub struct Library {
    plans: IndexMap<Arc<str>, Arc<Plan>>,
    /// The names of plans that exist but were not loaded.
    others: IndexMap<Arc<str>, Readable>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readable {
    Unknown,
    No,
}

impl Library {
    /// Creates an empty library.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `plan` under `name` and replaces an earlier one.
    pub fn add(&mut self, name: impl Into<Arc<str>>, plan: Plan) {
        self.plans.insert(name.into(), Arc::new(plan));
    }

    /// Registers the name of an existing plan that was not loaded. It is used in suggestions only.
    pub fn mention(&mut self, name: impl Into<Arc<str>>) {
        // A plan known to be unreadable stays so.
        self.others.entry(name.into()).or_insert(Readable::Unknown);
    }

    /// Registers the name of a plan that cannot be read. The caller reports why.
    pub fn add_unreadable(&mut self, name: impl Into<Arc<str>>) {
        self.others.insert(name.into(), Readable::No);
    }

    /// Returns true if the plan `name` exists but cannot be read.
    pub fn is_unreadable(&self, name: &str) -> bool {
        self.others.get(name) == Some(&Readable::No)
    }

    /// Returns the plan `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<Plan>> {
        self.plans.get(name)
    }

    /// Returns the names of the loaded plans, in insertion order.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.plans.keys()
    }

    /// Returns the names of all known plans, loaded or not.
    pub fn known_names(&self) -> impl Iterator<Item = &Arc<str>> {
        let others = self.others.keys();
        self.plans
            .keys()
            // A plan may be registered by name first and loaded later.
            .chain(others.filter(|name| !self.plans.contains_key(*name)))
    }

    fn none() -> &'static Self {
        static NONE: std::sync::OnceLock<Library> = std::sync::OnceLock::new();
        NONE.get_or_init(Self::new)
    }
}

fn no_values() -> &'static Object {
    static NONE: std::sync::OnceLock<Object> = std::sync::OnceLock::new();
    NONE.get_or_init(Object::default)
}

fn no_labels() -> &'static RecalledLabels {
    static NONE: RecalledLabels = RecalledLabels::new();
    &NONE
}

/// Maximum number of patterns of a list that a message names.
const MAX_SHOWN_PATTERNS: usize = 5;

/// The rules that plans must obey.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The limits on the size of plans.
    pub limits: Limits,
    /// The tools that plans must not call.
    pub denied: Vec<ToolRule>,
    /// The lists of allowed tools. A tool must be on each list; without any list, all tools are allowed.
    pub allowed: Vec<AllowList>,
    /// The external values that tools may receive.
    pub releases: Releases,
    /// The current stage, if the configuration has stages.
    pub stage: Option<StageRule>,
    /// The rules about where data may go; `None` to analyze no flow.
    pub flow: Option<FlowPolicy>,
}

impl Policy {
    /// Creates a policy with the default limits that allows every tool.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Denies the tools that one more [pattern](ToolPattern) matches.
    #[must_use]
    pub fn deny(mut self, rule: impl Into<ToolRule>) -> Self {
        self.denied.push(rule.into());
        self
    }

    /// Allows only tools on `list`, in addition to the restrictions of earlier lists.
    #[must_use]
    pub fn allow_only(mut self, list: AllowList) -> Self {
        self.allowed.push(list);
        self
    }

    /// Allows only the tools of one stage.
    #[must_use]
    pub fn in_stage(mut self, stage: StageRule) -> Self {
        self.stage = Some(stage);
        self
    }

    /// Checks where data goes.
    #[must_use]
    pub fn with_flow(mut self, flow: FlowPolicy) -> Self {
        self.flow = Some(flow);
        self
    }

    /// Allows tools to receive one more external value.
    #[must_use]
    pub fn release(mut self, release: Release) -> Self {
        // Anything is allowed already otherwise.
        if let Releases::Listed(all) = &mut self.releases {
            all.push(release);
        }
        self
    }

    /// Allows any tool to receive any external value. Meant for plans that are only inspected, or run without such
    /// values.
    #[must_use]
    pub fn allow_all_releases(mut self) -> Self {
        self.releases = Releases::Anything;
        self
    }

    pub(super) fn permissive() -> &'static Self {
        static PERMISSIVE: std::sync::OnceLock<Policy> = std::sync::OnceLock::new();
        PERMISSIVE.get_or_init(Self::new)
    }
}

/// A rule that denies tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRule {
    /// The tools that the rule applies to.
    pub pattern: ToolPattern,
    /// The place of the rule, such as `planwright.toml:4`, for messages.
    pub set_in: Option<Arc<str>>,
}

impl<T: Into<ToolPattern>> From<T> for ToolRule {
    fn from(pattern: T) -> Self {
        Self {
            pattern: pattern.into(),
            set_in: None,
        }
    }
}

/// A list of allowed tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowList {
    /// The allowed tools.
    pub tools: Vec<ToolPattern>,
    /// The place of the list, such as `planwright.toml:3`, for messages.
    pub set_in: Option<Arc<str>>,
}

impl<T: Into<ToolPattern>> FromIterator<T> for AllowList {
    fn from_iter<I: IntoIterator<Item = T>>(tools: I) -> Self {
        Self {
            tools: tools.into_iter().map(Into::into).collect(),
            set_in: None,
        }
    }
}

/// The tools of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageRule {
    /// The name of the stage.
    pub name: Arc<str>,
    /// The tools available in the stage.
    pub tools: Vec<ToolPattern>,
    /// The other stages and their tools, for suggestions.
    pub others: Vec<(Arc<str>, Vec<ToolPattern>)>,
}

/// The external values that plans may pass to tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Releases {
    /// The listed values only.
    Listed(Vec<Release>),
    /// Any value, to any tool.
    Anything,
}

impl Default for Releases {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

/// An external value that some tools may receive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The kind of value.
    pub what: ExternalValue,
    /// The name of the value.
    pub name: Arc<str>,
    /// The lists of tools that may receive it. A tool must be on each list; without any list, no tool may.
    pub tools: Vec<AllowList>,
}

/// The limits on the size of plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of steps of a plan, including those of its sub-plans.
    pub max_steps: usize,
    /// Maximum nesting depth of sub-plans; 0 allows none.
    pub max_depth: usize,
    /// Maximum length of an expression, in bytes.
    pub max_expression_length: usize,
    /// Maximum number of rounds of a `repeat`.
    pub max_repeat: u32,
    /// Maximum number of attempts of a `retry`.
    pub max_attempts: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: 10_000,
            max_depth: 16,
            max_expression_length: 4_000,
            max_repeat: 1_000,
            max_attempts: 100,
        }
    }
}

impl Policy {
    /// Explains why the policy forbids a tool, with a hint. Returns `None` if the tool is allowed.
    pub fn objection(&self, tool: &Tool) -> Option<(String, String)> {
        self.objection_to(&tool.qualified_name(), tool)
    }

    /// Explains like [`objection`](Self::objection), with `name` as the name of the tool.
    pub(super) fn objection_to(&self, name: &str, tool: &Tool) -> Option<(String, String)> {
        let hint = "do without the tool, or ask for another policy";
        if tool.for_views {
            return Some((
                format!("the server offers the tool `{name}` to its own views alone"),
                "neither plans nor models may call it: do without the tool".to_owned(),
            ));
        }
        // A denial takes precedence over any list of allowed tools.
        if let Some(rule) = self.denied.iter().find(|rule| rule.pattern.covers(tool)) {
            let place = rule.set_in.as_ref();
            let place = place.map_or(String::new(), |place| format!(" in `{place}`"));
            return Some((
                format!("the policy denies the tool `{name}`"),
                format!("the rule is `{}`{place}: {hint}", rule.pattern),
            ));
        }
        let Some(list) = self.allowed.iter().find(|list| !list.covers(tool)) else {
            return self.stage.as_ref()?.objection(name, tool);
        };
        let place = list.set_in.as_ref();
        let place = place.map_or(String::new(), |place| format!(" in `{place}`"));
        Some((
            format!("the policy does not allow the tool `{name}`"),
            format!("it allows {}{place}: {hint}", list.shown()),
        ))
    }
}

impl StageRule {
    fn objection(&self, name: &str, tool: &Tool) -> Option<(String, String)> {
        let covers = |tools: &[ToolPattern]| tools.iter().any(|pattern| pattern.covers(tool));
        if covers(&self.tools) {
            return None;
        }
        let others = self.others.iter().filter(|(_, tools)| covers(tools));
        let others: Vec<String> = others
            .take(MAX_SHOWN_PATTERNS)
            .map(|(stage, _)| format!("`{stage}`"))
            .collect();
        let help = if others.is_empty() {
            "no stage has this tool".to_owned()
        } else {
            format!("move to the stage {} first", others.join(" or "))
        };
        let message = format!("the stage `{}` does not have the tool `{name}`", self.name);
        Some((message, help))
    }
}

impl AllowList {
    pub(super) fn covers(&self, tool: &Tool) -> bool {
        self.tools.iter().any(|pattern| pattern.covers(tool))
    }

    /// Formats the first patterns of the list.
    pub(super) fn shown(&self) -> String {
        let patterns = self.tools.iter().take(MAX_SHOWN_PATTERNS);
        let patterns: Vec<String> = patterns.map(|pattern| format!("`{pattern}`")).collect();
        match self.tools.len().saturating_sub(MAX_SHOWN_PATTERNS) {
            _ if patterns.is_empty() => "no tool at all".to_owned(),
            0 => patterns.join(", "),
            more => format!("{} and {more} more", patterns.join(", ")),
        }
    }
}

impl Releases {
    /// Explains how to allow the tool to receive the value. Returns `None` if it may.
    pub(crate) fn objection(&self, what: ExternalValue, name: &str, tool: &Tool) -> Option<String> {
        let Self::Listed(all) = self else {
            return None;
        };
        let is_it = |release: &&Release| release.what == what && *release.name == *name;
        let lists: Vec<&AllowList> = all
            .iter()
            .filter(is_it)
            .flat_map(|release| &release.tools)
            .collect();
        let full_name = tool.qualified_name();
        if let Some(list) = lists.iter().find(|list| !list.covers(tool)) {
            let place = list.set_in.as_ref();
            let place = place.map_or(String::new(), |place| format!(" in `{place}`"));
            return Some(format!(
                "it is for {}{place}: add `{full_name}` there if it may have it",
                list.shown()
            ));
        }
        // All lists name the tool.
        if !lists.is_empty() {
            return None;
        }
        Some(match what {
            ExternalValue::Environment => format!(
                "if it may have it, write `{name} = [\"{full_name}\"]` below `[env]` in your own planwright.toml"
            ),
            ExternalValue::Secrets => format!(
                "if it may have it, write `[secrets.{name}]` with `tools = [\"{full_name}\"]` and `env = \"VARIABLE\"` or \
                 `file = \"PATH\"` in your own planwright.toml"
            ),
        })
    }
}
