//! Looks up tools by the names that a model gives.

use std::fmt;
use std::sync::Arc;

use planwright_core::{Catalog, Lookup, Tool};
use planwright_dialects::document::nearest;

use super::details::details;

/// The result of looking up a name. Its text form is addressed to a model.
#[derive(Clone, Debug)]
pub enum LookupResult {
    /// A tool.
    Tool(Arc<Tool>),
    /// An ambiguous name.
    Several {
        /// The reason, as one clause.
        reason: String,
        /// Names that are unambiguous.
        names: Vec<String>,
    },
    /// An unknown name.
    Unknown {
        /// The name as given.
        name: String,
        /// The most similar name.
        nearest: Option<String>,
    },
}

/// Looks up each name in order; a duplicate name has one result.
pub fn look_up_tools<'n>(
    catalog: &Catalog,
    names: impl IntoIterator<Item = &'n str>,
) -> Vec<LookupResult> {
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
    /// Returns the tool if there is one.
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
                .map(|tool| catalog.unambiguous_name(tool))
                .collect(),
        },
        Lookup::Unknown => LookupResult::Unknown {
            name: name.to_owned(),
            nearest: nearest_name(catalog, name),
        },
    }
}

/// Returns the tool that was probably meant: one of the same bare name on another server, else the one with the most similar
/// name. `None` if the name belongs to a server without known tools.
fn nearest_name(catalog: &Catalog, name: &str) -> Option<String> {
    let owner = catalog.servers().owner(name);
    if owner.is_some_and(|owner| catalog.tools().all(|tool| tool.server != *owner)) {
        return None;
    }
    let known = || {
        let tools = catalog.tools();
        tools.filter(|tool| catalog.servers().allows_bare_name(&tool.name, &tool.server))
    };
    let after = |sign: &str| name.split_once(sign).map(|(_, bare)| bare);
    for bare in [after("."), after("__")].into_iter().flatten() {
        if let Some(tool) = known().find(|tool| *tool.name == *bare) {
            return Some(catalog.unambiguous_name(tool));
        }
    }
    let whole: Vec<String> = known().map(|tool| catalog.unambiguous_name(tool)).collect();
    if let Some(near) = nearest(name, whole.iter().map(String::as_str)) {
        return Some(near.to_owned());
    }
    let near = nearest(name, known().map(|tool| &*tool.name))?;
    let tool = known().find(|tool| *tool.name == *near)?;
    Some(catalog.unambiguous_name(tool))
}
