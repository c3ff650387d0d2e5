//! The revisions of MCP that are spoken.

use rmcp::model::ProtocolVersion;

/// The revisions that are spoken, the oldest first.
pub(crate) const REVISIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// The revision called `name`, if it is spoken.
pub(crate) fn named(name: &str) -> Option<&'static ProtocolVersion> {
    REVISIONS.iter().find(|revision| revision.as_str() == name)
}
