//! Views of tools: HTML pages that a server offers and a client shows, the MCP extension `io.modelcontextprotocol/ui` (SEP-1865,
//! revision 2026-01-26).

#[cfg(feature = "gateway")]
use std::sync::Arc;

use planwright_core::Value;

#[cfg(feature = "gateway")]
use crate::object::text_field;

/// The name of the extension.
pub const EXTENSION: &str = "io.modelcontextprotocol/ui";

/// The media type of a view.
pub const MEDIA_TYPE: &str = "text/html;profile=mcp-app";

/// Returns the `extensions` of a client's capabilities that declare views; `None` if the client shows none.
pub(crate) fn declared(capabilities: &Value) -> Option<Value> {
    let stated = capabilities.get("extensions")?.get(EXTENSION)?;
    let types = stated.get("mimeTypes").and_then(Value::as_list);
    let shows_html = types.is_some_and(|types| {
        let mut types = types.iter().filter_map(Value::as_text);
        types.any(|one| one.replace(' ', "") == MEDIA_TYPE)
    });
    // Other settings of the client are left out: clients share a session only if their declarations are equal.
    let types = Value::list([Value::from(MEDIA_TYPE)]);
    shows_html.then(|| Value::object([(EXTENSION, Value::object([("mimeTypes", types)]))]))
}

/// Returns true if the entry of a tool states that the tool is for views of its server, and not for models. Without a statement, it
/// is for both.
pub(crate) fn is_for_views(entry: &Value) -> bool {
    let stated = entry
        .get("_meta")
        .and_then(|meta| meta.get("ui")?.get("visibility")?.as_list());
    stated.is_some_and(|audiences| {
        let mut audiences = audiences.iter().filter_map(Value::as_text);
        !audiences.any(|one| one == "model")
    })
}

/// Returns the address of the view that the entry of a tool names; `None` if it names none. Views have the scheme `ui`; other
/// addresses are resources.
#[cfg(feature = "gateway")]
pub(crate) fn address(entry: &Value) -> Option<Arc<str>> {
    let meta = entry.get("_meta")?;
    let named = meta.get("ui").and_then(|ui| text_field(ui, "resourceUri"));
    // The first drafts of the extension had this field.
    let named = named.or_else(|| text_field(meta, "ui/resourceUri"));
    named.filter(|address| address.starts_with("ui://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_declare_views_in_one_way() {
        let client = |stated: &str| {
            let text = format!(r#"{{"extensions": {{"{EXTENSION}": {stated}}}}}"#);
            declared(&Value::from_json(&text).unwrap())
        };
        let plain = client(r#"{"mimeTypes": ["text/html;profile=mcp-app"]}"#);
        let other = client(
            r#"{"mimeTypes": ["text/plain", "text/html; profile=mcp-app"], "mark": "client 7"}"#,
        );
        assert!(plain.is_some());
        assert_eq!(plain, other);
        assert_eq!(client(r#"{"mimeTypes": ["text/plain"]}"#), None);
    }
}
