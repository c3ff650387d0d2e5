//! Figures of a field: statistics, days, trends, groups.

use indexmap::IndexMap;
use planwright_core::Value;
use serde::Serialize;

use super::{Amount, is_zero};

/// Statistics of numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Numbers {
    /// The currency or unit that all of them are in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// How many.
    pub count: usize,
    /// Their sum; none if it says nothing, as of percentages, or is too large.
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

/// Days, weeks or months.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dates {
    /// How many.
    pub count: usize,
    /// The first day, or the first month of months.
    pub from: String,
    /// The last day, or the last month of months.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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
    /// The sums of their numbers, by field, if there are few groups.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub sums: IndexMap<String, Amount>,
    /// The means of their numbers, by field, if there are few groups.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub means: IndexMap<String, Amount>,
    /// The currencies or units of those sums and means, by field.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub units: IndexMap<String, String>,
    /// How often a flag is set in them, by field, if there are few groups.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub rates: IndexMap<String, Booleans>,
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
