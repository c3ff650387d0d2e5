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
    let discovered = json!({
        "resultType": "complete",
        "supportedVersions": revisions,
        "capabilities": capabilities(script),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "1"}},
    });
    revisions
        .contains(&NEWEST)
        .then(|| instructed(script, discovered))
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
    let initialized = json!({
        "protocolVersion": spoken,
        "capabilities": capabilities(script),
        "serverInfo": {"name": "fake", "version": "1"},
    });
    Some(instructed(script, initialized))
}

fn capabilities(script: &Value) -> Value {
    let capabilities = script.get("capabilities");
    capabilities
        .cloned()
        .unwrap_or_else(|| json!({"tools": {}}))
}

fn instructed(script: &Value, mut greeting: Value) -> Value {
    if let Some(instructions) = script.get("instructions") {
        greeting["instructions"] = instructions.clone();
    }
    greeting
}

/// The field of its result in which the entries of the list are that `method` asks for.
pub(super) fn list_of(method: &str) -> Option<&'static str> {
    match method {
        "tools/list" => Some("tools"),
        "prompts/list" => Some("prompts"),
        "resources/list" => Some("resources"),
        "resources/templates/list" => Some("resourceTemplates"),
        _ => None,
    }
}

/// One page of the list `field`. The cursor is the number of the first entry on it.
pub(super) fn page(lists: &Value, field: &str, cursor: &Value) -> Value {
    let none = Vec::new();
    let entries = lists[field].as_array().unwrap_or(&none);
    let start = cursor
        .as_str()
        .and_then(|cursor| cursor.parse().ok())
        .unwrap_or(0)
        .min(entries.len());
    let size = lists["page_size"]
        .as_u64()
        .and_then(|size| usize::try_from(size).ok())
        .unwrap_or(usize::MAX);
    let end = start.saturating_add(size).min(entries.len());
    let listed: Vec<Value> = entries[start..end]
        .iter()
        .map(|entry| match field {
            "tools" => listed(entry),
            _ => entry.clone(),
        })
        .collect();
    let mut page = json!({ field: listed });
    if end < entries.len() {
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
