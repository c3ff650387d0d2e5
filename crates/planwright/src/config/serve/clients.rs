//! `[clients]`: rules for some clients of the gateway. They only narrow what the rest of the configuration allows.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

use planwright_core::check::{AllowList, Policy, ToolRule};
use planwright_core::{Tool, Value};
use planwright_engine::{Bound, Guards};
use serde::Deserialize;
use toml::Spanned;

use crate::config::budgets::{self, BudgetsTable, RateTable, RunawayTable};
use crate::config::setting::{ConfigText, List, Origin, lower};
use crate::config::value_syntax::Pattern;

/// Rules for the clients of `serve --listen` that `who` selects. They only narrow: all tables that select a client apply to it, beside the
/// rest of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "client"))]
pub(in crate::config) struct ClientTable {
    /// The clients: `token:NAME` of `planwright token`, `subject:NAME` and `group:NAME` of access tokens, `*` for all, `others` for those that no
    /// other table of the file selects by name or group.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    who: Vec<Spanned<ClientSelector>>,
    /// The tools that these clients can see and call; without it, all that the rest of the file allows.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    allow: Option<Spanned<Vec<Spanned<Pattern>>>>,
    /// The tools that these clients cannot see or call.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    deny: Vec<Spanned<Pattern>>,
    /// The tools whose calls a person must approve.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    ask: Vec<Spanned<Pattern>>,
    /// The largest number of plans of such a client in progress.
    #[cfg_attr(test, schemars(with = "NonZeroU32"))]
    max_plans: Option<Spanned<NonZeroU32>>,
    /// The clients whose runs these clients can see, resume and cancel beside their own: `token:NAME`, `subject:NAME` or `*`; only in your own file.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    runs_of: Vec<Spanned<ClientSelector>>,
    /// The budgets of one run of such a client.
    budgets: BudgetsTable,
    /// The rate limits of servers in one run, by their names.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, String>"))]
    rates: RateTable,
    /// The limits on repetition without progress.
    runaway: RunawayTable,
}

/// The tables by their names.
pub(in crate::config) type ClientTables = BTreeMap<Spanned<String>, ClientTable>;

/// A selection of clients.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum ClientSelector {
    /// All clients.
    All,
    /// The clients that no other table of the file selects by name or group.
    Others,
    /// The client with this name.
    Name(ClientName),
    /// The clients of a group.
    Group(Arc<str>),
}

/// The name of an authenticated client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientName {
    /// The name of a token of `planwright token`.
    Token(Arc<str>),
    /// The subject of an access token.
    Subject(Arc<str>),
}

/// An authenticated client, as rules select it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthenticatedClient {
    /// The name.
    pub name: ClientName,
    /// The groups that its access token states.
    pub groups: Arc<[Arc<str>]>,
}

impl TryFrom<String> for ClientSelector {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        // No client has another name, so a table for it would narrow nothing.
        let is_name = |name: &str| !name.is_empty() && name.trim() == name;
        let parts = text.split_once(':');
        let known = match parts.filter(|(_, name)| is_name(name)) {
            Some(("token", name)) => Some(Self::Name(ClientName::Token(name.into()))),
            Some(("subject", name)) => Some(Self::Name(ClientName::Subject(name.into()))),
            Some(("group", name)) => Some(Self::Group(name.into())),
            None if text == "*" => Some(Self::All),
            None if text == "others" => Some(Self::Others),
            Some(_) | None => None,
        };
        known.ok_or_else(|| {
            format!("`{text}` selects no clients (write `token:NAME`, `subject:NAME`, `group:NAME`, `*` or `others`)")
        })
    }
}

impl std::fmt::Display for ClientSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Others => f.write_str("others"),
            Self::Name(name) => name.fmt(f),
            Self::Group(name) => write!(f, "group:{name}"),
        }
    }
}

impl std::fmt::Display for ClientName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Token(name) => write!(f, "token:{name}"),
            Self::Subject(name) => write!(f, "subject:{name}"),
        }
    }
}

/// The rules of one table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientRules {
    /// The name of the table.
    pub name: Arc<str>,
    /// The place of the table, such as `planwright.toml:4`.
    pub set_in: Arc<str>,
    /// The clients that it selects.
    pub who: Vec<ClientSelector>,
    /// The tools that they can see and call.
    pub allow: Option<AllowList>,
    /// The tools that they cannot see or call.
    pub deny: Vec<ToolRule>,
    /// The tools whose calls a person must approve.
    pub ask: Vec<ToolRule>,
    /// The bounds of their runs.
    pub guards: Guards,
    /// The largest number of plans of such a client in progress.
    pub max_plans: Option<Bound<NonZeroU32>>,
    /// The clients whose runs they can see, resume and cancel.
    pub runs_of: Vec<ClientSelector>,
    origin: Origin,
}

