//! What the results of a run come to, as far as that can be computed: counts, sums, groups, extremes, trends, outliers.
//!
//! Pure and without a model. Everything that is found says where: the step, and a JSON pointer into its output, in which `*`
//! stands for each item. So an answer can name what it rests on, and nobody has to add up numbers in their head.
//!
//! Time and memory grow with the size of the results and no faster. Where something is left out, it is said how much.

mod amount;
mod collect;
mod column;
mod date;
mod decimal;
mod embedded;
mod field;
mod field_name;
mod fit;
mod group;
mod moment;
mod nested;
mod outlier;
mod page;
mod quantity;
mod quote;
mod report;
mod spread;
mod table;
mod text;
mod total;
mod trim;
mod unit;
mod written;

#[cfg(test)]
mod tests;

pub use amount::Amount;
pub use collect::analyze;
pub use decimal::Decimal;
pub use report::{
    ANALYSIS_SCHEMA, Analysis, Booleans, Bucket, Collection, Dates, Direction, Duplicate,
    Duplicates, Failure, Field, Format, Group, Groups, Kind, Mark, Method, Numbers, Outlier,
    Outliers, Page, Per, ReadAs, Scalar, StepAnalysis, StepFailure, StepResult, TotalRow, Trend,
    Unread,
};
pub use trim::{Trimmed, trimmed};

/// How many tokens a model takes for a text of so many bytes, by a rule of thumb that fits English and JSON well enough.
fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

/// A text in at most so many characters; what is cut ends with `…`.
fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
