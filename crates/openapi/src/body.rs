//! Bodies of requests.

use serde_json::Value;

use super::parameter::{Location, RequestParameter, encode, text_of};
use super::reference;
use super::schema::SchemaReader;

/// The maximum depth of schemas that are parts of each other.
const MAX_DEPTH: usize = 16;

/// The form of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Form,
    Text,
}

/// The content type of a body, its encoding, and its schema if it has one.
#[derive(Clone, Debug)]
pub(crate) struct BodyType<'d> {
    pub(crate) content_type: String,
    pub(crate) encoding: Encoding,
    pub(crate) schema: Option<&'d Value>,
    /// The fields of a form whose lists and objects have a style of their own.
    pub(crate) styles: Vec<RequestParameter>,
}

/// Chooses the content type of a body: JSON if there is one, then a form, then text.
///
/// # Errors
///
/// The reason, as one clause, if the body has only content types that cannot be sent.
pub(crate) fn body_type(body: &Value) -> Result<BodyType<'_>, String> {
    let content = body.get("content").and_then(Value::as_object);
    let rank = |encoding: Encoding| match encoding {
        Encoding::Json => 0,
        Encoding::Form => 1,
        Encoding::Text => 2,
    };
    let known = content.into_iter().flatten().filter_map(|(name, media)| {
        let (content_type, encoding) = encoding(name)?;
        Some(BodyType {
            content_type,
            encoding,
            schema: media.get("schema"),
            styles: styles(media),
        })
    });
    known.min_by_key(|body| rank(body.encoding)).ok_or_else(|| {
        match content.and_then(|content| content.keys().next()) {
            Some(name) => format!("its body is `{name}`, which cannot be sent"),
            None => "its body has no content type".to_owned(),
        }
    })
}

/// Returns the fields whose encoding states a style.
fn styles(media: &Value) -> Vec<RequestParameter> {
    let encodings = media.get("encoding").and_then(Value::as_object);
    let encodings = encodings.into_iter().flatten();
    encodings
        .filter(|(_, encoding)| encoding.get("style").is_some())
        .map(|(name, encoding)| RequestParameter::read(name, Location::Query, encoding))
        .collect()
}

/// Returns the content type to send for one that a document names, and its encoding.
fn encoding(name: &str) -> Option<(String, Encoding)> {
    let essence = essence(name);
    match &*essence {
        "*/*" | "application/*" => Some(("application/json".to_owned(), Encoding::Json)),
        essence if is_json(essence) => Some((name.to_owned(), Encoding::Json)),
        "application/x-www-form-urlencoded" => Some((name.to_owned(), Encoding::Form)),
        "text/*" => Some(("text/plain".to_owned(), Encoding::Text)),
        essence if essence.starts_with("text/") => Some((name.to_owned(), Encoding::Text)),
        _ => None,
    }
}

/// Returns a content type without its parameters, in lower case.
pub(crate) fn essence(content_type: &str) -> String {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

pub(crate) fn is_json(essence: &str) -> bool {
    essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
}

/// The fields of a body that can stand beside the parameters.
#[derive(Debug, Default)]
pub(crate) struct BodyFields<'d> {
    pub(crate) fields: Vec<(&'d str, &'d Value)>,
    pub(crate) required: Vec<&'d str>,
}

/// Returns the fields of a schema of an object, or `None` if the schema says more than that.
pub(crate) fn body_fields<'d>(
    document: &'d Value,
    schema: &'d Value,
    reader: &SchemaReader<'d>,
) -> Option<BodyFields<'d>> {
    let mut fields = BodyFields::default();
    let is_object = add_fields(document, schema, &mut fields, 0);
    fields
        .fields
        .retain(|(_, schema)| !reader.is_hidden(schema));
    (is_object && !fields.fields.is_empty()).then_some(fields)
}

fn add_fields<'d>(
    document: &'d Value,
    schema: &'d Value,
    into: &mut BodyFields<'d>,
    depth: usize,
) -> bool {
    let resolved = reference::resolve(document, schema)
        .ok()
        .and_then(Value::as_object);
    let Some(schema) = resolved.filter(|_| depth < MAX_DEPTH) else {
        return false;
    };
    for (keyword, value) in schema {
        let is_plain = match &**keyword {
            "type" => {
                value == "object" || value.as_array().is_some_and(|kinds| kinds == &["object"])
            }
            "additionalProperties" => *value == Value::Bool(false),
            "allOf" => value.as_array().is_some_and(|parts| {
                let mut parts = parts.iter();
                parts.all(|part| add_fields(document, part, into, depth + 1))
            }),
            "properties" => {
                for (name, field) in value.as_object().into_iter().flatten() {
                    // The same field in two parts has to fit both.
                    if into.fields.iter().any(|(known, _)| known == name) {
                        return false;
                    }
                    into.fields.push((name, field));
                }
                true
            }
            "required" => {
                let names = value.as_array().into_iter().flatten();
                into.required.extend(names.filter_map(Value::as_str));
                true
            }
            "title" | "description" | "example" | "examples" | "default" | "deprecated" | "xml"
            | "externalDocs" | "nullable" | "discriminator" | "readOnly" | "writeOnly"
            | "$schema" | "$id" | "$comment" | "$defs" | "definitions" => true,
            keyword => keyword.starts_with("x-"),
        };
        if !is_plain {
            return false;
        }
    }
    true
}

/// Writes a body in its encoding. The fields of a form that are in `styles` are written as these say.
pub(crate) fn write_body(
    encoding: Encoding,
    styles: &[RequestParameter],
    value: &Value,
) -> Vec<u8> {
    match (encoding, value) {
        (Encoding::Json, value) => value.to_string().into_bytes(),
        (Encoding::Form, Value::Object(fields)) => {
            let mut pairs = Vec::new();
            for (name, value) in fields {
                if let Some(style) = styles.iter().find(|style| style.name == *name) {
                    style.add_query(value, &mut pairs);
                    continue;
                }
                let name = encode(name, false);
                let mut add = |value: &Value| {
                    pairs.push(format!("{name}={}", encode(&text_of(value), false)));
                };
                match value {
                    Value::Array(items) => items.iter().for_each(add),
                    value => add(value),
                }
            }
            pairs.join("&").into_bytes()
        }
        (Encoding::Form | Encoding::Text, value) => text_of(value).into_bytes(),
    }
}
