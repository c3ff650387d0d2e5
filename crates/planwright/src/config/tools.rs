//! Rules about tools: which are allowed, which need approval, and which annotations they count as having.

#[cfg(test)]
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::check::{AllowList, Policy, ToolRule};
use planwright_core::{Annotations, ConfiguredUndo, Tool, ToolPattern, Value};
use serde::Deserialize;
use toml::Spanned;

use super::setting::{ConfigText, Origin, place_of};
use super::value_syntax::{Pattern, UndoCall, is_tool_pattern};
use crate::pins::PinPolicy;

/// The reason why a tool needs approval if it does not declare whether it is destructive.
const UNSTATED: &str =
    "its server states neither `readOnlyHint: true` nor `destructiveHint: false`";

/// Lists of patterns: `server.tool`, or `tool` of any server, in which `*` stands for any text.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "tools"))]
pub(super) struct ToolsTable {
    /// The tools that plans may call; without it, all of them.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) allow: Option<Spanned<Vec<Spanned<Pattern>>>>,
    /// The tools that plans may not call, even if they are allowed.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) deny: Vec<Spanned<Pattern>>,
    /// The tools that ask a person before each call.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) ask: Vec<Spanned<Pattern>>,
    /// The tools that need not ask although they declare themselves destructive; only in your own file.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) no_ask: Vec<Spanned<Pattern>>,
    /// The tools that change nothing, regardless of their annotations; only in your own file. Such a tool need not ask either.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) read_only: Vec<Spanned<Pattern>>,
    /// The tools that may safely be called twice with the same arguments, regardless of their annotations; only in your own
    /// file.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) idempotent: Vec<Spanned<Pattern>>,
    /// The policy for tools of MCP servers that changed since they were pinned: `ask` asks before each call until a person accepts the
    /// change, `warn` shows it, `off` pins nothing. Without it, `ask`, and `warn` for the servers of the user's own `mcp.json`. A project's
    /// file can only make it stricter.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) pin: Option<Spanned<PinWord>>,
    /// The policy for tools that state neither `readOnlyHint: true` nor `destructiveHint`: `ask` asks before each call, `run` calls them.
    /// Without it, they ask if a plan or `call_tool` of the gateway calls them, and run elsewhere. A project's file can only make it
    /// stricter.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) unannotated: Option<Spanned<Unannotated>>,
    /// The parameters of other people's servers that take references in a plan that shares marked parameters only, as those of the
    /// Concierge dialect: `TOOL:PARAMETER`, or `TOOL:*` for all of a tool; only in your own file.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) sharable: Vec<Spanned<SharablePattern>>,
    /// The calls that undo calls of tools, by patterns of these: `server.tool(id=${output.id})`, as in a plan in lines. References read the
    /// output and the arguments of the call to undo. The `undo` of a step takes precedence, and of two patterns the one further up, first
    /// in your own file.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, String>"))]
    pub(super) undo: IndexMap<String, Spanned<UndoCall>>,
    /// False to record no structure of answers: the names and types of the fields that tools without an output schema returned in stored runs,
    /// without values. A project's file can only switch it off.
    #[cfg_attr(test, schemars(with = "bool"))]
    pub(super) learn_outputs: Option<Spanned<bool>>,
}

/// The way in which decisions about calls are made.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "approvals"))]
pub(super) struct ApprovalsTable {
    /// True if decisions from the command line require the passphrase that `planwright passphrase` sets.
    #[cfg_attr(test, schemars(with = "bool"))]
    pub(super) passphrase: Option<Spanned<bool>>,
}

/// The rules of the configuration about tools.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolRules {
    pub(super) allow: Vec<AllowList>,
    pub(super) deny: Vec<ToolRule>,
    pub(super) ask: Vec<ToolRule>,
    pub(super) no_ask: Vec<ToolRule>,
    pub(super) read_only: Vec<ToolRule>,
    pub(super) idempotent: Vec<ToolRule>,
    /// The rule of the user's file about tools that changed.
    pub(super) pin: Option<PinRule>,
    /// The rule of a project's file, which applies if it is stricter.
    pub(super) project_pin: Option<PinRule>,
    /// The rule about tools that do not declare whether they are destructive: the user's, and a project's if it is stricter.
    pub(super) unannotated: Option<UnannotatedRule>,
    /// The parameters that take references; of the user's file only.
    pub(super) sharable: Vec<SharableRule>,
    /// The calls that undo calls of tools. Those of a project are proposals as well: the plan that makes them is checked and asks as any other.
    pub(super) undo: Vec<UndoRule>,
    /// The place of the setting that switches off the record of answers.
    pub(super) learns_nothing: Option<Arc<str>>,
}

