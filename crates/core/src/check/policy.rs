//! The rules that a plan is checked by: which tools it may call, how large it may be.

use std::sync::Arc;

use crate::plan::Outside;
use crate::{Tool, ToolPattern};

/// The most patterns of a list that a finding names.
const MAX_SHOWN_PATTERNS: usize = 5;

/// What plans may do, and how much.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// How large plans may be.
    pub limits: Limits,
    /// The tools that plans may not call.
    pub denied: Vec<ToolRule>,
    /// Lists of the tools that plans may call. Each has to name a tool; where there is none, all may be called.
    pub allowed: Vec<AllowList>,
    /// What is given out from outside, and to which tools.
    pub releases: Releases,
    /// The stage that plans are made in, where there are stages.
    pub stage: Option<StageRule>,
}

impl Policy {
    /// The default limits, and every tool allowed.
    pub fn new() -> Self {
        Self::default()
    }

    /// With other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// With what one more [pattern](ToolPattern) covers denied.
    #[must_use]
    pub fn deny(mut self, rule: impl Into<ToolRule>) -> Self {
        self.denied.push(rule.into());
        self
    }

    /// With nothing allowed but what `list`, and each list before it, covers.
    #[must_use]
    pub fn allow_only(mut self, list: AllowList) -> Self {
        self.allowed.push(list);
        self
    }

    /// With the tools of one stage alone.
    #[must_use]
    pub fn in_stage(mut self, stage: StageRule) -> Self {
        self.stage = Some(stage);
        self
    }

    /// With one more value from outside that tools may be given.
    #[must_use]
    pub fn release(mut self, release: Release) -> Self {
        if let Releases::Listed(all) = &mut self.releases {
            all.push(release);
        }
        self
    }

    /// With no question asked about values from outside: for plans that are only looked at, or run without any.
    #[must_use]
    pub fn release_anything(mut self) -> Self {
        self.releases = Releases::Anything;
        self
    }

    pub(super) fn permissive() -> &'static Self {
        static PERMISSIVE: std::sync::OnceLock<Policy> = std::sync::OnceLock::new();
        PERMISSIVE.get_or_init(Self::new)
    }
}

/// A rule about tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRule {
    /// The tools that it is about.
    pub pattern: ToolPattern,
    /// Where it stands, such as `planwright.toml:4`, for whoever meets it.
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

/// A list of the tools that plans may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowList {
    /// The tools that they may call.
    pub tools: Vec<ToolPattern>,
    /// Where it stands, such as `planwright.toml:3`, for whoever misses a tool in it.
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

/// The tools of the stage that plans are made in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageRule {
    /// The stage.
    pub name: Arc<str>,
    /// The tools that there are in it.
    pub tools: Vec<ToolPattern>,
    /// Other stages, with theirs, for whoever misses a tool.
    pub others: Vec<(Arc<str>, Vec<ToolPattern>)>,
}

/// Which values from outside plans may hand to which tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Releases {
    /// These, and no others.
    Listed(Vec<Release>),
    /// Any, to any tool.
    Anything,
}

impl Default for Releases {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

/// A value from outside that some tools may be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Where the value is.
    pub what: Outside,
    /// Its name.
    pub name: Arc<str>,
    /// The tools that may be given it. Each list has to name a tool; where there is none, no tool may.
    pub tools: Vec<AllowList>,
}

/// How large plans may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most steps of one plan, those of the plans that it runs included.
    pub max_steps: usize,
    /// How deep plans may run plans; 0 allows none.
    pub max_depth: usize,
    /// The longest expression, in bytes.
    pub max_expression_length: usize,
    /// The most rounds that a `repeat` may ask for.
    pub max_repeat: u32,
    /// The most attempts that a `retry` may ask for.
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
    /// Why a tool may not be called, and the way out; nothing where it may.
    pub fn objection(&self, tool: &Tool) -> Option<(String, String)> {
        self.objection_to(&tool.qualified_name(), tool)
    }

    /// As [`objection`](Self::objection), about a tool that is called `name`.
    pub(super) fn objection_to(&self, name: &str, tool: &Tool) -> Option<(String, String)> {
        let way_out = "do without the tool, or ask for another policy";
        if let Some(rule) = self.denied.iter().find(|rule| rule.pattern.covers(tool)) {
            let place = rule.set_in.as_ref();
            let place = place.map_or(String::new(), |place| format!(" in `{place}`"));
            return Some((
                format!("the policy denies the tool `{name}`"),
                format!("the rule is `{}`{place}: {way_out}", rule.pattern),
            ));
        }
        let Some(list) = self.allowed.iter().find(|list| !list.covers(tool)) else {
            return self.stage.as_ref()?.objection(name, tool);
        };
        let place = list.set_in.as_ref();
        let place = place.map_or(String::new(), |place| format!(" in `{place}`"));
        Some((
            format!("the policy does not allow the tool `{name}`"),
            format!("it allows {}{place}: {way_out}", list.shown()),
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
            "no stage has it: do without the tool".to_owned()
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

    /// The first patterns of the list.
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
    /// What to do so that the tool may be given the value, where it may not.
    pub(super) fn objection(&self, what: Outside, name: &str, tool: &Tool) -> Option<String> {
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
        if !lists.is_empty() {
            return None;
        }
        Some(match what {
            Outside::Environment => format!(
                "if it may have it, write `{name} = [\"{full_name}\"]` below `[env]` in your own planwright.toml"
            ),
            Outside::Secrets => format!(
                "if it may have it, write `[secrets.{name}]` with `tools = [\"{full_name}\"]` and `env = \"VARIABLE\"` or \
                 `file = \"PATH\"` in your own planwright.toml"
            ),
        })
    }
}
