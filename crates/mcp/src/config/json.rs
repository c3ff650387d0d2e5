//! JSON with comments, as objects whose fields keep their order and duplicates.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// The names of the field with the servers: that of most clients, and that of VS Code.
const CONTAINERS: [&str; 2] = ["mcpServers", "servers"];

/// The top-level fields of the file; only those with servers have a value.
pub(super) struct McpConfigFile(pub(super) Vec<(String, Option<OrderedFields>)>);

impl<'de> Deserialize<'de> for McpConfigFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct McpConfigFileVisitor;

        impl<'de> Visitor<'de> for McpConfigFileVisitor {
            type Value = McpConfigFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut access: A,
            ) -> Result<McpConfigFile, A::Error> {
                let mut fields = Vec::new();
                while let Some(name) = access.next_key::<String>()? {
                    let servers = if CONTAINERS.contains(&name.as_str()) {
                        Some(access.next_value()?)
                    } else {
                        // Other fields belong to the client that owns the file.
                        access.next_value::<IgnoredAny>()?;
                        None
                    };
                    fields.push((name, servers));
                }
                Ok(McpConfigFile(fields))
            }
        }

        deserializer.deserialize_map(McpConfigFileVisitor)
    }
}

/// The fields of an object in their order, including duplicates.
pub(super) struct OrderedFields(pub(super) Vec<(String, Value)>);

impl<'de> Deserialize<'de> for OrderedFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OrderedFieldsVisitor;

        impl<'de> Visitor<'de> for OrderedFieldsVisitor {
            type Value = OrderedFields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut access: A,
            ) -> Result<OrderedFields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = access.next_entry()? {
                    fields.push(field);
                }
                Ok(OrderedFields(fields))
            }
        }

        deserializer.deserialize_map(OrderedFieldsVisitor)
    }
}

/// Replaces comments and trailing commas with blanks, so that plain JSON remains and all positions stay the same.
pub(super) fn to_json(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let without_comments = blank(text.as_bytes(), comment_at);
    let plain = blank(&without_comments, trailing_comma_at);
    String::from_utf8(plain).unwrap_or_else(|_| text.to_owned())
}

/// Blanks what `found` matches outside of strings: it gets the rest of the text and returns the length of the match, or
/// 0.
fn blank(bytes: &[u8], found: fn(&[u8]) -> usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut in_string = false;
    let mut escaped = false;
    let mut rest = bytes;
    while let Some((&byte, after)) = rest.split_first() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else {
            let length = found(rest);
            if length > 0 {
                let (blanked, after) = rest.split_at(length);
                out.extend(blanked.iter().map(|byte| match byte {
                    // Line breaks stay, so that error positions are correct.
                    b'\n' | b'\r' => *byte,
                    _ => b' ',
                }));
                rest = after;
                continue;
            }
            in_string = byte == b'"';
        }
        out.push(byte);
        rest = after;
    }
    out
}

fn comment_at(rest: &[u8]) -> usize {
    if rest.starts_with(b"//") {
        return rest.iter().take_while(|byte| **byte != b'\n').count();
    }
    if rest.starts_with(b"/*") {
        // An unclosed comment stays, so that the parser reports it at its position.
        return rest[2..]
            .windows(2)
            .position(|pair| pair == b"*/")
            .map_or(0, |position| position + 4);
    }
    0
}

fn trailing_comma_at(rest: &[u8]) -> usize {
    let next = rest[1..].iter().find(|byte| !byte.is_ascii_whitespace());
    usize::from(rest.starts_with(b",") && matches!(next, Some(b'}' | b']')))
}