/// The policy for calls of a tool that does not declare whether it is destructive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum Unannotated {
    /// Each call needs approval.
    Ask,
    /// Calls need no approval.
    Run,
}

impl Unannotated {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Run => "run",
        }
    }
}

impl TryFrom<String> for Unannotated {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        match word.as_str() {
            "ask" => Ok(Self::Ask),
            "run" => Ok(Self::Run),
            other => Err(format!("unknown value `{other}` (write `ask` or `run`)")),
        }
    }
}

/// A pattern `TOOL:PARAMETER`.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct SharablePattern {
    text: String,
    tool: ToolPattern,
    /// The name of the parameter; `*` for all.
    parameter: Arc<str>,
}

impl TryFrom<String> for SharablePattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.rsplit_once(':') {
            Some((tool, parameter))
                if !tool.trim().is_empty() && !parameter.is_empty() && text.trim() == text =>
            {
                Ok(Self {
                    tool: ToolPattern::new(tool),
                    parameter: parameter.into(),
                    text,
                })
            }
            _ => Err(format!(
                "`{text}` names no parameter (write `TOOL:PARAMETER`, such as `mail.send:text`)"
            )),
        }
    }
}

/// A rule that parameters take references.
#[derive(Clone, Debug)]
pub(super) struct SharableRule {
    pub(super) pattern: SharablePattern,
    pub(super) set_in: Arc<str>,
}

impl SharablePattern {
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    /// Marks the parameters of `tool` that the pattern covers.
    fn mark(&self, tool: &mut Tool) {
        if !self.tool.covers(tool) {
            return;
        }
        if &*self.parameter == "*" {
            let properties = tool.input.as_value().get("properties");
            let properties = properties.and_then(Value::as_object);
            let names = properties.into_iter().flat_map(|fields| fields.keys());
            let names: Vec<Arc<str>> = names.cloned().collect();
            tool.sharable.extend(names);
        } else {
            tool.sharable.insert(Arc::clone(&self.parameter));
        }
    }
}

/// A rule about the call that undoes those of some tools.
#[derive(Clone, Debug)]
pub(super) struct UndoRule {
    pub(super) tools: ToolPattern,
    pub(super) call: UndoCall,
    pub(super) set_in: Arc<str>,
}

impl UndoRule {
    /// Returns true if the rule may be about the tool that a plan names so. A name without a server may be that of any server.
    pub(super) fn may_cover(&self, name: &str) -> bool {
        let parts = |separator: &'static str| {
            name.match_indices(separator).filter_map(move |(at, _)| {
                Some((name.get(..at)?, name.get(at + separator.len()..)?))
            })
        };
        let mut qualified = parts(".").chain(parts("__"));
        if qualified.any(|(server, tool)| self.tools.covers_name(server, tool)) {
            return true;
        }
        let of_tool = self.tools.as_str().rsplit('.').next();
        of_tool.is_some_and(|pattern| ToolPattern::new(pattern).covers_name("", name))
    }
}

/// The rule of a file about tools that do not declare whether they are destructive.
#[derive(Clone, Debug)]
pub(super) struct UnannotatedRule {
    pub(super) word: Unannotated,
    pub(super) set_in: Arc<str>,
}

/// The rule of a file about tools that changed since they were pinned.
#[derive(Clone, Debug)]
pub(super) struct PinRule {
    pub(super) policy: PinPolicy,
    pub(super) set_in: Arc<str>,
}

/// A file's setting for changed tools.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct PinWord(pub(super) PinPolicy);

impl TryFrom<String> for PinWord {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        PinPolicy::try_from(word).map(Self)
    }
}

