//! Words for people, and marks of formats.

use super::Words;
use crate::document::{Item, ItemKind};

/// Words for what a step or a plan says to people. They change nothing in a run, so they are read with a note.
#[rustfmt::skip]
pub(in crate::native::guesses) const FOR_PEOPLE: Words = Words(&[
    "description", "desc", "comment", "comments", "notes", "reason", "reasoning", "rationale", "thought", "thoughts", "thinking",
    "explanation", "purpose", "why", "goal", "objective", "intent", "summary", "displayname", "question", "userrequest", "expectedoutput",
    "expectedresult", "agent", "role", "approvalmessage", "confirmationmessage", "confirmmessage", "documentation", "doc", "docs",
    "details", "hint", "info", "remark", "remarks", "memo",
]);

/// Returns true if the field `key` is a mark of other formats that says nothing about a run: `"type": "tool"`.
pub(in crate::native::guesses) fn is_format_mark(key: &str, item: &Item) -> bool {
    let is_number = |item: &Item| matches!(item.kind, ItemKind::Number(_));
    let Some(text) = item.as_text() else {
        return match key {
            "version" | "typeVersion" | "schemaVersion" | "schema_version" => is_number(item),
            // The place of a node in an editor.
            "position" | "ui" => match &item.kind {
                ItemKind::List(items) => items.iter().all(is_number),
                ItemKind::Object(entries) => entries.iter().all(|entry| is_number(&entry.item)),
                ItemKind::Null | ItemKind::Bool(_) | ItemKind::Number(_) | ItemKind::Text(_) => {
                    false
                }
            },
            _ => false,
        };
    };
    match key {
        "$schema" | "version" | "apiVersion" | "schemaVersion" | "schema_version"
        | "specVersion" | "namespace" => true,
        "type" | "kind" => matches!(
            &*text.to_lowercase(),
            "tool"
                | "tool_call"
                | "tool-call"
                | "toolcall"
                | "tool_use"
                | "mcp"
                | "mcp_tool"
                | "action"
                | "step"
                | "task"
                | "simple"
                | "call"
                | "function"
                | "node"
                | "plan"
                | "workflow"
                | "dag"
                | "subplan"
                | "sub_plan"
                | "subworkflow"
                | "sub_workflow"
                | "nested_plan"
        ),
        "status" => matches!(&**text, "pending" | "todo" | "not_started" | "planned"),
        _ => false,
    }
}

/// Words for people, and marks of formats, that are as often arguments of a call.
#[rustfmt::skip]
pub(in crate::native::guesses) const LOOSE_FOR_PEOPLE: Words = Words(&[
    "summary", "question", "userrequest", "role", "agent", "namespace", "version", "status", "position", "details", "hint", "info", "memo",
    "doc", "docs",
]);
