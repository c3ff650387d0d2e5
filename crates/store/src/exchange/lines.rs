//! The lines of the export format.

use planwright_core::Value;
use serde::{Deserialize, Deserializer, Serialize};

use crate::format::Digest;

/// The format of an exported run.
pub const EXPORT_FORMAT: &str = "planwright.run-export/1";

/// The part of the first line that all versions of the format share.
#[derive(Deserialize)]
pub(super) struct FormatProbe {
    pub(super) format: Option<String>,
}

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportHeaderV1 {
    /// [`EXPORT_FORMAT`].
    pub(super) format: String,
    /// The format of the entries.
    pub(super) journal: String,
    pub(super) run: ExportedRunV1,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportedRunV1 {
    pub(super) id: String,
    pub(super) plan: Option<String>,
    pub(super) digest: String,
    pub(super) dialect: Option<String>,
    pub(super) created_ns: i64,
    pub(super) steps: i64,
    pub(super) header: Value,
}

/// A line after the first one.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ExportLineV1 {
    Value(ExportedValueV1),
    Entry(ExportedEntryV1),
    Decision(ExportedDecisionV1),
    End(ExportFooterV1),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportedValueV1 {
    pub(super) digest: Digest,
    pub(super) json: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportedEntryV1 {
    pub(super) at_ns: i64,
    pub(super) turn: i64,
    pub(super) kind: String,
    pub(super) body: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportedDecisionV1 {
    pub(super) at: Value,
    /// The digest of the call. Older versions bound a decision to the arguments alone and wrote `args_digest`.
    #[serde(alias = "args_digest")]
    pub(super) call_digest: String,
    pub(super) approved: bool,
    /// The changed arguments. `null` is a value, not their absence.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub(super) args: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) because: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<String>,
    pub(super) decided_ns: i64,
}

#[derive(Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportFooterV1 {
    pub(super) values: usize,
    pub(super) entries: usize,
    pub(super) decisions: usize,
}

/// Deserializes a present field as `Some`, even if it is `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
