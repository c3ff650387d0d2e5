//! What an analysis says, as programs read it: `planwright.analysis/1`.

mod figures;

use planwright_core::Value;
use serde::Serialize;

use super::{Amount, clipped};

pub use figures::{
    Booleans, Bucket, Dates, Direction, Duplicate, Duplicates, Group, Groups, Mark, Method,
    Numbers, Outlier, Outliers, Per, Trend,
};

/// The version of what an [`Analysis`] is written as.
pub const ANALYSIS_SCHEMA: &str = "planwright.analysis/1";

/// What a step gave.
#[derive(Clone, Copy, Debug)]
pub struct StepResult<'a> {
    /// The step's id.
    pub step: &'a str,
    /// The tool that it called, or what else it did.
    pub tool: &'a str,
    /// Its output.
    pub output: &'a Value,
}

/// Why a step gave nothing.
#[derive(Clone, Copy, Debug)]
pub struct StepFailure<'a> {
    /// The step's id.
    pub step: &'a str,
    /// The tool that it called.
    pub tool: &'a str,
    /// What went wrong.
    pub message: &'a str,
}

/// What the results of a run come to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// [`ANALYSIS_SCHEMA`].
    pub schema: &'static str,
    /// What each step gave, in the order in which they were told.
    pub steps: Vec<StepAnalysis>,
    /// The steps that gave nothing.
    pub failures: Vec<Failure>,
    /// How many steps were not looked at.
    #[serde(skip_serializing_if = "is_zero")]
    pub steps_left_out: usize,
}

/// A step that gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The step's id.
    pub step: String,
    /// The tool that it called.
    pub tool: String,
    /// What went wrong, cut where it is long.
    pub message: String,
}

/// What one step gave.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepAnalysis {
    /// The step's id.
    pub step: String,
    /// The tool that it called.
    pub tool: String,
    /// What kind of value it gave.
    pub kind: Kind,
    /// Values that stand alone, in the order in which they were found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Scalar>,
    /// Lists, in the order in which they were found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub collections: Vec<Collection>,
    /// How many values and lists are not told.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

/// What kind of value something is; of a list, what most of its items are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Nothing.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// Text.
    Text,
    /// An object.
    Record,
    /// A list of objects.
    Records,
    /// A list of numbers.
    Numbers,
    /// A list of texts.
    Texts,
    /// A list of `true` and `false`.
    Booleans,
    /// A list without items.
    Empty,
    /// Any other list.
    List,
}

/// A value that stands alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scalar {
    /// Where.
    pub at: String,
    /// The value; a text is cut where it is long.
    pub value: Value,
}

/// A list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Collection {
    /// Where.
    pub at: String,
    /// What most of its items are.
    pub kind: Kind,
    /// How many items it has; of joined lists, all of them.
    pub count: usize,
    /// How many lists were joined, if not one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lists: Option<usize>,
    /// The format of the text that it was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// Why there may be more than these items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<Page>,
    /// Items that summarise others, and count no further.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub totals: Vec<TotalRow>,
    /// How many of those that were looked at are of another kind, and count no further.
    #[serde(skip_serializing_if = "is_zero")]
    pub others: usize,
    /// How many, at its end, were not looked at.
    #[serde(skip_serializing_if = "is_zero")]
    pub items_left_out: usize,
    /// What its items have: the fields of records, or the items themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
    /// How many fields were not looked at.
    #[serde(skip_serializing_if = "is_zero")]
    pub fields_left_out: usize,
}

/// A field of records, or the items of a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Field {
    /// Where, with `*` for each item.
    pub at: String,
    /// Its name within a record; nothing where it is the item itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How many items have it, with something in it.
    pub present: usize,
    /// How many have `null` in it.
    #[serde(skip_serializing_if = "is_zero")]
    pub null: usize,
    /// How many do not have it.
    #[serde(skip_serializing_if = "is_zero")]
    pub missing: usize,
    /// How many different numbers, texts and truth values there are.
    pub distinct: usize,
    /// Its numbers, unless they identify something or are in several units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numbers: Option<Numbers>,
    /// Its numbers by currency or unit, if they are in several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_unit: Vec<Numbers>,
    /// How many of its numbers are written as texts.
    #[serde(skip_serializing_if = "is_zero")]
    pub numeric_texts: usize,
    /// A text among them with a separator that other texts or a rule explain, and the number that it was read as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_as: Option<ReadAs>,
    /// Values among numbers or days that are none.
    #[serde(skip_serializing_if = "Unread::is_empty")]
    pub unread: Unread,
    /// Texts that may be either of two numbers or days.
    #[serde(skip_serializing_if = "Unread::is_empty")]
    pub unclear: Unread,
    /// How many items its lists have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lengths: Option<Numbers>,
    /// Its truth values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub booleans: Option<Booleans>,
    /// Its days, if at least half of its values name one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dates: Option<Dates>,
    /// What comes again and again, the most frequent first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Groups>,
    /// Of an id: what comes more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<Duplicates>,
}

/// A list that is a part of a longer one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Page {
    /// How many items there are in all, if that is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// The value that says so.
    pub said_by: String,
}

/// An item that summarises others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TotalRow {
    /// Where it is.
    pub at: String,
    /// The text that names it a total.
    pub name: String,
    /// Whether its numbers are sums or means of others.
    pub is_sum: bool,
}

/// A format that tables are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// JSON.
    Json,
    /// JSON, one value a line.
    JsonLines,
    /// Lines with separators, the first with the names of the fields.
    Csv,
}

/// A text and the number that it was read as.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReadAs {
    /// The text.
    pub text: String,
    /// The number.
    pub number: Amount,
}

/// Values that could not be read as those around them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Unread {
    /// How many.
    pub count: usize,
    /// How many of them stand for nothing, such as `n/a`.
    #[serde(skip_serializing_if = "is_zero")]
    pub blank: usize,
    /// Some of them; texts are cut if they are long.
    pub examples: Vec<Value>,
}

impl Unread {
    const EXAMPLES: usize = 3;
    const LENGTH: usize = 40;
    const BLANK: &[&str] = &[
        "", "-", "–", "—", "?", "n/a", "na", "nan", "nil", "none", "null", "tbd", "unknown",
    ];

    /// Counts a value.
    pub(super) fn add(&mut self, value: &Value) {
        self.count += 1;
        self.blank += usize::from(Self::is_blank(value));
        let example = match value {
            Value::Text(text) => Value::text(clipped(text, Self::LENGTH)),
            Value::List(_) | Value::Object(_) => return,
            other => other.clone(),
        };
        if self.examples.len() < Self::EXAMPLES && !self.examples.contains(&example) {
            self.examples.push(example);
        }
    }

    /// Whether a value stands for nothing.
    pub(super) fn is_blank(value: &Value) -> bool {
        let is = |text: &str| Self::BLANK.contains(&text.trim().to_ascii_lowercase().as_str());
        value.as_text().is_some_and(is)
    }

    /// How many stand for something.
    pub(super) fn written(&self) -> usize {
        self.count - self.blank
    }

    fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands on references"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
