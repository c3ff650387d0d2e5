//! Statistics of a field: numbers, days, trends, groups.

use indexmap::IndexMap;
use planwright_core::Value;
use serde::Serialize;

use super::analysis::is_zero;
use crate::analysis::numbers::Amount;

/// Statistics of numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumberStatistics {
    /// The currency or unit of all numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The number of numbers.
    pub count: usize,
    /// The sum; `None` if it has no meaning, as for percentages, or overflows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum: Option<Amount>,
    /// The mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<Amount>,
    /// The median.
    pub median: Amount,
    /// The sample standard deviation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deviation: Option<Amount>,
    /// The first smallest number.
    pub min: LocatedNumber,
    /// The first largest number.
    pub max: LocatedNumber,
    /// The numbers far from all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outliers: Option<Outliers>,
}

/// A number with its location.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LocatedNumber {
    /// The JSON pointer to the number.
    pub at: String,
    /// The name of its record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The number.
    pub value: Amount,
}

/// The outliers among numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outliers {
    /// The measure of distance.
    pub method: OutlierMethod,
    /// The number of outliers.
    pub count: usize,
    /// The farthest outliers.
    pub farthest: Vec<Outlier>,
}

/// The measure of a number's distance from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OutlierMethod {
    /// The modified z-score: the distance from the median in median absolute deviations. Outliers have more than 3.5.
    ModifiedZ,
    /// The z-score, for fields with at least half of the numbers equal. Outliers have more than 3.
    Z,
}

/// A number far from the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outlier {
    /// The number.
    pub mark: LocatedNumber,
    /// The signed score.
    pub score: Amount,
}

/// Counts of booleans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BooleanCounts {
    /// The number of true values.
    pub r#true: usize,
    /// The number of false values.
    pub r#false: usize,
}

/// Statistics of days, weeks, or months.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DateStatistics {
    /// The number of dates.
    pub count: usize,
    /// The first day, or the first month if all dates are months.
    pub from: String,
    /// The last day, or the last month if all dates are months.
    pub to: String,
    /// The granularity of the buckets.
    pub per: Granularity,
    /// The number of buckets from the first to the last date.
    pub buckets: usize,
    /// The first bucket with the most dates.
    pub busiest: TimeBucket,
    /// Trends over time of the number of records, and of numbers in the same records.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trends: Vec<Trend>,
}

/// A length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Granularity {
    /// A day.
    Day,
    /// A week, starting on Monday.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

/// A day, week, month, or year with the records in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimeBucket {
    /// The first day of the period.
    pub from: String,
    /// The number of records in it.
    pub count: usize,
}

/// The trend of a series over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trend {
    /// The field with the numbers; `None` for the number of records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The unit of time of the slope.
    pub per: Granularity,
    /// The number of points. First and last buckets that may be incomplete are excluded.
    pub points: usize,
    /// The increase per unit of time, by least squares.
    pub slope: Amount,
    /// The coefficient of determination (R²), from 0 to 1.
    pub fit: Amount,
    /// The direction, as far as it is significant.
    pub direction: TrendDirection,
}

/// The direction of a trend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrendDirection {
    /// A significant increase.
    Rising,
    /// A significant decrease.
    Falling,
    /// A change that is small compared with the mean.
    Flat,
    /// No significant direction.
    Unclear,
}

/// Groups of equal values in a field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueGroups {
    /// The largest groups; groups of equal size are sorted by value.
    pub top: Vec<ValueGroup>,
    /// The number of groups that were left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub groups_left_out: usize,
    /// The number of records in those.
    #[serde(skip_serializing_if = "is_zero")]
    pub records_left_out: usize,
}

/// The records with the same value in a field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueGroup {
    /// The value; a text is cut if it is long.
    pub value: Value,
    /// The number of records.
    pub count: usize,
    /// The share of all records with a group value, from 0 to 1.
    pub share: Amount,
    /// The sums of their numbers by field, if there are few groups.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub sums: IndexMap<String, Amount>,
    /// The means of their numbers by field, if there are few groups.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub means: IndexMap<String, Amount>,
    /// The currencies or units of those sums and means, by field.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub units: IndexMap<String, String>,
    /// The counts of their flags by field, if there are few groups.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub rates: IndexMap<String, BooleanCounts>,
}

/// Ids that occur more than once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DuplicateIds {
    /// The number of such ids.
    pub count: usize,
    /// The most frequent of them.
    pub examples: Vec<DuplicateId>,
}

/// An id that occurs more than once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DuplicateId {
    /// The id; a text is cut if it is long.
    pub value: Value,
    /// The number of occurrences.
    pub times: usize,
    /// The JSON pointers to the first two occurrences.
    pub at: Vec<String>,
}
