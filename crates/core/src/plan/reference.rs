//! References to values, and slots.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/expressions.md#references-are-data-not-text-substitution).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{Method, SlotKind};
use crate::{Expression, Place, StepId, Value};

/// Maximum number of characters of a reference that a message shows.
const MAX_SHOWN: usize = 120;

/// A value taken from another step, slot or source.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The source text, for messages.
    pub text: Arc<str>,
    /// The source place.
    pub place: Place,
    /// The parsed meaning.
    pub form: Form,
}

/// The rule by which the parts of a reference become one value.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// The first alternative that exists. A later alternative is evaluated, and waited for, only
    /// after all earlier ones turned out to be missing. Most references have one alternative.
    First(Vec<Alternative>),
    /// All reads must exist; the value is that of the last one.
    All(Vec<Read>),
}

/// An alternative of a reference.
#[derive(Clone, Debug, PartialEq)]
pub enum Alternative {
    /// A read of a step, slot or loop variable.
    Read(Read),
    /// A constant value.
    Literal(Value),
    /// A computed value.
    Expression(Expression),
}

/// A read: a source, and a path from there to the wanted part.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The source of the value.
    pub source: Source,
    /// The path to the wanted part; empty for the whole value.
    pub path: Path,
    /// The effect of a path that leads nowhere.
    pub missing: Missing,
    /// The position of the named step.
    pub(crate) position: StepIndex,
}

/// The position in its plan of the step that a read names, known once the plan was checked. Comparisons ignore it, since it
/// follows from the step's id.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StepIndex(pub(crate) Option<u32>);

impl PartialEq for StepIndex {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The output of a step. The reader is skipped if the step produced none.
    Step(StepId),
    /// The outcome of a step: `{"success", "data", "error": {"kind", "code", "message", "data"}, "tool"}`. It exists
    /// once the step has finished, successfully or not. The code is that of the tool, or else the kind.
    Result(StepId),
    /// The inputs or slots of a kind; the path begins with the slot's name.
    Slot(SlotKind),
    /// The item of the nearest enclosing `for_each`.
    Item,
    /// The position of that item, or the number of the `repeat` round, from 0.
    Index,
    /// The output of the previous round of a `repeat`.
    Last,
    /// An external text value, by name. Only the arguments of a tool call may contain it.
    ExternalValue(ExternalValue, Arc<str>),
}

/// The kind of an external value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExternalValue {
    /// An environment variable.
    Environment,
    /// A secret that the configuration declares by name.
    Secrets,
}

impl ExternalValue {
    /// Returns the name as references write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Environment => "env",
            Self::Secrets => "secrets",
        }
    }
}

impl fmt::Display for ExternalValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The path from a value to a part of it.
pub type Path = Vec<Segment>;

/// A segment of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// A field of an object. On a list, an integer selects an item; negative ones count from the end.
    Key(Arc<str>),
    /// An item of a list; negative ones count from the end. An index never selects a field of an object.
    Index(i64),
    /// Every item of a list. Later ones on the same path flatten; as the last segment it returns the list itself.
    Each,
}

/// The effect of a path that leads nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Missing {
    /// The reader fails.
    #[default]
    Fail,
    /// The value is `null`, and the report contains a warning.
    Null,
    /// Like [`Missing::Fail`], but an item without the part gives `null` after [`Segment::Each`].
    NullInItems,
}

/// Returns the text of a reference for a message, truncated if it is long.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()).into(),
        None => text.into(),
    }
}

impl Reference {
    /// Creates a reference with one read.
    pub fn read(read: Read, text: impl Into<Arc<str>>, place: Place) -> Self {
        Self {
            text: text.into(),
            place,
            form: Form::First(vec![Alternative::Read(read)]),
        }
    }

    /// Returns the source text for a message, truncated if it is long.
    pub fn shown(&self) -> Cow<'_, str> {
        shortened(&self.text)
    }

    /// Returns the read if the reference is a single one without alternatives.
    pub fn as_read(&self) -> Option<&Read> {
        match &self.form {
            Form::First(alternatives) => match alternatives.as_slice() {
                [Alternative::Read(read)] => Some(read),
                _ => None,
            },
            Form::All(reads) => match reads.as_slice() {
                [read] => Some(read),
                _ => None,
            },
        }
    }

    /// Returns every read of the reference, including those inside expressions.
    pub fn reads(&self) -> Vec<&Read> {
        let mut reads = Vec::new();
        self.each_read(&mut |read| reads.push(read));
        reads
    }

    /// Calls `visit` with every read of the reference, including those inside expressions.
    pub(crate) fn each_read<'a>(&'a self, visit: &mut dyn FnMut(&'a Read)) {
        match &self.form {
            Form::All(reads) => reads.iter().for_each(visit),
            Form::First(alternatives) => {
                for alternative in alternatives {
                    alternative.each_read(visit);
                }
            }
        }
    }
}

impl Alternative {
    /// Returns every read of this alternative.
    pub fn reads(&self) -> Vec<&Read> {
        match self {
            Self::Read(read) => vec![read],
            Self::Literal(_) => Vec::new(),
            Self::Expression(expression) => expression.reads(),
        }
    }

    /// Calls `visit` with every read of this alternative.
    pub(crate) fn each_read<'a>(&'a self, visit: &mut dyn FnMut(&'a Read)) {
        match self {
            Self::Read(read) => visit(read),
            Self::Literal(_) => {}
            Self::Expression(expression) => expression.each_read(visit),
        }
    }
}

impl Read {
    /// Creates a read of all of `source`.
    pub fn whole(source: Source) -> Self {
        Self::part(source, Path::new())
    }

    /// Creates a read of the part of `source` at `path`.
    pub fn part(source: Source, path: Path) -> Self {
        Self {
            source,
            path,
            missing: Missing::Fail,
            position: StepIndex::default(),
        }
    }

    /// Returns the effect of a missing value in its canonical form: a whole value is never missing,
    /// and items can lack a part only if a field is read after [`Segment::Each`].
    pub(crate) fn meaning_of_missing(&self) -> Missing {
        // Equal meanings must have the same digest, however they are written.
        let mut from_items = self.path.iter().skip_while(|one| **one != Segment::Each);
        match self.missing {
            _ if self.path.is_empty() => Missing::Fail,
            Missing::NullInItems if from_items.all(|one| *one == Segment::Each) => Missing::Fail,
            missing @ (Missing::Fail | Missing::Null | Missing::NullInItems) => missing,
        }
    }

    /// Returns the position of the named step in its plan. `None` before the plan was
    /// [checked](crate::check()), and for reads inside expressions.
    pub fn step_position(&self) -> Option<u32> {
        self.position.0
    }

    /// Returns this read with another effect of a missing value.
    pub fn or_missing(mut self, missing: Missing) -> Self {
        self.missing = missing;
        self
    }
}

impl Segment {
    /// Creates a segment for the field `key`.
    pub fn key(key: impl Into<Arc<str>>) -> Self {
        Self::Key(key.into())
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => f.write_str(key),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Each => f.write_str("[*]"),
        }
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
    /// The method that combines the output with the current content.
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
