//! Tools that a model asks about by their names.

use std::fmt;
use std::sync::Arc;

use planwright_core::{Catalog, Lookup, Tool};
use planwright_dialects::document::nearest;

use super::details::details;

/// What a name leads to. As text it is what a model should be told.
#[derive(Clone, Debug)]
pub enum LookupResult {
    /// A tool.
    Tool(Arc<Tool>),
    /// The name does not lead to one tool.
    Several {
        /// Why not, as one clause.
        reason: String,
        /// Names that lead to one each.
        names: Vec<String>,
    },
    /// There is none.
    Unknown {
        /// The name, as it was asked for.
        name: String,
        /// The name that was probably nearest_name.
        nearest: Option<String>,
    },
}

/// What each of `names` leads to, in their order; a name that is asked for twice is told once.
pub fn look_up<'n>(catalog: &Catalog, names: impl IntoIterator<Item = &'n str>) -> Vec<LookupResult> {
    let mut seen: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
            found.push(find(catalog, name));
        }
    }
    found
}

impl LookupResult {
    /// The tool, where there is one.
    pub fn tool(&self) -> Option<&Arc<Tool>> {
        match self {
            Self::Tool(tool) => Some(tool),
            Self::Several { .. } | Self::Unknown { .. } => None,
        }
    }
}

impl fmt::Display for LookupResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(tool) => f.write_str(&details(tool)),
            Self::Several { reason, names } => {
                let names = names.join("`, `");
                writeln!(f, "{reason}: ask for `{names}`")
            }
            Self::Unknown {
                name,
                nearest: Some(near),
            } => {
                writeln!(f, "there is no tool `{name}`: did you mean `{near}`?")
            }
            Self::Unknown {
                name,
                nearest: None,
            } => {
                writeln!(f, "there is no tool `{name}`")
            }
        }
    }
}

fn find(catalog: &Catalog, name: &str) -> LookupResult {
    match catalog.find(name) {
        Lookup::Found(tool) => LookupResult::Tool(tool),
        Lookup::Ambiguous(tools) => LookupResult::Several {
            reason: catalog.ambiguity(name, &tools),
            names: tools
                .iter()
                .map(|tool| catalog.certain_name(tool))
                .collect(),
        },
        Lookup::Unknown => LookupResult::Unknown {
            name: name.to_owned(),
            nearest: nearest_name(catalog, name),
        },
    }
}

/// The tool that was probably nearest_name: one of that name of another server, else the one whose name differs least. None if the name
/// belongs to a server of which no tool is known.
fn nearest_name(catalog: &Catalog, name: &str) -> Option<String> {
    let owner = catalog.servers().owner(name);
    if owner.is_some_and(|owner| catalog.tools().all(|tool| tool.server != *owner)) {
        return None;
    }
    let known = || {
        let tools = catalog.tools();
        tools.filter(|tool| catalog.servers().leave_free(&tool.name, &tool.server))
    };
    let behind = |sign: &str| name.split_once(sign).map(|(_, bare)| bare);
    for bare in [behind("."), behind("__")].into_iter().flatten() {
        if let Some(tool) = known().find(|tool| *tool.name == *bare) {
            return Some(catalog.certain_name(tool));
        }
    }
    let whole: Vec<String> = known().map(|tool| catalog.certain_name(tool)).collect();
    if let Some(near) = nearest(name, whole.iter().map(String::as_str)) {
        return Some(near.to_owned());
    }
    let near = nearest(name, known().map(|tool| &*tool.name))?;
    let tool = known().find(|tool| *tool.name == *near)?;
    Some(catalog.certain_name(tool))
}