impl ToolRules {
    pub(super) fn add(&mut self, tools: &ToolsTable, source: &ConfigText) {
        let rules = |patterns: &[Spanned<Pattern>]| -> Vec<ToolRule> {
            let rule = |pattern: &Spanned<Pattern>| ToolRule {
                pattern: pattern.get_ref().0.clone(),
                set_in: Some(source.place(pattern)),
            };
            patterns.iter().map(rule).collect()
        };
        if let Some(list) = &tools.allow {
            let patterns = list.get_ref().iter();
            self.allow.push(AllowList {
                tools: patterns
                    .map(|pattern| pattern.get_ref().0.clone())
                    .collect(),
                set_in: Some(source.place(list)),
            });
        }
        self.deny.extend(rules(&tools.deny));
        self.ask.extend(rules(&tools.ask));
        self.no_ask.extend(rules(&tools.no_ask));
        self.read_only.extend(rules(&tools.read_only));
        self.idempotent.extend(rules(&tools.idempotent));
        if let Some(word) = &tools.unannotated
            && (source.origin == Origin::User || *word.get_ref() == Unannotated::Ask)
        {
            self.unannotated = Some(UnannotatedRule {
                word: *word.get_ref(),
                set_in: source.place(word),
            });
        }
        self.sharable
            .extend(tools.sharable.iter().map(|pattern| SharableRule {
                pattern: pattern.get_ref().clone(),
                set_in: source.place(pattern),
            }));
        // The reader sorts the names of a table.
        let mut undo: Vec<_> = tools.undo.iter().collect();
        undo.sort_by_key(|(_, call)| call.span().start);
        self.undo
            .extend(undo.into_iter().map(|(pattern, call)| UndoRule {
                tools: ToolPattern::new(pattern.as_str()),
                call: call.get_ref().clone(),
                set_in: source.place(call),
            }));
        if let Some(learns) = &tools.learn_outputs
            && !learns.get_ref()
        {
            self.learns_nothing = Some(source.place(learns));
        }
        if let Some(word) = &tools.pin {
            let rule = PinRule {
                policy: word.get_ref().0,
                set_in: source.place(word),
            };
            match source.origin {
                Origin::User => self.pin = Some(rule),
                Origin::Project => self.project_pin = Some(rule),
            }
        }
    }

    /// Returns the policy for changed tools, of servers of the user's own file or of another one.
    pub(super) fn pin(&self, is_own: bool) -> PinPolicy {
        let default = if is_own {
            PinPolicy::Warn
        } else {
            PinPolicy::Ask
        };
        let policy = self.pin.as_ref().map_or(default, |rule| rule.policy);
        let project = self.project_pin.as_ref().map(|rule| rule.policy);
        project.map_or(policy, |project| project.max(policy))
    }

    /// Adds these rules to `policy`.
    pub(super) fn restrict(&self, policy: Policy) -> Policy {
        let policy = self.deny.iter().cloned().fold(policy, Policy::deny);
        self.allow.iter().cloned().fold(policy, Policy::allow_only)
    }

    /// Returns true if a file requires approval of the calls of a tool.
    pub(super) fn ask_about(&self, tool: &Tool) -> bool {
        let is_waived = || covers(&self.no_ask, tool) || covers(&self.read_only, tool);
        covers(&self.ask, tool) || self.asks_unstated(tool, false) && !is_waived()
    }

    /// Returns true if a tool needs approval because it does not declare whether it is destructive. `default` applies if no file has a
    /// rule.
    fn asks_unstated(&self, tool: &Tool, default: bool) -> bool {
        let rule = self.unannotated.as_ref();
        let asks = rule.map_or(default, |rule| rule.word == Unannotated::Ask);
        asks && tool.hints.is_destructive_by_default()
    }

    /// Applies the configuration to the hints of a tool. `asks` is true if a tool that does not declare whether it is destructive needs
    /// approval, unless a file has a rule. `by_flow` is true if such tools, and destructive ones, need approval only for a call that
    /// violates the flow policy.
    pub(super) fn apply(&self, tool: &mut Tool, asks: bool, by_flow: bool) {
        let asks = asks && !by_flow;
        if by_flow && tool.hints.is_stated_destructive() {
            tool.approval = false;
            tool.approval_reason = None;
        }
        let rule = self.ask.iter().find(|rule| rule.pattern.covers(tool));
        let read_only = covers(&self.read_only, tool);
        if let Some(rule) = rule {
            tool.approval = true;
            let place = place_of(rule.set_in.as_ref());
            tool.approval_reason = Some(Arc::from(format!("`ask` in {place} names it")));
        } else if read_only || covers(&self.no_ask, tool) {
            tool.approval = false;
            tool.approval_reason = None;
        } else if !tool.approval && self.asks_unstated(tool, asks) {
            tool.approval = true;
            tool.approval_reason = Some(Arc::from(UNSTATED));
        }
        for rule in &self.sharable {
            rule.pattern.mark(tool);
        }
        let undo = self.undo.iter().find(|rule| rule.tools.covers(tool));
        tool.undo = undo.map(|rule| {
            Arc::new(ConfiguredUndo {
                undo: Arc::clone(&rule.call.undo),
                set_in: place_of(Some(&rule.set_in)),
            })
        });
        let idempotent = covers(&self.idempotent, tool);
        if read_only || idempotent {
            tool.annotations = vouched(tool.annotations, read_only, idempotent);
        }
    }
}