impl ClientRules {
    /// Returns true if the table selects a client by its name or by a group.
    fn names(&self, client: &AuthenticatedClient) -> bool {
        self.who.iter().any(|selector| match selector {
            ClientSelector::Name(name) => *name == client.name,
            ClientSelector::Group(group) => client.groups.contains(group),
            ClientSelector::All | ClientSelector::Others => false,
        })
    }
}

/// The rules for one client: those of all tables that select it, each with its index. Without a table, it narrows nothing.
#[derive(Clone, Debug, Default)]
pub struct ClientPolicy {
    tables: Vec<(usize, Arc<ClientRules>)>,
}

impl ClientPolicy {
    /// Returns the rules of `client`.
    pub(in crate::config) fn of(all: &[Arc<ClientRules>], client: &AuthenticatedClient) -> Self {
        let is_named = |origin: Origin| {
            let mut tables = all.iter().filter(|table| table.origin == origin);
            tables.any(|table| table.names(client))
        };
        let applies = |table: &ClientRules| {
            table.names(client)
                || table.who.contains(&ClientSelector::All)
                // A table of a project must not switch off one of the user.
                || table.who.contains(&ClientSelector::Others) && !is_named(table.origin)
        };
        let tables = all.iter().enumerate();
        let tables = tables.filter(|(_, table)| applies(table));
        Self {
            tables: tables
                .map(|(index, table)| (index, Arc::clone(table)))
                .collect(),
        }
    }

    /// Returns true if no table applies.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Returns the tables that apply, in the order of the files.
    pub fn tables(&self) -> impl Iterator<Item = &ClientRules> {
        self.tables.iter().map(|(_, table)| &**table)
    }

    /// Returns the indices of the tables that apply: two clients with the same ones have the same rules.
    pub fn key(&self) -> Vec<usize> {
        self.tables.iter().map(|(index, _)| *index).collect()
    }

    /// Returns `policy` with the rules about tools added.
    pub fn restrict(&self, policy: Policy) -> Policy {
        self.tables().fold(policy, |policy, table| {
            let policy = table.deny.iter().cloned().fold(policy, Policy::deny);
            table.allow.iter().cloned().fold(policy, Policy::allow_only)
        })
    }

    /// Returns the rule that hides a tool: its text with its place. `None` if the client can see the tool.
    pub fn hiding_rule(&self, tool: &Tool) -> Option<String> {
        self.tables().find_map(|table| {
            let denies = table.deny.iter().find(|rule| rule.pattern.covers(tool));
            if let Some(rule) = denies {
                let place = rule.set_in.as_ref().unwrap_or(&table.set_in);
                return Some(format!("`deny` of `clients.{}` in {place}", table.name));
            }
            let list = table.allow.as_ref()?;
            let is_listed = list.tools.iter().any(|pattern| pattern.covers(tool));
            let place = list.set_in.as_ref().unwrap_or(&table.set_in);
            (!is_listed).then(|| format!("`allow` of `clients.{}` in {place}", table.name))
        })
    }

    /// Returns the reason why calls of a tool need an approval, if a rule for the client says so.
    pub fn approval_reason(&self, tool: &Tool) -> Option<Arc<str>> {
        self.tables().find_map(|table| {
            let rule = table.ask.iter().find(|rule| rule.pattern.covers(tool))?;
            let place = rule.set_in.as_ref().unwrap_or(&table.set_in);
            Some(format!("`ask` of `clients.{}` in {place} names it", table.name).into())
        })
    }

    /// Lowers the bounds of a run to those of the client.
    pub fn narrow(&self, guards: &mut Guards) {
        for table in self.tables() {
            budgets::narrow(guards, &table.guards);
        }
    }

    /// Returns the largest number of plans of the client in progress, at most `limit`.
    pub fn max_plans(&self, limit: usize) -> usize {
        let own = self.tables().filter_map(|table| table.max_plans.as_ref());
        let own = own.map(|bound| usize::try_from(bound.limit.get()).unwrap_or(usize::MAX));
        own.fold(limit, usize::min)
    }

    /// Returns true if the client can see the runs of the client `owner`, beside its own.
    pub fn sees_runs_of(&self, owner: &ClientName) -> bool {
        self.tables().any(|table| {
            table.runs_of.iter().any(|selector| match selector {
                ClientSelector::All => true,
                ClientSelector::Name(name) => name == owner,
                ClientSelector::Others | ClientSelector::Group(_) => false,
            })
        })
    }
}

