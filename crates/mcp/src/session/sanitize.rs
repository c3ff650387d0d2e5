//! Removal of invisible characters from the lists of servers.

use std::sync::Arc;

use planwright_core::Value;
use planwright_core::text::{is_visible, visible, without_hidden_texts};

use crate::object::with;
use crate::transport::stdio::log::truncate_message;

/// Removes entries whose `key` has invisible characters. `what` is the kind of the entries.
pub(crate) fn remove_hidden_names(
    entries: &mut Vec<Value>,
    (what, key): (&str, &str),
    server: &Arc<str>,
    warnings: &mut Vec<String>,
) {
    entries.retain(|entry| {
        let name = text(entry, key);
        if !is_visible(name) {
            let shown = visible(&truncate_message(name)).into_owned();
            warnings.push(format!(
                "the server `{server}` lists the {what} `{shown}`, whose name has characters that cannot be seen, so it was left out"
            ));
        }
        is_visible(name)
    });
}

/// Removes invisible characters from the texts of entries.
pub(crate) fn strip_hidden_text(
    entries: &mut [Value],
    (what, key): (&str, &str),
    server: &Arc<str>,
    warnings: &mut Vec<String>,
) {
    for entry in entries {
        if let Some(stripped) = without_hidden_text(entry, key) {
            warnings.push(format!(
                "the server `{server}` describes the {what} `{}` with characters that cannot be seen, which were left out",
                truncate_message(text(entry, key))
            ));
            *entry = stripped;
        }
    }
}

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_text).unwrap_or_default()
}

/// Returns an entry without invisible characters, or `None` if it has none.
fn without_hidden_text(entry: &Value, key: &str) -> Option<Value> {
    let texts = without_hidden_texts(entry);
    // The name of a resource is only descriptive: its key is the URI.
    let label = match entry.get("name") {
        Some(Value::Text(name)) if key != "name" && !is_visible(name) => Some(visible(name)),
        _ => None,
    };
    if texts.is_none() && label.is_none() {
        return None;
    }
    let entry = texts.unwrap_or_else(|| entry.clone());
    Some(match label {
        Some(label) => with(&entry, "name", Value::from(label.as_ref())),
        None => entry,
    })
}

#[cfg(test)]
mod tests {
    use planwright_core::Value;

    use super::{remove_hidden_names, strip_hidden_text};

    fn check(what: (&str, &str), entries: &str, expected: &str, warned: &[&str]) {
        let mut entries = Value::from_json(entries)
            .unwrap()
            .as_list()
            .unwrap()
            .to_vec();
        let mut warnings = Vec::new();
        remove_hidden_names(&mut entries, what, &"s".into(), &mut warnings);
        strip_hidden_text(&mut entries, what, &"s".into(), &mut warnings);
        assert_eq!(Value::from(entries).to_json(), expected);
        assert_eq!(warnings, warned);
    }

    #[test]
    fn names_with_invisible_characters_are_removed() {
        check(
            ("tool", "name"),
            r#"[{"name": "pay\u200b"}, {"name": "a\nb"}, {"name": "rtl\u202e"}, {"name": "tag\udb40\udc41"}, {"name": "Größe 東京"}]"#,
            r#"[{"name":"Größe 東京"}]"#,
            &[
                r"the server `s` lists the tool `pay\u{200b}`, whose name has characters that cannot be seen, so it was left out",
                r"the server `s` lists the tool `a\nb`, whose name has characters that cannot be seen, so it was left out",
                r"the server `s` lists the tool `rtl\u{202e}`, whose name has characters that cannot be seen, so it was left out",
                r"the server `s` lists the tool `tag\u{e0041}`, whose name has characters that cannot be seen, so it was left out",
            ],
        );
    }

    #[test]
    fn texts_lose_invisible_characters() {
        check(
            ("tool", "name"),
            r#"[{"name": "a", "description": "x\u200by\n", "annotations": {"title": "t\u2066"},
                "inputSchema": {"properties": {"description": {"description": "p\u00ad", "default": "d\u00ad", "enum": ["e\u00ad"]}}}}]"#,
            "[{\"name\":\"a\",\"description\":\"xy\\n\",\"annotations\":{\"title\":\"t\"},\"inputSchema\":{\"properties\":{\"description\":{\"description\":\"p\",\"default\":\"d\u{ad}\",\"enum\":[\"e\u{ad}\"]}}}}]",
            &[
                "the server `s` describes the tool `a` with characters that cannot be seen, which were left out",
            ],
        );
        check(
            ("tool", "name"),
            r#"[{"name": "a", "description": "Plain.", "x-own": "\u200b"}]"#,
            "[{\"name\":\"a\",\"description\":\"Plain.\",\"x-own\":\"\u{200b}\"}]",
            &[],
        );
    }

    #[test]
    fn the_name_of_a_resource_is_a_description() {
        check(
            ("resource", "uri"),
            r#"[{"uri": "x:1", "name": "a\u202eb"}, {"uri": "x:\u200b2", "name": "b"}]"#,
            r#"[{"uri":"x:1","name":"a\\u{202e}b"}]"#,
            &[
                r"the server `s` lists the resource `x:\u{200b}2`, whose name has characters that cannot be seen, so it was left out",
                "the server `s` describes the resource `x:1` with characters that cannot be seen, which were left out",
            ],
        );
    }
}