fn covers(rules: &[ToolRule], tool: &Tool) -> bool {
    rules.iter().any(|rule| rule.pattern.covers(tool))
}

/// Returns the annotations of a tool that the configuration declares read-only or idempotent. The trust in other annotations is unchanged.
fn vouched(stated: Annotations, read_only: bool, idempotent: bool) -> Annotations {
    Annotations {
        read_only: read_only || stated.trusted && stated.read_only,
        idempotent: idempotent || stated.trusted && stated.idempotent,
        destructive: stated.destructive && !read_only,
        trusted: true,
        ..stated
    }
}

/// Returns the names below `undo` that no tool has, and the settings of a project's file that only the user's own file may have, each with
/// its place, the issue and a hint. The latter would relax restrictions: calls without approval, repeated calls, and calls before the plan is complete.
pub(super) fn issues(
    tools: &ToolsTable,
    approvals: &ApprovalsTable,
    source: &ConfigText,
) -> Vec<(Range<usize>, String, String)> {
    let patterns = tools.undo.iter();
    let misnamed = patterns.filter(|(pattern, _)| !is_tool_pattern(pattern));
    let misnamed = misnamed.map(|(pattern, call)| {
        (
            call.span(),
            format!("`{pattern}` cannot be a tool"),
            "write it as `server.tool`, `server.*`, `*.create_*` or `tool`".to_owned(),
        )
    });
    if source.origin == Origin::User {
        return misnamed.collect();
    }
    let user_only = [
        (
            &tools.no_ask,
            "a project cannot waive the approval of a tool",
            "the user decides this: put `no_ask` into your own planwright.toml",
        ),
        (
            &tools.read_only,
            "a project cannot declare a tool read-only",
            "the user decides this: put `read_only` into your own planwright.toml",
        ),
        (
            &tools.idempotent,
            "a project cannot declare a tool idempotent",
            "the user decides this: put `idempotent` into your own planwright.toml",
        ),
    ];
    let said = user_only
        .into_iter()
        .filter_map(|(patterns, message, help)| {
            let span = patterns.first()?.span();
            Some((span, message.to_owned(), help.to_owned()))
        });
    let sharable = tools.sharable.first().map(|pattern| {
        (
            pattern.span(),
            "a project cannot make parameters sharable".to_owned(),
            "the user decides this: put `sharable` into your own planwright.toml".to_owned(),
        )
    });
    let said = said.chain(sharable);
    let passphrase = approvals.passphrase.iter().map(|wanted| {
        (
            wanted.span(),
            "a project cannot lift the passphrase for decisions".to_owned(),
            "put `passphrase` into your own planwright.toml".to_owned(),
        )
    });
    let off = tools
        .pin
        .as_ref()
        .filter(|word| word.get_ref().0 == PinPolicy::Off);
    let off = off.map(|word| {
        (
            word.span(),
            "a project cannot disable the pinning of tools".to_owned(),
            "a project can only make it stricter: put `pin` into your own planwright.toml"
                .to_owned(),
        )
    });
    let run = tools
        .unannotated
        .as_ref()
        .filter(|word| *word.get_ref() == Unannotated::Run);
    let run = run.map(|word| {
        (
            word.span(),
            "a project cannot waive the approval of tools without annotations".to_owned(),
            "a project can only make it stricter: put `unannotated` into your own planwright.toml"
                .to_owned(),
        )
    });
    let said = said.chain(passphrase).chain(off).chain(run);
    misnamed.chain(said).collect()
}