/// Adds the tables of a file, in its order.
pub(in crate::config) fn add(
    known: &mut Vec<Arc<ClientRules>>,
    tables: &ClientTables,
    source: &ConfigText,
) {
    for (name, table) in in_order(tables) {
        let rules = |patterns: &[Spanned<Pattern>]| -> Vec<ToolRule> {
            let rule = |pattern: &Spanned<Pattern>| ToolRule {
                pattern: pattern.get_ref().0.clone(),
                set_in: Some(source.place(pattern)),
            };
            patterns.iter().map(rule).collect()
        };
        let selectors = |list: &[Spanned<ClientSelector>]| -> Vec<ClientSelector> {
            list.iter()
                .map(|selector| selector.get_ref().clone())
                .collect()
        };
        let mut guards = Guards::default();
        let of_runs = (&table.budgets, &table.rates, &table.runaway);
        budgets::add(&mut guards, of_runs, source);
        let mut max_plans = None;
        lower(
            &mut max_plans,
            table
                .max_plans
                .as_ref()
                .map(|count| source.bound(count, *count.get_ref())),
        );
        known.push(Arc::new(ClientRules {
            name: name.get_ref().as_str().into(),
            set_in: source.place(name),
            who: selectors(&table.who),
            allow: table.allow.as_ref().map(|list| AllowList {
                tools: list
                    .get_ref()
                    .iter()
                    .map(|pattern| pattern.get_ref().0.clone())
                    .collect(),
                set_in: Some(source.place(list)),
            }),
            deny: rules(&table.deny),
            ask: rules(&table.ask),
            guards,
            max_plans,
            // A project must not open the runs of one client to another.
            runs_of: match source.origin {
                Origin::User => selectors(&table.runs_of),
                Origin::Project => Vec::new(),
            },
            origin: source.origin,
        }));
    }
}

/// Returns the issues of the tables of a file, each with its place and a hint.
pub(in crate::config) fn issues(
    tables: &ClientTables,
    source: &ConfigText,
) -> Vec<(Range<usize>, String, String)> {
    let mut issues = Vec::new();
    for (name, table) in in_order(tables) {
        if table.who.is_empty() {
            issues.push((
                name.span(),
                format!(
                    "`[clients.{}]` selects no clients",
                    name.get_ref().escape_debug()
                ),
                "write `who = [\"group:NAME\"]`, `token:NAME`, `subject:NAME`, `*` or `others`"
                    .to_owned(),
            ));
        }
        for selector in &table.runs_of {
            if source.origin == Origin::Project {
                issues.push((
                    selector.span(),
                    "a project cannot show the runs of a client to others".to_owned(),
                    "the user decides this: put `runs_of` into your own planwright.toml".to_owned(),
                ));
            } else if matches!(
                selector.get_ref(),
                ClientSelector::Others | ClientSelector::Group(_)
            ) {
                issues.push((
                    selector.span(),
                    format!("`{}` names no owner of runs", selector.get_ref()),
                    "a stored run has the name of its client, not its groups: write `token:NAME`, `subject:NAME` or `*`".to_owned(),
                ));
            }
        }
        for pattern in table.budgets.tools.keys() {
            if let Err(issue) = Pattern::try_from(pattern.get_ref().clone()) {
                let (message, help) = issue.split_once(" (").unwrap_or((&issue, ""));
                issues.push((
                    pattern.span(),
                    message.to_owned(),
                    help.trim_end_matches(')').to_owned(),
                ));
            }
        }
    }
    issues
}

/// Lists the effective rules.
pub(in crate::config) fn list(tables: &[Arc<ClientRules>], list: &mut List) {
    for table in tables {
        let key = |word: &str| format!("clients.{}.{word}", table.name);
        for selector in &table.who {
            list.push(
                &key("who"),
                Value::from(selector.to_string()),
                Some(&table.set_in),
            );
        }
        if let Some(allowed) = &table.allow {
            if allowed.tools.is_empty() {
                list.push(&key("allow"), Value::list([]), allowed.set_in.as_ref());
            }
            for pattern in &allowed.tools {
                list.push(
                    &key("allow"),
                    Value::from(pattern.as_str()),
                    allowed.set_in.as_ref(),
                );
            }
        }
        for (word, rules) in [("deny", &table.deny), ("ask", &table.ask)] {
            for rule in rules {
                list.push(
                    &key(word),
                    Value::from(rule.pattern.as_str()),
                    rule.set_in.as_ref(),
                );
            }
        }
        list.add(&key("max_plans"), table.max_plans.as_ref(), |count| {
            Value::from(count.get())
        });
        for selector in &table.runs_of {
            list.push(
                &key("runs_of"),
                Value::from(selector.to_string()),
                Some(&table.set_in),
            );
        }
        for setting in budgets::settings(&table.guards) {
            list.push(&key(&setting.key), setting.value, Some(&setting.set_in));
        }
    }
}

/// The tables in the order in which they are written.
fn in_order(tables: &ClientTables) -> Vec<(&Spanned<String>, &ClientTable)> {
    let mut tables: Vec<_> = tables.iter().collect();
    tables.sort_by_key(|(name, _)| name.span().start);
    tables
}
