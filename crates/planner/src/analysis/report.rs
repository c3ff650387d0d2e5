//! The data model of an analysis, serialized as `planwright.analysis/1`.

use indexmap::IndexMap;
use planwright_core::Value;
use serde::Serialize;

use super::clipped;
use super::numbers::Amount;

/// The name and version of the format of an [`Analysis`].
pub const ANALYSIS_SCHEMA: &str = "planwright.analysis/1";

/// The output of a step, as input to an analysis.
#[derive(Clone, Copy, Debug)]
pub struct StepResult<'a> {
    /// The step's id.
    pub step: &'a str,
    /// The tool that the step called, or the step's kind if it called none.
    pub tool: &'a str,
    /// The step's output.
    pub output: &'a Value,
}

/// The failure of a step, as input to an analysis.
#[derive(Clone, Copy, Debug)]
pub struct StepFailure<'a> {
    /// The step's id.
    pub step: &'a str,
    /// The tool that the step called.
    pub tool: &'a str,
    /// The error message.
    pub message: &'a str,
}

/// The analysis of the results of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    /// [`ANALYSIS_SCHEMA`].
    pub schema: &'static str,
    /// The analysis of each step with output, in the order of the input.
    pub steps: Vec<StepAnalysis>,
    /// The steps that failed.
    pub failures: Vec<FailedStep>,
    /// The number of steps that were not analyzed.
    #[serde(skip_serializing_if = "is_zero")]
    pub steps_left_out: usize,
}

/// A step that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedStep {
    /// The step's id.
    pub step: String,
    /// The tool that the step called.
    pub tool: String,
    /// The error message; cut if it is long.
    pub message: String,
}

/// The analysis of one step's output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepAnalysis {
    /// The step's id.
    pub step: String,
    /// The tool that the step called.
    pub tool: String,
    /// The kind of the output.
    pub kind: ValueKind,
    /// The scalar values outside of collections, in document order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ScalarValue>,
    /// The lists and other tables, in document order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub collections: Vec<CollectionAnalysis>,
    /// The number of values and lists that were left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

/// The kind of a value; for a list, the kind of most of its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueKind {
    /// Null.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A text.
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

/// A scalar value outside of collections.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScalarValue {
    /// The JSON pointer to the value.
    pub at: String,
    /// The value; a text is cut if it is long.
    pub value: Value,
}

/// The analysis of a list, or of another table of values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CollectionAnalysis {
    /// The JSON pointer to the list.
    pub at: String,
    /// The kind of most items.
    pub kind: ValueKind,
    /// The number of items; for joined lists, their total.
    pub count: usize,
    /// The number of joined lists, if not one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lists: Option<usize>,
    /// The format of the text that the list was parsed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<TableFormat>,
    /// Evidence that the list is only a part of a longer one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<PageInfo>,
    /// Items that summarize other items; excluded from all figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub totals: Vec<TotalRow>,
    /// The number of analyzed items of another kind; excluded from all figures.
    #[serde(skip_serializing_if = "is_zero")]
    pub others: usize,
    /// The number of items at the end that were not analyzed.
    #[serde(skip_serializing_if = "is_zero")]
    pub items_left_out: usize,
    /// The fields of the records, or a single field for the items themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldAnalysis>,
    /// The number of fields that were not analyzed.
    #[serde(skip_serializing_if = "is_zero")]
    pub fields_left_out: usize,
}

/// The analysis of a field of records, or of the items of a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldAnalysis {
    /// The JSON pointer to the field, with `*` for each item.
    pub at: String,
    /// The field's name within a record; empty for the item itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The number of items with a value other than null.
    pub present: usize,
    /// The number of items with null.
    #[serde(skip_serializing_if = "is_zero")]
    pub null: usize,
    /// The number of items without the field.
    #[serde(skip_serializing_if = "is_zero")]
    pub missing: usize,
    /// The number of distinct numbers, texts, and booleans.
    pub distinct: usize,
    /// Statistics of the numbers, unless they are identifiers or have several units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numbers: Option<NumberStatistics>,
    /// Statistics of the numbers per currency or unit, if they have several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_unit: Vec<NumberStatistics>,
    /// The number of numbers that were parsed from texts.
    #[serde(skip_serializing_if = "is_zero")]
    pub numeric_texts: usize,
    /// An example of a text whose separator was resolved by other texts or by a default rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_as: Option<ParsedExample>,
    /// Values in a column of numbers or days that could not be parsed as such.
    #[serde(skip_serializing_if = "UnparsedValues::is_empty")]
    pub unread: UnparsedValues,
    /// Texts that can be parsed as two different numbers or days.
    #[serde(skip_serializing_if = "UnparsedValues::is_empty")]
    pub unclear: UnparsedValues,
    /// Statistics of the lengths of its lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lengths: Option<NumberStatistics>,
    /// Counts of its booleans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub booleans: Option<BooleanCounts>,
    /// Statistics of its days, if at least half of the values are days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dates: Option<DateStatistics>,
    /// Groups of equal values, the largest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<ValueGroups>,
    /// The duplicate values of an id field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<DuplicateIds>,
}

/// Evidence that a list is only a part of a longer one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageInfo {
    /// The total number of items, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// The JSON pointer to the value that is the evidence.
    #[serde(rename = "said_by")]
    pub stated_by: String,
}

/// An item that summarizes others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TotalRow {
    /// The JSON pointer to the item.
    pub at: String,
    /// The text that names it a total.
    pub name: String,
    /// True if its numbers are the sums or means of other items.
    pub is_sum: bool,
}

/// The format of a table inside of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TableFormat {
    /// JSON.
    Json,
    /// JSON, one value per line.
    JsonLines,
    /// Lines of separated cells; the first line has the field names.
    Csv,
}

/// A text and the number that was parsed from it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ParsedExample {
    /// The text.
    pub text: String,
    /// The number.
    pub number: Amount,
}

/// Values that could not be parsed like their neighbors.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UnparsedValues {
    /// The number of values.
    pub count: usize,
    /// The number of placeholders among them, such as `n/a`.
    #[serde(skip_serializing_if = "is_zero")]
    pub blank: usize,
    /// Up to three examples; texts are cut if they are long.
    pub examples: Vec<Value>,
}

impl UnparsedValues {
    const MAX_EXAMPLES: usize = 3;
    const MAX_EXAMPLE_LENGTH: usize = 40;
    const BLANK_TEXTS: &[&str] = &[
        "", "-", "–", "—", "?", "n/a", "na", "nan", "nil", "none", "null", "tbd", "unknown",
    ];

    /// Counts a value, and records it as an example.
    pub(crate) fn add(&mut self, value: &Value) {
        self.count += 1;
        self.blank += usize::from(Self::is_blank(value));
        let example = match value {
            Value::Text(text) => Value::text(clipped(text, Self::MAX_EXAMPLE_LENGTH)),
            Value::List(_) | Value::Object(_) => return,
            other => other.clone(),
        };
        if self.examples.len() < Self::MAX_EXAMPLES && !self.examples.contains(&example) {
            self.examples.push(example);
        }
    }

    /// Returns true if a value is a placeholder for no value.
    pub(crate) fn is_blank(value: &Value) -> bool {
        let is =
            |text: &str| Self::BLANK_TEXTS.contains(&text.trim().to_ascii_lowercase().as_str());
        value.as_text().is_some_and(is)
    }

    /// The number of values that are not placeholders.
    pub(crate) fn filled(&self) -> usize {
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
