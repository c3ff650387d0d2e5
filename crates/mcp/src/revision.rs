//! The supported revisions of MCP.

use rmcp::model::ProtocolVersion;

/// The supported revisions, oldest first.
pub(crate) const REVISIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// Returns the supported revision `name`.
pub(crate) fn named(name: &str) -> Option<&'static ProtocolVersion> {
    REVISIONS.iter().find(|revision| revision.as_str() == name)
}
