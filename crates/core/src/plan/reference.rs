//! References: typed data that says where a value comes from, never a text that is replaced.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{SlotKind, StepId};
use crate::{Expression, Place, Value};

/// How much of a long reference a message shows, in characters.
const MAX_SHOWN: usize = 120;

/// A value taken from elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// How it was written, for messages.
    pub text: Arc<str>,
    /// Where it was written.
    pub place: Place,
    /// What it means.
    pub form: Form,
}

/// How the parts of a reference make one value.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// The first alternative that exists. A later one is looked at, and waited for, only when
    /// those before it turned out to be missing. One alternative is the plain case.
    First(Vec<Alternative>),
    /// All of them must exist; the value is the last.
    All(Vec<Read>),
}

/// One way to get a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Alternative {
    /// Read it.
    Read(Read),
    /// It is known already.
    Literal(Value),
    /// Compute it.
    Expression(Expression),
}

/// A place to read from, and the way from there to the value.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// Where the value starts.
    pub source: Source,
    /// The way to the part that is wanted; empty for the whole.
    pub path: Path,
    /// What it means when the way leads nowhere.
    pub missing: Missing,
    /// Where the step that it names stands.
    pub(crate) position: Position,
}

/// Where the step that a read names stands in its plan, once that plan was checked. It says nothing that the step's id
/// does not say, so reads are equal whether it is known or not.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Position(pub(crate) Option<u32>);

impl PartialEq for Position {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Where a value starts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The output of a step. The reader is skipped when the step gave none.
    Step(StepId),
    /// What became of a step: `{"success", "data", "error": {"kind", "code", "message", "data"}, "tool"}`. It exists
    /// as soon as the step has settled, whichever way. The code is the tool's own, or else the kind.
    Result(StepId),
    /// The inputs or the slots; the path begins with the slot's name.
    Slot(SlotKind),
    /// The item of the nearest enclosing `for_each`.
    Item,
    /// The position of that item, or the number of the round of a `repeat`, from 0.
    Index,
    /// The output of the round before, in a `repeat`.
    Last,
    /// Text from outside, by its name, which the arguments of a tool call may hold and nothing else.
    Outside(Outside, Arc<str>),
}

/// What there is outside of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outside {
    /// Variables of the environment.
    Environment,
    /// Secrets that the configuration knows by name.
    Secrets,
}

impl Outside {
    /// Its name, as references write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Environment => "env",
            Self::Secrets => "secrets",
        }
    }
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The way from a value to a part of it.
pub type Path = Vec<Segment>;

/// One move along a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// A field of an object. On a list, whole numbers count items, negative ones from the end.
    Key(Arc<str>),
    /// An item of a list, negative from the end. It never fits an object.
    Index(i64),
    /// Every item of a list. Further ones on the same path flatten; as the last move it gives the list itself.
    Each,
}

/// What a path that leads nowhere means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Missing {
    /// The reader fails.
    #[default]
    Fail,
    /// The value is `null`, and the report carries a warning.
    Null,
    /// As [`Missing::Fail`], but behind [`Segment::Each`] an item without the part gives `null`.
    NullInItems,
}

impl Reference {
    /// A reference that reads one place.
    pub fn read(read: Read, text: impl Into<Arc<str>>, place: Place) -> Self {
        Self {
            text: text.into(),
            place,
            form: Form::First(vec![Alternative::Read(read)]),
        }
    }

    /// The text for a message: cut where it is long.
    pub fn shown(&self) -> Cow<'_, str> {
        match self.text.char_indices().nth(MAX_SHOWN) {
            Some((end, _)) => format!("{}…", self.text.get(..end).unwrap_or_default()).into(),
            None => (&*self.text).into(),
        }
    }

    /// The read, where this is a plain one without alternatives.
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

    /// Every place that the reference may read, those inside of expressions included.
    pub fn reads(&self) -> Vec<&Read> {
        match &self.form {
            Form::All(reads) => reads.iter().collect(),
            Form::First(alternatives) => alternatives.iter().flat_map(Alternative::reads).collect(),
        }
    }
}

impl Alternative {
    /// Every place that this alternative reads.
    pub fn reads(&self) -> Vec<&Read> {
        match self {
            Self::Read(read) => vec![read],
            Self::Literal(_) => Vec::new(),
            Self::Expression(expression) => expression.reads(),
        }
    }
}

impl Read {
    /// Reads all of `source`.
    pub fn whole(source: Source) -> Self {
        Self::part(source, Path::new())
    }

    /// Reads the part of `source` that `path` leads to.
    pub fn part(source: Source, path: Path) -> Self {
        Self {
            source,
            path,
            missing: Missing::Fail,
            position: Position::default(),
        }
    }

    /// What a missing value means here, said in one way only: a whole value is never missing, and where no field
    /// is read behind [`Segment::Each`] there is nothing that an item could lack.
    pub(crate) fn meaning_of_missing(&self) -> Missing {
        let mut from_items = self.path.iter().skip_while(|one| **one != Segment::Each);
        match self.missing {
            _ if self.path.is_empty() => Missing::Fail,
            Missing::NullInItems if from_items.all(|one| *one == Segment::Each) => Missing::Fail,
            missing => missing,
        }
    }

    /// Where the step that it names stands in its plan, where the plan was [checked](crate::check()) and the read is
    /// no part of an expression.
    pub fn step_position(&self) -> Option<u32> {
        self.position.0
    }

    /// This read, with another meaning of a missing value.
    pub fn or_missing(mut self, missing: Missing) -> Self {
        self.missing = missing;
        self
    }
}

impl Segment {
    /// The field `key`.
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
