//! What the fake server says about itself.

use serde_json::{Value, json};

/// The revision that has no `initialize`.
pub(super) const NEWEST: &str = "2026-07-28";

/// The revisions that a script allows.
pub(super) fn revisions(script: &Value) -> Vec<&str> {
    match script["revisions"].as_array() {
        Some(revisions) => revisions.iter().filter_map(Value::as_str).collect(),
        None => vec![NEWEST, "2025-11-25", "2025-06-18"],
    }
}

/// The result of `server/discover`, if the newest revision is allowed.
pub(super) fn discovered(script: &Value) -> Option<Value> {
    let revisions = revisions(script);
    revisions.contains(&NEWEST).then(|| {
        json!({
            "resultType": "complete",
            "supportedVersions": revisions,
            "capabilities": {"tools": {}},
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "1"}},
        })
    })
}

/// The result of `initialize`, if any older revision is allowed: the one asked for, else the newest of them.
pub(super) fn initialized(script: &Value, asked: &Value) -> Option<Value> {
    let older: Vec<&str> = revisions(script)
        .into_iter()
        .filter(|revision| *revision != NEWEST)
        .collect();
    let spoken = older
        .iter()
        .find(|revision| asked == **revision)
        .or(older.first())?;
    Some(json!({
        "protocolVersion": spoken,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "fake", "version": "1"},
    }))
}

/// One page of `tools/list`. The cursor is the number of the first tool on it.
pub(super) fn tools(script: &Value, cursor: &Value) -> Value {
    let none = Vec::new();
    let tools = script["tools"].as_array().unwrap_or(&none);
    let start = cursor
        .as_str()
        .and_then(|cursor| cursor.parse().ok())
        .unwrap_or(0)
        .min(tools.len());
    let size = script["page_size"]
        .as_u64()
        .and_then(|size| usize::try_from(size).ok())
        .unwrap_or(usize::MAX);
    let end = start.saturating_add(size).min(tools.len());
    let listed: Vec<Value> = tools[start..end].iter().map(listed).collect();
    let mut page = json!({"tools": listed});
    if end < tools.len() {
        page["nextCursor"] = end.to_string().into();
    }
    page
}

fn listed(tool: &Value) -> Value {
    let mut tool = tool.clone();
    if let Some(fields) = tool.as_object_mut() {
        fields.remove("does");
        fields
            .entry("inputSchema")
            .or_insert_with(|| json!({"type": "object"}));
    }
    tool
}
