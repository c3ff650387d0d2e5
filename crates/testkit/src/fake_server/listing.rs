//! The listings and the capabilities of the fake server, and its answers to calls that depend on the script alone.

use serde_json::{Value, json};

/// The revision without `initialize`.
pub(super) const NEWEST: &str = "2026-07-28";

/// The revisions that a script allows.
pub(super) fn revisions(script: &Value) -> Vec<&str> {
    match script["revisions"].as_array() {
        Some(revisions) => revisions.iter().filter_map(Value::as_str).collect(),
        None => vec![NEWEST, "2025-11-25", "2025-06-18"],
    }
}

/// The result of `server/discover`, if the newest revision is allowed.
pub(super) fn discover_result(script: &Value) -> Option<Value> {
    let revisions = revisions(script);
    let discover_result = json!({
        "resultType": "complete",
        "supportedVersions": revisions,
        "capabilities": capabilities(script),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "1"}},
    });
    revisions
        .contains(&NEWEST)
        .then(|| with_instructions(script, discover_result))
}

/// The result of `initialize`, if an older revision is allowed: the requested one, else the newest of them.
pub(super) fn initialize_result(script: &Value, asked: &Value) -> Option<Value> {
    let older: Vec<&str> = revisions(script)
        .into_iter()
        .filter(|revision| *revision != NEWEST)
        .collect();
    let revision = older
        .iter()
        .find(|revision| asked == **revision)
        .or(older.first())?;
    let initialize_result = json!({
        "protocolVersion": revision,
        "capabilities": capabilities(script),
        "serverInfo": {"name": "fake", "version": "1"},
    });
    Some(with_instructions(script, initialize_result))
}

fn capabilities(script: &Value) -> Value {
    let capabilities = script.get("capabilities");
    capabilities
        .cloned()
        .unwrap_or_else(|| json!({"tools": {}}))
}

fn with_instructions(script: &Value, mut result: Value) -> Value {
    if let Some(instructions) = script.get("instructions") {
        result["instructions"] = instructions.clone();
    }
    result
}

/// The result field with the entries of the list that `method` requests.
pub(super) fn list_field(method: &str) -> Option<&'static str> {
    match method {
        "tools/list" => Some("tools"),
        "prompts/list" => Some("prompts"),
        "resources/list" => Some("resources"),
        "resources/templates/list" => Some("resourceTemplates"),
        _ => None,
    }
}

/// A page of the list `field`. The cursor is the index of its first entry.
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
            "tools" => list_entry(entry),
            _ => entry.clone(),
        })
        .collect();
    let mut page = json!({ field: listed });
    if end < entries.len() {
        page["nextCursor"] = end.to_string().into();
    }
    page
}

fn list_entry(tool: &Value) -> Value {
    let mut tool = tool.clone();
    if let Some(fields) = tool.as_object_mut() {
        fields.remove("does");
        fields
            .entry("inputSchema")
            .or_insert_with(|| json!({"type": "object"}));
    }
    tool
}

/// The answer after all delays.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    /// A raw line.
    Line(String),
    /// A result.
    Result(Value),
    /// A JSON-RPC error.
    Error(Value),
    /// No answer.
    Nothing,
}

/// The answer to `request` of a tool with the behavior `does`.
pub(super) fn answer(does: &Value, request: &Value) -> Answer {
    let params = &request["params"];
    if does["never"] == true {
        return Answer::Nothing;
    }
    if let Some(line) = does["raw"].as_str() {
        return Answer::Line(line.replace("$ID", &request["id"].to_string()));
    }
    if !does["error"].is_null() {
        return Answer::Error(does["error"].clone());
    }
    if !does["input_required"].is_null() {
        return Answer::Result(match params.get("inputResponses") {
            Some(responses) => structured(responses.clone()),
            None => json!({
                "resultType": "input_required",
                "inputRequests": does["input_required"],
                "requestState": "round two",
            }),
        });
    }
    Answer::Result(if let Some(result) = does.get("result") {
        result.clone()
    } else if let Some(bytes) = does["text_bytes"].as_u64() {
        let length = usize::try_from(bytes).expect("a text fits into memory");
        text(&"x".repeat(length))
    } else if let Some(content) = does["text"].as_str() {
        text(content)
    } else if let Some(content) = does.get("structured") {
        structured(content.clone())
    } else {
        structured(params["arguments"].clone())
    })
}

/// A result with structured content, and its text as the specification requires.
pub(super) fn structured(content: Value) -> Value {
    let mut result = text(&content.to_string());
    result["structuredContent"] = content;
    result
}

fn text(content: &str) -> Value {
    json!({"content": [{"type": "text", "text": content}]})
}
