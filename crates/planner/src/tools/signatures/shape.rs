//! A JSON Schema in compact form: `{id: integer, tags?: [string]}`, and short, clean forms of the texts that servers
//! give for tools.
//!
//! The text is derived from the schema's JSON rather than from its structural type, because a model should see values,
//! defaults, and names as the server wrote them. It is for reading and leaves details out.

use std::borrow::Cow;

use planwright_core::text::{is_visible, visible_json, without_hidden};
use planwright_core::{Object, Value};

/// Abbreviations whose full stop does not end a sentence.
const ABBREVIATIONS: &[&str] = &[
    "e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "incl.", "no.",
];

/// Returns the first sentence of `text` on one line, in at most `max_bytes` bytes.
pub(super) fn first_sentence(text: &str, max_bytes: usize) -> String {
    let text = without_hidden(text.trim_start());
    let paragraph = text.split("\n\n").next().unwrap_or_default();
    let mut sentence = String::new();
    // A cut sentence needs no more words than bytes.
    for word in paragraph.split_whitespace().take(max_bytes) {
        if !sentence.is_empty() {
            sentence.push(' ');
        }
        sentence.extend(word.chars().filter(|letter| !letter.is_control()));
        let ends = word.ends_with(['.', '!', '?', '。'])
            && !ABBREVIATIONS.contains(&word.to_lowercase().as_str());
        if ends || sentence.len() > max_bytes {
            break;
        }
    }
    if sentence.len() > max_bytes {
        return cut(&sentence, max_bytes);
    }
    sentence.trim_end_matches(['.', '。']).to_owned()
}

/// Returns `text` on one line, with runs of white space collapsed.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    let visible = without_hidden(text);
    if *visible != *text {
        return Cow::Owned(one_line(&visible).into_owned());
    }
    let is_clean = !text.contains(char::is_control) && !text.contains("  ") && text.trim() == text;
    if is_clean {
        return Cow::Borrowed(text);
    }
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    Cow::Owned(words.join(" "))
}

/// Returns `text` trimmed, without control characters except line breaks and tabs.
pub(super) fn multi_line(text: &str) -> String {
    let is_plain = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
    without_hidden(text.trim())
        .chars()
        .filter(is_plain)
        .collect()
}

/// Returns `text` if it fits into `max_bytes` bytes, or else its beginning.
pub(super) fn shortened(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(cut(text, max_bytes))
}

/// Returns the whole words at the start of `text` that fit into `max_bytes` bytes, and an ellipsis.
fn cut(text: &str, max_bytes: usize) -> String {
    let end = text.floor_char_boundary(max_bytes.saturating_sub('…'.len_utf8()));
    let beginning = &text[..end];
    let whole_words = beginning
        .rsplit_once(' ')
        .map_or(beginning, |(words, _)| words);
    format!("{}…", whole_words.trim_end_matches([',', ';', ':', '-']))
}

/// Maximum number of enum values, or of members of a union, that are shown.
const MAX_CHOICES: usize = 16;

/// Maximum number of fields of an object that are shown.
const MAX_FIELDS: usize = 40;

/// Maximum number of schemas that are visited per text. References can expand a short schema into a large tree.
const MAX_SCHEMAS: usize = 2000;

/// Maximum depth of nested schemas, including unions, which do not count towards [`ShapeLimits::depth`].
const MAX_NESTING: usize = 40;

/// Maximum length of a value that is shown, in bytes.
const MAX_LITERAL_LENGTH: usize = 60;

/// Maximum size of a value that is serialized at all: about a dozen parts.
const MAX_LITERAL_SIZE: usize = MAX_LITERAL_LENGTH + 12 * 64;

/// The limits of a shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShapeLimits {
    /// The depth of nested objects and lists.
    pub(super) depth: usize,
    /// The length of the text. Shapes that are longer are written again with less depth; at depth zero the limit is ignored.
    pub(super) bytes: usize,
}

