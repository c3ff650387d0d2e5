//! Parameters, and their texts in a request.

use serde_json::{Map, Value};

/// The part of a request that has a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    Path,
    Query,
    Header,
    Cookie,
}

impl Location {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "path" => Some(Self::Path),
            "query" => Some(Self::Query),
            "header" => Some(Self::Header),
            "cookie" => Some(Self::Cookie),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
            Self::Cookie => "cookie",
        }
    }
}

/// The form of a list or an object in a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
    /// The JSON text of the value.
    Json,
}

/// A parameter of an operation.
#[derive(Clone, Debug)]
pub(crate) struct RequestParameter {
    pub(crate) name: String,
    pub(crate) location: Location,
    style: Style,
    explode: bool,
    allow_reserved: bool,
}

impl RequestParameter {
    /// Reads the style of the parameter `object`.
    pub(crate) fn read(name: &str, location: Location, object: &Value) -> Self {
        let style = match object.get("style").and_then(Value::as_str) {
            _ if object.get("content").is_some() => Style::Json,
            Some("label") => Style::Label,
            Some("matrix") => Style::Matrix,
            Some("spaceDelimited") => Style::SpaceDelimited,
            Some("pipeDelimited") => Style::PipeDelimited,
            Some("deepObject") => Style::DeepObject,
            _ => match location {
                Location::Path | Location::Header => Style::Simple,
                Location::Query | Location::Cookie => Style::Form,
            },
        };
        let flag = |field: &str| object.get(field).and_then(Value::as_bool);
        Self {
            name: name.to_owned(),
            location,
            style,
            explode: flag("explode").unwrap_or(style == Style::Form),
            allow_reserved: flag("allowReserved").unwrap_or(false),
        }
    }

    /// Returns the encoded text of a parameter of the path.
    pub(crate) fn path_text(&self, value: &Value) -> String {
        let encoded = |text: &str| encode(text, false);
        let name = encoded(&self.name);
        let (start, separator, pairs) = match (self.style, self.explode) {
            (Style::Label, true) => (".", ".", "="),
            (Style::Label, false) => (".", ",", ","),
            (Style::Matrix, true) => (";", ";", "="),
            (Style::Json, _) => return encoded(&value.to_string()),
            (_, true) => ("", ",", "="),
            (_, false) => ("", ",", ","),
        };
        let is_matrix = self.style == Style::Matrix;
        let text = match value {
            Value::Array(items) if is_matrix && self.explode => join(
                items
                    .iter()
                    .map(|item| format!("{name}={}", encoded(&text_of(item)))),
                ";",
            ),
            Value::Array(items) => {
                join(items.iter().map(|item| encoded(&text_of(item))), separator)
            }
            Value::Object(fields) => join(
                fields.iter().map(|(key, value)| {
                    format!("{}{pairs}{}", encoded(key), encoded(&text_of(value)))
                }),
                separator,
            ),
            value => encoded(&text_of(value)),
        };
        // The name is written once, unless each item or field has its own.
        let has_own_names = self.explode && (value.is_array() || value.is_object());
        if is_matrix && !has_own_names {
            format!(";{name}={text}")
        } else {
            format!("{start}{text}")
        }
    }

    /// Adds the encoded pairs of a parameter of the query, such as `name=value`.
    pub(crate) fn add_query(&self, value: &Value, pairs: &mut Vec<String>) {
        let name = encode(&self.name, false);
        let encoded = |value: &Value| encode(&text_of(value), self.allow_reserved);
        let mut add = |name: &str, text: String| pairs.push(format!("{name}={text}"));
        match (self.style, value) {
            (_, Value::Null) => {}
            (Style::Json, value) => add(&name, encode(&value.to_string(), self.allow_reserved)),
            (Style::DeepObject, Value::Object(fields)) => add_deep(&name, fields, pairs),
            (Style::Form, Value::Array(items)) if self.explode => {
                for item in items {
                    add(&name, encoded(item));
                }
            }
            (Style::Form, Value::Object(fields)) if self.explode => fields
                .iter()
                .for_each(|(key, value)| add(&encode(key, false), encoded(value))),
            (_, Value::Array(items)) => {
                let separator = match self.style {
                    Style::SpaceDelimited => "%20",
                    Style::PipeDelimited => "%7C",
                    _ => ",",
                };
                if !items.is_empty() {
                    add(&name, join(items.iter().map(encoded), separator));
                }
            }
            (_, Value::Object(fields)) => {
                let fields = fields.iter();
                let texts =
                    fields.map(|(key, value)| format!("{},{}", encode(key, false), encoded(value)));
                add(&name, join(texts, ","));
            }
            (_, value) => add(&name, encoded(value)),
        }
    }

