//! The differences between two definitions of a tool, and their effect on consent.

use planwright_core::{Hints, Tool};

use super::Definition;

/// The differences between two definitions of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// True if the title does.
    pub title: bool,
    /// True if the description does.
    pub description: bool,
    /// True if the input schema does.
    pub input_schema: bool,
    /// True if the output schema does.
    pub output_schema: bool,
    /// The annotations that do.
    pub hints: Vec<HintChange>,
}

/// An annotation that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HintChange {
    /// Its name in MCP.
    pub name: &'static str,
    /// The server's statement before.
    pub before: Option<bool>,
    /// The server's statement now.
    pub now: Option<bool>,
    /// True if fewer calls would be asked about, or more of them repeated, if it were believed.
    pub loosens: bool,
}

impl Changes {
    /// The changes from one definition to another.
    pub fn between(before: &Definition, now: &Definition) -> Self {
        Self {
            title: before.title != now.title,
            description: before.description != now.description,
            input_schema: before.input_schema != now.input_schema,
            output_schema: before.output_schema != now.output_schema,
            hints: hints(before.annotations.into(), now.annotations.into()),
        }
    }

    /// The changes from one state of a tool to another.
    pub fn of_tool(before: &Tool, now: &Tool) -> Self {
        Self {
            title: before.title != now.title,
            description: before.description != now.description,
            input_schema: before.input.as_value() != now.input.as_value(),
            output_schema: before.output.as_value() != now.output.as_value(),
            hints: hints(before.hints, now.hints),
        }
    }

    /// Returns whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether calls of the tool ask until a person accepts the changes: its description for models, its input or its stated
    /// effects differ from the pinned ones. A title and an output schema are shown, no more.
    pub fn asks(&self) -> bool {
        self.description || self.input_schema || self.hints.iter().any(|hint| hint.loosens)
    }

    /// Returns the names of the changes: `description`, `input schema`, `destructiveHint`.
    pub fn names(&self) -> Vec<&'static str> {
        let parts = [
            (self.description, "description"),
            (self.input_schema, "input schema"),
            (self.output_schema, "output schema"),
            (self.title, "title"),
        ];
        let parts = parts
            .into_iter()
            .filter_map(|(changed, name)| changed.then_some(name));
        parts
            .chain(self.hints.iter().map(|hint| hint.name))
            .collect()
    }
}

fn hints(before: Hints, now: Hints) -> Vec<HintChange> {
    // What is left out counts as `true` for `destructiveHint`, but a stated one asks by itself, so to leave it out loosens.
    let strictness = |hint: Option<bool>| match hint {
        Some(true) => 2,
        None => 1,
        Some(false) => 0,
    };
    let gained = |before: Option<bool>, now: Option<bool>| now == Some(true) && before != now;
    let all = [
        (
            "readOnlyHint",
            before.read_only,
            now.read_only,
            gained(before.read_only, now.read_only),
        ),
        (
            "destructiveHint",
            before.destructive,
            now.destructive,
            strictness(now.destructive) < strictness(before.destructive),
        ),
        (
            "idempotentHint",
            before.idempotent,
            now.idempotent,
            gained(before.idempotent, now.idempotent),
        ),
        ("openWorldHint", before.open_world, now.open_world, false),
    ];
    let changed = all
        .into_iter()
        .filter(|(_, before, now, _)| before != now)
        .map(|(name, before, now, loosens)| HintChange {
            name,
            before,
            now,
            loosens,
        });
    changed.collect()
}
