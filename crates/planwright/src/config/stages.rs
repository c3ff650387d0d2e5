//! `[stages]`: the stages of work through a gateway.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use planwright_core::ToolPattern;
use planwright_dialects::document::nearest;
use serde::Deserialize;
use toml::Spanned;

use super::setting::ConfigText;
use super::value_syntax::Pattern;

/// A stage: its tools, and the stages that can follow. Calls and plans that need a tool of another stage are refused.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "stage"))]
pub(super) struct StageTable {
    /// The tools of the stage.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) tools: Option<Spanned<Vec<Spanned<Pattern>>>>,
    /// The stages that can follow it; without it, none.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) next: Vec<Spanned<String>>,
    /// The names that must have values before a client can move to it.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) needs: Vec<Spanned<String>>,
}

/// The stages by their names.
pub(super) type StageTables = BTreeMap<Spanned<String>, StageTable>;

/// A stage of work: its tools, and the stages that can follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The name of the stage.
    pub name: Arc<str>,
    /// The tools of the stage.
    pub tools: Vec<ToolPattern>,
    /// The stages that can follow it.
    pub next: Vec<Arc<str>>,
    /// The names that must have values before a client can move to it.
    pub needs: Vec<Arc<str>>,
    /// The place that sets it, such as `planwright.toml:4`.
    pub set_in: Option<Arc<str>>,
}

/// The stages of a file, in its order.
pub(super) fn read(tables: &StageTables, source: &ConfigText) -> Vec<Stage> {
    let names = |list: &[Spanned<String>]| -> Vec<Arc<str>> {
        let names = list.iter().map(|name| name.get_ref().as_str());
        names.map(Arc::from).collect()
    };
    let stage = |(name, table): (&Spanned<String>, &StageTable)| Stage {
        name: name.get_ref().as_str().into(),
        tools: table
            .tools
            .iter()
            .flat_map(Spanned::get_ref)
            .map(|pattern| pattern.get_ref().0.clone())
            .collect(),
        next: names(&table.next),
        needs: names(&table.needs),
        set_in: Some(source.place(name)),
    };
    in_order(tables).into_iter().map(stage).collect()
}

/// Returns the issues of a file's stages, each with its place and a hint.
pub(super) fn issues(tables: &StageTables) -> Vec<(Range<usize>, String, String)> {
    let stages = in_order(tables);
    let names: Vec<&str> = stages
        .iter()
        .map(|(name, _)| name.get_ref().as_str())
        .collect();
    let mut issues = Vec::new();
    for (key, table) in &stages {
        let name = key.get_ref();
        if name.is_empty()
            || name.contains(|letter: char| letter.is_whitespace() || letter.is_control())
        {
            issues.push((
                key.span(),
                format!("`{}` cannot be the name of a stage", name.escape_debug()),
                "write a name without spaces, since models must repeat it".to_owned(),
            ));
        }
        if table.tools.is_none() {
            issues.push((
                key.span(),
                format!("the stage `{name}` has no `tools`"),
                "write `tools = [\"server.tool\"]`, or `tools = []` for none".to_owned(),
            ));
        }
        for next in &table.next {
            let target = next.get_ref();
            if names.contains(&target.as_str()) {
                continue;
            }
            issues.push((
                next.span(),
                format!("there is no stage `{target}`"),
                match nearest(target, names.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are: `{}`", names.join("`, `")),
                },
            ));
        }
    }
    let reached = reached(&stages);
    for (key, _) in &stages {
        let name = key.get_ref();
        if !reached.contains(name.as_str()) {
            issues.push((
                key.span(),
                format!("the stage `{name}` is unreachable"),
                format!("write `next = [\"{name}\"]` in a stage before it, or remove it"),
            ));
        }
    }
    issues
}

/// The stages in the order in which they are written.
fn in_order(tables: &StageTables) -> Vec<(&Spanned<String>, &StageTable)> {
    let mut stages: Vec<_> = tables.iter().collect();
    stages.sort_by_key(|(name, _)| name.span().start);
    stages
}

/// Returns the names of the stages that are reachable from the first.
fn reached<'a>(stages: &[(&'a Spanned<String>, &'a StageTable)]) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = stages
        .first()
        .map(|(name, _)| name.get_ref().as_str())
        .into_iter()
        .collect();
    while let Some(name) = open.pop() {
        if reached.insert(name) {
            let here = stages.iter().filter(|(key, _)| key.get_ref() == name);
            open.extend(
                here.flat_map(|(_, table)| &table.next)
                    .map(|next| next.get_ref().as_str()),
            );
        }
    }
    reached
}
