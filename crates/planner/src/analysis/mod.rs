//! Figures computed from the results of a run: counts, sums, groups, extremes, trends, and outliers.
//!
//! The analysis is pure and needs no model. Every figure has a location: the step, and a JSON pointer into its output in which
//! `*` stands for each item. An answer can therefore cite its sources, and a model never has to add up numbers.
//! Time and memory are linear in the size of the results. All omitted parts are counted.

mod analyze;
mod fields;
mod numbers;
mod render;
mod report;
mod tables;

#[cfg(test)]
mod tests;

pub use analyze::analyze;
pub use numbers::{Amount, Decimal};
pub use render::{TrimmedValue, trim_value};
pub use report::{
    ANALYSIS_SCHEMA, Analysis, BooleanCounts, CollectionAnalysis, DateStatistics, DuplicateId,
    DuplicateIds, FailedStep, FieldAnalysis, Granularity, LocatedNumber, NumberStatistics, Outlier,
    OutlierMethod, Outliers, PageInfo, ParsedExample, ScalarValue, StepAnalysis, StepFailure,
    StepResult, TableFormat, TimeBucket, TotalRow, Trend, TrendDirection, UnparsedValues,
    ValueGroup, ValueGroups, ValueKind,
};

/// Estimates the number of tokens in a text of `bytes` bytes; close enough for English and JSON.
fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

/// Returns the first `max_chars` characters of a text, with `…` appended if more follow.
fn clipped(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