/// Writes the shape of `schema`. References are resolved in `root`.
pub(super) fn shape(schema: &Value, root: &Value, limits: ShapeLimits) -> String {
    // Each attempt starts with the full number of schemas.
    let at = |depth| {
        let mut reader = ShapeWriter {
            root,
            left: MAX_SCHEMAS,
            nested: 0,
        };
        reader.shape(schema, depth)
    };
    (1..=limits.depth)
        .rev()
        .map(at)
        .find(|text| text.len() <= limits.bytes)
        .unwrap_or_else(|| at(0))
}

/// Follows references in `root`; returns the schema itself if it is not a reference.
pub(super) fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut schema = schema;
    // The bound ends cycles of references.
    for _ in 0..8 {
        let Some(reference) = schema.get("$ref").and_then(Value::as_text) else {
            break;
        };
        let Some(target) = reference
            .strip_prefix('#')
            .and_then(|pointer| resolve_pointer(root, pointer))
        else {
            break;
        };
        schema = target;
    }
    schema
}

/// Returns the properties of `schema`, and the names of those that are required.
pub(super) fn fields<'a>(schema: &'a Value, root: &'a Value) -> (Option<&'a Object>, Vec<&'a str>) {
    let schema = resolved(schema, root);
    let required = schema
        .get("required")
        .and_then(Value::as_list)
        .unwrap_or_default();
    (
        schema.get("properties").and_then(Value::as_object),
        required.iter().filter_map(Value::as_text).collect(),
    )
}

/// Writes a field name, quoted if necessary.
pub(super) fn field_name(name: &str) -> String {
    let is_plain =
        |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '$' | '.');
    if !name.is_empty() && name.chars().all(is_plain) && is_visible(name) {
        name.to_owned()
    } else {
        visible_json(&Value::text(name).to_json()).into_owned()
    }
}

/// Returns a value as JSON; `None` if it is long.
pub(super) fn literal(value: &Value) -> Option<String> {
    // The size is measured before serialization, because a default may be large.
    if value.exceeds(4, MAX_LITERAL_SIZE) {
        return None;
    }
    let json = value.to_json();
    (json.len() <= MAX_LITERAL_LENGTH).then(|| visible_json(&json).into_owned())
}

fn resolve_pointer<'a>(root: &'a Value, pointer: &str) -> Option<&'a Value> {
    let mut value = root;
    for segment in pointer.split('/').skip(1) {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        value = match value {
            Value::List(items) => items.get(segment.parse::<usize>().ok()?)?,
            other => other.get(&segment)?,
        };
    }
    Some(value)
}

struct ShapeWriter<'a> {
    root: &'a Value,
    left: usize,
    nested: usize,
}

impl<'a> ShapeWriter<'a> {
    fn shape(&mut self, schema: &'a Value, depth: usize) -> String {
        union(self.choices(schema, depth))
    }

    /// Returns the shapes of the members of a union, nested unions flattened; a schema that is not a union is its only member.
    fn choices(&mut self, schema: &'a Value, depth: usize) -> Vec<String> {
        let Some(left) = self
            .left
            .checked_sub(1)
            .filter(|_| self.nested < MAX_NESTING)
        else {
            return vec!["…".to_owned()];
        };
        self.left = left;
        self.nested += 1;
        let choices = self.described(schema, depth);
        self.nested -= 1;
        choices
    }

