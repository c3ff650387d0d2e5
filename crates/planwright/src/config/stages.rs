//! The stages of work through a gateway, as a file has them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use planwright_core::ToolPattern;
use planwright_dialects::document::nearest;
use toml::Spanned;

use super::file::StageTable;
use super::source::ConfigSource;

/// A stage of work: its tools, and the stages that can follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The name of the stage.
    pub name: Arc<str>,
    /// The tools that there are in it.
    pub tools: Vec<ToolPattern>,
    /// The stages that one can move to from it.
    pub next: Vec<Arc<str>>,
    /// The names that must have values before a client can move to it.
    pub needs: Vec<Arc<str>>,
    /// The place that sets it, such as `planwright.toml:4`.
    pub set_in: Option<Arc<str>>,
}

/// The stages of a file, in its order.
pub(super) fn read(source: &ConfigSource) -> Vec<Stage> {
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
    in_order(source).into_iter().map(stage).collect()
}

/// The faults of a file's stages: place, fault, way out.
pub(super) fn faults(source: &ConfigSource) -> Vec<(Range<usize>, String, String)> {
    let stages = in_order(source);
    let names: Vec<&str> = stages
        .iter()
        .map(|(name, _)| name.get_ref().as_str())
        .collect();
    let mut faults = Vec::new();
    for (key, table) in &stages {
        let name = key.get_ref();
        if name.is_empty()
            || name.contains(|letter: char| letter.is_whitespace() || letter.is_control())
        {
            faults.push((
                key.span(),
                format!("`{}` is no name of a stage", name.escape_debug()),
                "write a name without spaces, since models have to give it back".to_owned(),
            ));
        }
        if table.tools.is_none() {
            faults.push((
                key.span(),
                format!("nothing says which tools the stage `{name}` has"),
                "write `tools = [\"server.tool\"]`, or `tools = []` where it has none".to_owned(),
            ));
        }
        for next in &table.next {
            let target = next.get_ref();
            if names.contains(&target.as_str()) {
                continue;
            }
            faults.push((
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
            faults.push((
                key.span(),
                format!("no way leads to the stage `{name}`"),
                format!("write `next = [\"{name}\"]` in a stage before it, or take it out"),
            ));
        }
    }
    faults
}

/// The stages in the order in which they are written.
fn in_order(source: &ConfigSource) -> Vec<(&Spanned<String>, &StageTable)> {
    let mut stages: Vec<_> = source.file.stages.iter().collect();
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
