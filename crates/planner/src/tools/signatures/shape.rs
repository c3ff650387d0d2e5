//! A JSON Schema in few letters: `{id: integer, tags?: [string]}`.
//!
//! Made of the schema's text rather than of its structural type, since a model should see values, defaults and names as the server
//! wrote them. It is for reading: what it leaves out, the schema still says.

use planwright_core::text::{is_visible, visible_json};
use planwright_core::{Object, Value};

/// How many values of an `enum`, or kinds of a union, are shown.
const MAX_CHOICES: usize = 16;

/// How many fields of an object are shown.
const MAX_FIELDS: usize = 40;

/// How many schemas are looked at for one text. References make trees out of little text.
const MAX_SCHEMAS: usize = 2000;

/// How many schemas may stand in each other, unions included, which make nothing deeper.
const MAX_NESTING: usize = 40;

/// The longest value that is shown, in bytes.
const MAX_LITERAL_LENGTH: usize = 60;

/// What a value may come to that is written at all: no more than a dozen parts.
const MAX_LITERAL_SIZE: usize = MAX_LITERAL_LENGTH + 12 * 64;

/// How far a text may go.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShapeLimits {
    /// How many objects and lists may stand in each other.
    pub(super) depth: usize,
    /// How many bytes the text may take. It is made with less depth until it does, and without any it is as long as it is.
    pub(super) bytes: usize,
}

/// `schema` in few letters. References are looked up in `root`.
pub(super) fn shape(schema: &Value, root: &Value, limits: ShapeLimits) -> String {
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

/// What a reference leads to; the schema itself where it is none.
pub(super) fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let mut schema = schema;
    // References that lead to each other end somewhere, too.
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

/// The fields that `schema` describes by name, and the names of those that must be there.
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

/// A name as it may stand before a colon.
pub(super) fn field_name(name: &str) -> String {
    let is_plain =
        |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '$' | '.');
    if !name.is_empty() && name.chars().all(is_plain) && is_visible(name) {
        name.to_owned()
    } else {
        visible_json(&Value::text(name).to_json()).into_owned()
    }
}

/// A short value as JSON; nothing where it is long.
pub(super) fn literal(value: &Value) -> Option<String> {
    // Measured before it is written: a default may be large.
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

    /// The kinds and values of which `schema` is the union, unions within it taken apart.
    fn choices(&mut self, schema: &'a Value, depth: usize) -> Vec<String> {
        let Some(left) = self.left.checked_sub(1).filter(|_| self.nested < MAX_NESTING) else {
            return vec!["…".to_owned()];
        };
        self.left = left;
        self.nested += 1;
        let choices = self.described(schema, depth);
        self.nested -= 1;
        choices
    }

    fn described(&mut self, schema: &'a Value, depth: usize) -> Vec<String> {
        if *schema == Value::Bool(false) {
            return Vec::new();
        }
        let schema = resolved(schema, self.root);
        if let Some(value) = schema.get("const") {
            return vec![literal(value).unwrap_or_else(|| kind(value).to_owned())];
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_list) {
            let shown = |value| literal(value).unwrap_or_else(|| "…".to_owned());
            return values.iter().take(MAX_CHOICES + 1).map(shown).collect();
        }
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
            other => super::prose::one_line(other).into_owned(),
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
            // The kind of the items costs next to nothing.
            (Some(items), None) => match resolved(items, self.root)
                .get("type")
                .and_then(Value::as_text)
            {
                Some(kind) => format!("[{}]", super::prose::one_line(kind)),
                None => "array".to_owned(),
            },
            (None, _) => "array".to_owned(),
        }
    }
}

/// Each once, in their order; `null` last.
fn union(texts: Vec<String>) -> String {
    let mut kept: Vec<String> = Vec::new();
    for text in texts {
        if !kept.contains(&text) {
            kept.push(text);
        }
    }
    kept.sort_by_key(|text| text == "null");
    if kept.len() > MAX_CHOICES {
        kept.truncate(MAX_CHOICES);
        kept.push("…".to_owned());
    }
    if kept.is_empty() {
        return "never".to_owned();
    }
    kept.join("|")
}

/// What JSON Schema calls the kind of `value`.
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
