//! Slots: named storage that several steps may write and others read.

use std::fmt;
use std::sync::Arc;

use crate::Place;

/// The kind of a slot. Steps write every kind except inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SlotKind {
    /// Values given to the plan; read-only.
    Inputs,
    /// Variables: set by a caller, or by steps that name their results.
    Vars,
    /// Working state.
    State,
    /// Data stored apart from the state.
    Data,
}

impl SlotKind {
    /// Returns the name of the kind as references write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inputs => "inputs",
            Self::Vars => "vars",
            Self::State => "state",
            Self::Data => "data",
        }
    }
}

impl fmt::Display for SlotKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The path of a slot that a step writes: a kind and the keys below it. Missing parents are created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotPath {
    /// The kind of slot.
    pub kind: SlotKind,
    /// The keys below it.
    pub keys: Vec<Arc<str>>,
    /// The source place of the path.
    pub place: Place,
}

impl fmt::Display for SlotPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        for key in &self.keys {
            write!(f, ".{key}")?;
        }
        Ok(())
    }
}

/// The slots that a step writes its output to, in addition to making it available to references.
#[derive(Clone, Debug, PartialEq)]
pub struct Writes {
    /// The target slots.
    pub targets: Targets,
    /// The way in which the output combines with the current content.
    pub method: Method,
    /// The source place of the declaration.
    pub place: Place,
}

/// The slots that receive an output.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// Every slot receives the same value.
    All(Vec<SlotPath>),
    /// A single slot receives a value: the first one on success, unless the tool names another; the last one on failure, as
    /// `{"code", "message"}`, and the failure counts as handled. At least two slots.
    OneOf(Vec<SlotPath>),
}

impl Targets {
    /// Returns every slot that may be written.
    pub fn paths(&self) -> &[SlotPath] {
        match self {
            Self::All(paths) | Self::OneOf(paths) => paths,
        }
    }
}

/// The way in which an output combines with the current content of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Replaces the content.
    #[default]
    Set,
    /// Merges objects at every depth.
    Merge,
    /// Merges objects at the first level only.
    Assign,
    /// Appends the output to a list as one item.
    Push,
    /// Appends the output's items to a list.
    Concat,
}
