//! What an analysis says, as programs read it: `planwright.analysis/1`.

use indexmap::IndexMap;
use planwright_core::Value;
use serde::Serialize;

use super::Amount;

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
    /// How many items it has.
    pub count: usize,
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
    /// Its numbers, unless they are names of something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numbers: Option<Numbers>,
    /// How many items its lists have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lengths: Option<Numbers>,
    /// Its truth values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub booleans: Option<Booleans>,
    /// Its days, where all its texts begin with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dates: Option<Dates>,
    /// What comes again and again, the most frequent first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<Groups>,
    /// Of an id: what comes more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<Duplicates>,
}

/// Numbers, as a whole.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Numbers {
    /// How many.
    pub count: usize,
    /// Their sum, exact where all are whole; nothing where it is too large.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum: Option<Amount>,
    /// Their mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<Amount>,
    /// The one in the middle.
    pub median: Amount,
    /// Their standard deviation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<Amount>,
    /// The smallest; of several the first.
    pub min: Mark,
    /// The largest; of several the first.
    pub max: Mark,
    /// Those far from all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outliers: Option<Outliers>,
}

/// One number among many.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// Where.
    pub at: String,
    /// What its record is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The number.
    pub value: Amount,
}

/// Numbers far from all others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outliers {
    /// How it was measured.
    pub method: Method,
    /// How many there are.
    pub count: usize,
    /// The farthest of them.
    pub farthest: Vec<Outlier>,
}

/// How it is measured that a number is far from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// By the median and the median of the deviations from it; more than 3.5 is far.
    ModifiedZ,
    /// By the mean and the standard deviation, where half of the numbers and more are the same; more than 3 is far.
    Z,
}

/// A number far from others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outlier {
    /// Which.
    pub mark: Mark,
    /// How far, with a sign.
    pub score: Amount,
}

/// Truth values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Booleans {
    /// How many are true.
    pub r#true: usize,
    /// How many are false.
    pub r#false: usize,
}

/// Days.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dates {
    /// How many.
    pub count: usize,
    /// The first day.
    pub from: String,
    /// The last day.
    pub to: String,
    /// What they are counted by.
    pub per: Per,
    /// How many stretches of that length they span.
    pub buckets: usize,
    /// The stretch with the most of them; of several the first.
    pub busiest: Bucket,
    /// How their number goes over time, and numbers of the same records.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trends: Vec<Trend>,
}

/// A length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// A day.
    Day,
    /// A week, from Monday on.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

/// A stretch of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// Its first day.
    pub from: String,
    /// How many records there are in it.
    pub count: usize,
}

/// How something goes over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// The field whose numbers go so; nothing where it is the number of records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// What the slope is per.
    pub per: Per,
    /// How many points there are. First and last stretches that may be there only in part are none.
    pub points: usize,
    /// By how much it goes up, by least squares.
    pub slope: Amount,
    /// How much of it the line explains, from 0 to 1.
    pub fit: Amount,
    /// What may be said about it.
    pub direction: Direction,
}

/// What may be said about how something goes over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// It goes up, and chance would hardly look like that.
    Rising,
    /// It goes down, and chance would hardly look like that.
    Falling,
    /// It hardly changes.
    Flat,
    /// None of this can be said.
    Unclear,
}

/// What comes again and again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Groups {
    /// The most frequent, of equally many by their names.
    pub top: Vec<Group>,
    /// How many groups are not told.
    #[serde(skip_serializing_if = "is_zero")]
    pub groups_left_out: usize,
    /// How many records are in those.
    #[serde(skip_serializing_if = "is_zero")]
    pub records_left_out: usize,
}

/// Records that have the same in a field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// What they have; a text is cut where it is long.
    pub value: Value,
    /// How many.
    pub count: usize,
    /// Their share of all that have something there, from 0 to 1.
    pub share: Amount,
    /// The sums of their numbers, by field, where there are few groups.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub sums: IndexMap<String, Amount>,
}

/// Ids that come more than once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Duplicates {
    /// How many ids do.
    pub count: usize,
    /// Some of them, the most frequent first.
    pub examples: Vec<Duplicate>,
}

/// An id that comes more than once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Duplicate {
    /// The id; a text is cut where it is long.
    pub value: Value,
    /// How often.
    pub times: usize,
    /// Where the first two are.
    pub at: Vec<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands on references"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
