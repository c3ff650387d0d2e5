//! Slots: named places that several steps may write and others read.

use std::fmt;
use std::sync::Arc;

use crate::Place;

/// The kinds of named places. Steps write all but the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SlotKind {
    /// What the plan was given. Nobody writes it.
    Inputs,
    /// Variables: what a caller sets and what steps name their results.
    Vars,
    /// Working state.
    State,
    /// Data that is kept apart from the state.
    Data,
}

impl SlotKind {
    /// The kind's name, as references write it.
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

/// The slot that a step writes: a kind and the keys below it. Parents are created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotPath {
    /// The kind.
    pub kind: SlotKind,
    /// The keys below it.
    pub keys: Vec<Arc<str>>,
    /// Where it was written.
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

/// What a step does with its output beside handing it to those who refer to the step.
#[derive(Clone, Debug, PartialEq)]
pub struct Writes {
    /// The slots.
    pub targets: Targets,
    /// How the output meets what is in the slot.
    pub method: Method,
    /// Where it was written.
    pub place: Place,
}

/// Which slots an output goes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// The same value to each.
    All(Vec<SlotPath>),
    /// To one of them: success to the first, unless the tool names another; failure to the last, as
    /// `{"code", "message"}`, and is then handled. At least two.
    OneOf(Vec<SlotPath>),
}

impl Targets {
    /// Every slot that may be written.
    pub fn paths(&self) -> &[SlotPath] {
        match self {
            Self::All(paths) | Self::OneOf(paths) => paths,
        }
    }
}

/// How an output meets what is in the slot already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Replaces it.
    #[default]
    Set,
    /// Merges objects, at every depth.
    Merge,
    /// Merges objects, at the first level only.
    Assign,
    /// Appends the output to a list, as one item.
    Push,
    /// Appends the output's items to a list.
    Concat,
}