    /// Returns the text of a header, or of the value of a cookie, which are not encoded.
    pub(crate) fn plain_text(&self, value: &Value) -> String {
        let pairs = if self.explode { "=" } else { "," };
        match value {
            value if self.style == Style::Json => value.to_string(),
            Value::Array(items) => join(items.iter().map(text_of), ","),
            Value::Object(fields) => join(
                fields
                    .iter()
                    .map(|(key, value)| format!("{key}{pairs}{}", text_of(value))),
                ",",
            ),
            value => text_of(value),
        }
    }
}

/// Adds the fields of an object as `name[key]=value`.
fn add_deep(name: &str, fields: &Map<String, Value>, pairs: &mut Vec<String>) {
    for (key, value) in fields {
        let name = format!("{name}%5B{}%5D", encode(key, false));
        match value {
            Value::Object(fields) => add_deep(&name, fields, pairs),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    match item {
                        // The fields of one object stay together by its position.
                        Value::Object(fields) => {
                            add_deep(&format!("{name}%5B{index}%5D"), fields, pairs);
                        }
                        item => pairs.push(format!("{name}={}", encode(&text_of(item), false))),
                    }
                }
            }
            Value::Null => {}
            value => pairs.push(format!("{name}={}", encode(&text_of(value), false))),
        }
    }
}

fn join(texts: impl Iterator<Item = String>, separator: &str) -> String {
    texts.collect::<Vec<_>>().join(separator)
}

/// Returns a value as text: a text itself, and the JSON of anything else.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

/// Percent-encodes all but the unreserved characters of RFC 3986, and those reserved ones that cannot end a value.
pub(crate) fn encode(text: &str, allow_reserved: bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let is_plain = byte.is_ascii_alphanumeric()
            || b"-._~".contains(&byte)
            || (allow_reserved && b":/?@!$'()*,;".contains(&byte));
        if is_plain {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push(char::from(b"0123456789ABCDEF"[usize::from(byte >> 4)]));
            encoded.push(char::from(b"0123456789ABCDEF"[usize::from(byte & 15)]));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Location, RequestParameter};

    fn path(object: &Value, value: &Value) -> String {
        RequestParameter::read("p", Location::Path, object).path_text(value)
    }

    fn query(object: &Value, value: &Value) -> String {
        let mut pairs = Vec::new();
        RequestParameter::read("p", Location::Query, object).add_query(value, &mut pairs);
        pairs.join("&")
    }

    #[test]
    fn writes_the_examples_of_the_specification() {
        let list = json!(["blue", "black", "brown"]);
        let object = json!({"R": 100, "G": 200});
        let style = |style: &str, explode: bool| json!({"style": style, "explode": explode});
        for (style, of_list, of_object) in [
            (json!({}), "blue,black,brown", "R,100,G,200"),
            (style("simple", true), "blue,black,brown", "R=100,G=200"),
            (style("label", false), ".blue,black,brown", ".R,100,G,200"),
            (style("label", true), ".blue.black.brown", ".R=100.G=200"),
            (
                style("matrix", false),
                ";p=blue,black,brown",
                ";p=R,100,G,200",
            ),
            (
                style("matrix", true),
                ";p=blue;p=black;p=brown",
                ";R=100;G=200",
            ),
        ] {
            assert_eq!(path(&style, &list), of_list, "{style}");
            assert_eq!(path(&style, &object), of_object, "{style}");
        }
        assert_eq!(path(&style("matrix", true), &json!("blue")), ";p=blue");
        assert_eq!(path(&json!({}), &json!("a/b c?ü")), "a%2Fb%20c%3F%C3%BC");
        for (style, of_list, of_object) in [
            (json!({}), "p=blue&p=black&p=brown", "R=100&G=200"),
            (style("form", false), "p=blue,black,brown", "p=R,100,G,200"),
            (
                style("spaceDelimited", false),
                "p=blue%20black%20brown",
                "p=R,100,G,200",
            ),
            (
                style("pipeDelimited", false),
                "p=blue%7Cblack%7Cbrown",
                "p=R,100,G,200",
            ),
            (
                style("deepObject", true),
                "p=blue,black,brown",
                "p%5BR%5D=100&p%5BG%5D=200",
            ),
        ] {
            assert_eq!(query(&style, &list), of_list, "{style}");
            assert_eq!(query(&style, &object), of_object, "{style}");
        }
        assert_eq!(query(&json!({}), &json!("a&b=c")), "p=a%26b%3Dc");
        assert_eq!(
            query(&json!({"allowReserved": true}), &json!("a:b/c&d")),
            "p=a:b/c%26d"
        );
        assert_eq!(query(&json!({}), &json!(null)), "");
        assert_eq!(query(&json!({}), &json!([])), "");
        assert_eq!(
            query(&json!({"content": {}}), &json!({"a": 1})),
            "p=%7B%22a%22%3A1%7D"
        );
    }
}
