//! From one dialect to another: what is kept, and what is said about the rest.

use planwright_dialects::dialect;

use crate::golden::sound_plan;
use crate::meaning::meaning;

/// Reads `text` in the dialect `from` and prints it in `to`: the meaning of what comes out, or `refused`, and
/// the findings.
fn converted(from: &str, text: &str, to: &str) -> String {
    let plan = sound_plan(text, from);
    let (printed, findings) = dialect(to).unwrap().print(&plan);
    assert_eq!(printed.is_none(), findings.has_errors());
    let mut lines = match printed {
        Some(printed) => vec![meaning(&sound_plan(&printed, to))],
        None => vec!["refused".to_owned()],
    };
    for finding in &findings {
        assert_eq!(finding.code.as_str(), "PW0901");
        lines.push(format!(
            "{:?} {}: {}",
            finding.severity, finding.pointer, finding.message
        ));
    }
    lines.join("\n")
}

const CONCIERGE: &str = r#"{"steps": [
    {"id": "a", "tool": "get"},
    {"id": "b", "tool": "show", "args": {"x": {"output_by_reference": {"a": ["k", 0]}}, "t": "$ref:a ${a}"}},
    {"id": "c", "tool": "end"}
]}"#;

const MCP_CLI: &str = r#"{"id": "p", "title": "T", "variables": {"v": {"k": 1}, "b": 2}, "steps": [
    {"index": "b", "tool": "get", "args": {"x": "${v.k}"}},
    {"index": "2", "tool": "show", "args": {"x": "at ${b}", "y": "${r.z:-[]}"}, "depends_on": ["b"], "result_variable": "r"}
]}"#;

const CLEAR_AI: &str = r#"{"steps": [
    {"tool": "get", "params": {}, "retry_count": 1},
    {"tool": "show", "params": {"ids": "${step[0].data.*.id}", "x": "a ${step[0].data.x}"}, "depends_on": [0]},
    {"tool": "show", "params": {"why": "${step[0].error.message}"}}
], "metadata": {"query": "q"}}"#;

const AGENTLE: &str = r#"{"steps": [
    {"id": "1", "tool": "get", "arguments": {"raw": "$$ref:x ${y}"}},
    {"id": "b.c", "tool": "show", "arguments": {"x": "$ref:1.a[\"b.c\"]", "y": "$ref:1"}}
], "output_steps": ["b.c"]}"#;

#[test]
fn from_concierge() {
    insta::assert_snapshot!(converted("concierge", CONCIERGE, "mcp-cli"));
    insta::assert_snapshot!(converted("concierge", CONCIERGE, "clear-ai"));
    insta::assert_snapshot!(converted("concierge", CONCIERGE, "agentle"));
}

#[test]
fn from_mcp_cli() {
    insta::assert_snapshot!(converted("mcp-cli", MCP_CLI, "concierge"));
    insta::assert_snapshot!(converted("mcp-cli", MCP_CLI, "clear-ai"));
    insta::assert_snapshot!(converted("mcp-cli", MCP_CLI, "agentle"));
}

#[test]
fn from_clear_ai() {
    insta::assert_snapshot!(converted("clear-ai", CLEAR_AI, "concierge"));
    insta::assert_snapshot!(converted("clear-ai", CLEAR_AI, "mcp-cli"));
    insta::assert_snapshot!(converted("clear-ai", CLEAR_AI, "agentle"));
}

#[test]
fn from_agentle() {
    insta::assert_snapshot!(converted("agentle", AGENTLE, "concierge"));
    insta::assert_snapshot!(converted("agentle", AGENTLE, "mcp-cli"));
    insta::assert_snapshot!(converted("agentle", AGENTLE, "clear-ai"));
}