    fn described(&mut self, schema: &'a Value, depth: usize) -> Vec<String> {
        // `false` accepts no value, and adds nothing to a union.
        if *schema == Value::Bool(false) {
            return Vec::new();
        }
        let schema = resolved(schema, self.root);
        if let Some(value) = schema.get("const") {
            return vec![literal(value).unwrap_or_else(|| kind(value).to_owned())];
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_list) {
            let shown = |value| literal(value).unwrap_or_else(|| "…".to_owned());
            // One more than is shown, so that `union` appends an ellipsis.
            return values.iter().take(MAX_CHOICES + 1).map(shown).collect();
        }
        // Beside `type` or `properties`, a union only narrows the value, and is not shown.
        let is_described = schema.get("properties").is_some() || schema.get("type").is_some();
        for word in ["anyOf", "oneOf"] {
            if let Some(members) = schema.get(word).and_then(Value::as_list)
                && !is_described
            {
                let members = members.iter().take(MAX_CHOICES + 1);
                return members
                    .flat_map(|member| self.choices(member, depth))
                    .collect();
            }
        }
        if let Some([only]) = schema.get("allOf").and_then(Value::as_list)
            && !is_described
        {
            return self.choices(only, depth);
        }
        match schema.get("type") {
            Some(Value::List(kinds)) => {
                let kinds = kinds.iter().filter_map(Value::as_text);
                kinds
                    .map(|kind| self.of_kind(kind, schema, depth))
                    .collect()
            }
            Some(Value::Text(kind)) => vec![self.of_kind(kind, schema, depth)],
            _ if schema.get("properties").is_some() => vec![self.object(schema, depth)],
            _ if schema.get("items").is_some() => vec![self.list(schema, depth)],
            _ => vec!["any".to_owned()],
        }
    }

    fn of_kind(&mut self, kind: &str, schema: &'a Value, depth: usize) -> String {
        match kind {
            "object" => self.object(schema, depth),
            "array" => self.list(schema, depth),
            other => one_line(other).into_owned(),
        }
    }

    fn object(&mut self, schema: &'a Value, depth: usize) -> String {
        let (described, required) = fields(schema, self.root);
        let others = schema
            .get("additionalProperties")
            .filter(|others| others.as_object().is_some());
        let Some(deeper) = depth.checked_sub(1) else {
            return "object".to_owned();
        };
        let mut texts: Vec<String> = Vec::new();
        for (name, property) in described.into_iter().flatten() {
            if texts.len() == MAX_FIELDS {
                texts.push("…".to_owned());
                break;
            }
            let mark = if required.contains(&&**name) { "" } else { "?" };
            texts.push(format!(
                "{}{mark}: {}",
                field_name(name),
                self.shape(property, deeper)
            ));
        }
        if let Some(others) = others {
            texts.push(format!("[key]: {}", self.shape(others, deeper)));
        }
        if texts.is_empty() {
            return "object".to_owned();
        }
        format!("{{{}}}", texts.join(", "))
    }

    fn list(&mut self, schema: &'a Value, depth: usize) -> String {
        if let Some(first) = schema.get("prefixItems").and_then(Value::as_list)
            && let Some(deeper) = depth.checked_sub(1)
        {
            let items = first
                .iter()
                .take(MAX_FIELDS)
                .map(|item| self.shape(item, deeper));
            return format!("[{}]", items.collect::<Vec<_>>().join(", "));
        }
        match (schema.get("items"), depth.checked_sub(1)) {
            (Some(items), Some(deeper)) => format!("[{}]", self.shape(items, deeper)),
            // The type of the items costs few tokens, even at depth zero.
            (Some(items), None) => match resolved(items, self.root)
                .get("type")
                .and_then(Value::as_text)
            {
                Some(kind) => format!("[{}]", one_line(kind)),
                None => "array".to_owned(),
            },
            (None, _) => "array".to_owned(),
        }
    }
}

/// Joins distinct shapes in order, with `null` last.
fn union(texts: Vec<String>) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for text in texts {
        if !distinct.contains(&text) {
            distinct.push(text);
        }
    }
    distinct.sort_by_key(|text| text == "null");
    if distinct.len() > MAX_CHOICES {
        distinct.truncate(MAX_CHOICES);
        distinct.push("…".to_owned());
    }
    if distinct.is_empty() {
        return "never".to_owned();
    }
    distinct.join("|")
}

/// Returns the JSON Schema type of `value`.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::Text(_) => "string",
        Value::List(_) => "array",
        Value::Object(_) => "object",
    }
}
