//! The lines of a file.

use planwright_core::Value;
use serde::{Deserialize, Deserializer, Serialize};

use crate::format::Digest;

/// The format of a run as a file.
pub const EXPORT_FORMAT: &str = "planwright.run-export/1";

/// The first line, as far as every version has it.
#[derive(Deserialize)]
pub(super) struct AnyHeadV1 {
    pub(super) format: Option<String>,
}

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeadV1 {
    /// [`EXPORT_FORMAT`].
    pub(super) format: String,
    /// The format of the entries.
    pub(super) journal: String,
    pub(super) run: RunV1,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunV1 {
    pub(super) id: String,
    pub(super) plan: Option<String>,
    pub(super) digest: String,
    pub(super) dialect: Option<String>,
    pub(super) created_ns: i64,
    pub(super) steps: i64,
    pub(super) header: Value,
}

/// Any other line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LineV1 {
    Value(ValueV1),
    Entry(EntryV1),
    Decision(DecisionV1),
    End(EndV1),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ValueV1 {
    pub(super) digest: Digest,
    pub(super) json: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EntryV1 {
    pub(super) at_ns: i64,
    pub(super) turn: i64,
    pub(super) kind: String,
    pub(super) body: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DecisionV1 {
    pub(super) at: Value,
    /// `args_digest` in files of versions that bound a decision to the arguments alone.
    #[serde(alias = "args_digest")]
    pub(super) call_digest: String,
    pub(super) approved: bool,
    /// Missing where there are none; `null` is arguments, too.
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
pub(super) struct EndV1 {
    pub(super) values: usize,
    pub(super) entries: usize,
    pub(super) decisions: usize,
}

/// Whatever stands there, stands there.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
