//! What servers list, without characters that cannot be seen.

use std::sync::Arc;

use planwright_core::text::{is_visible, visible, without_hidden};
use planwright_core::{Object, Value};

use super::log::brief;

/// The fields of an entry that people and models read as text.
const TEXTS: [&str; 2] = ["title", "description"];

/// The words of a schema below which the keys are names.
const NAMED: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// The words of a schema whose values are data.
const DATA: [&str; 5] = ["default", "const", "enum", "examples", "_meta"];

/// Leaves out entries whose `key` has characters that cannot be seen, and such characters in the texts of the others. `what` says
/// what the entries are.
pub(super) fn clean(
    entries: &mut Vec<Value>,
    (what, key): (&str, &str),
    server: &Arc<str>,
    warnings: &mut Vec<String>,
) {
    entries.retain_mut(|entry| {
        let name = entry.get(key).and_then(Value::as_text).unwrap_or_default();
        let shown = visible(brief(name).as_ref()).into_owned();
        if !is_visible(name) {
            warnings.push(format!(
                "the server `{server}` lists the {what} `{shown}`, whose name has characters that cannot be seen, so it was left out"
            ));
            return false;
        }
        if let Some(cleaned) = cleaned(entry, key) {
            warnings.push(format!(
                "the server `{server}` describes the {what} `{shown}` with characters that cannot be seen, which were left out"
            ));
            *entry = cleaned;
        }
        true
    });
}

/// An entry without what is hidden in its texts; `None` if there is nothing of the kind.
fn cleaned(entry: &Value, key: &str) -> Option<Value> {
    let texts = stripped(entry, false);
    // The name of a resource only describes it.
    let label = match entry.get("name") {
        Some(Value::Text(name)) if key != "name" && !is_visible(name) => Some(visible(name)),
        _ => None,
    };
    if texts.is_none() && label.is_none() {
        return None;
    }
    let mut entry = texts.unwrap_or_else(|| entry.clone());
    if let Some(label) = label {
        let mut fields = entry.as_object().cloned().unwrap_or_default();
        fields.insert("name".into(), Value::from(label.as_ref()));
        entry = Value::from(fields);
    }
    Some(entry)
}

/// `value` without what is hidden in its texts, if there is something; `has_names` says that its keys are names and no words.
fn stripped(value: &Value, has_names: bool) -> Option<Value> {
    match value {
        Value::List(items) => {
            let cleaned: Vec<Option<Value>> =
                items.iter().map(|item| stripped(item, false)).collect();
            if cleaned.iter().all(Option::is_none) {
                return None;
            }
            let items = items.iter().zip(cleaned);
            Some(Value::list(items.map(|(item, cleaned)| {
                cleaned.unwrap_or_else(|| item.clone())
            })))
        }
        Value::Object(fields) => {
            let mut changed: Option<Object> = None;
            for (name, field) in fields.iter() {
                let is = |words: &[&str]| !has_names && words.contains(&&**name);
                let cleaned = match field {
                    _ if is(&DATA) => None,
                    Value::Text(text) if is(&TEXTS) => {
                        let seen = without_hidden(text);
                        (*seen != **text).then(|| Value::from(seen.as_ref()))
                    }
                    other => stripped(other, is(&NAMED)),
                };
                if let Some(cleaned) = cleaned {
                    let changed = changed.get_or_insert_with(|| Object::clone(fields));
                    changed.insert(Arc::clone(name), cleaned);
                }
            }
            changed.map(Value::from)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use planwright_core::Value;

    use super::clean;

    fn check(what: (&str, &str), entries: &str, expected: &str, warned: &[&str]) {
        let mut entries = Value::from_json(entries).unwrap().as_list().unwrap().to_vec();
        let mut warnings = Vec::new();
        clean(&mut entries, what, &"s".into(), &mut warnings);
        assert_eq!(Value::from(entries).to_json(), expected);
        assert_eq!(warnings, warned);
    }

    #[test]
    fn names_that_cannot_be_seen_are_refused() {
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
    fn texts_lose_what_is_hidden_in_them() {
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
                "the server `s` describes the resource `x:1` with characters that cannot be seen, which were left out",
                r"the server `s` lists the resource `x:\u{200b}2`, whose name has characters that cannot be seen, so it was left out",
            ],
        );
    }
}
