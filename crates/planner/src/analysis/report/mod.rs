//! The data model of an analysis, serialized as `planwright.analysis/1`.

mod analysis;
mod statistics;

pub use analysis::{
    ANALYSIS_SCHEMA, Analysis, CollectionAnalysis, FailedStep, FieldAnalysis, PageInfo,
    ParsedExample, ScalarValue, StepAnalysis, StepFailure, StepResult, TableFormat, TotalRow,
    UnparsedValues, ValueKind,
};
pub use statistics::{
    BooleanCounts, DateStatistics, DuplicateId, DuplicateIds, Granularity, LocatedNumber,
    NumberStatistics, Outlier, OutlierMethod, Outliers, TimeBucket, Trend, TrendDirection,
    ValueGroup, ValueGroups,
};
