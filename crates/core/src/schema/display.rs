//! Formatting of types and values for messages.

use std::fmt;

use super::Type;
use crate::Value;

/// Maximum number of characters of a value in a message.
const MAX_SHOWN: usize = 60;

/// Maximum number of members of a union in a message.
const MAX_NAMED: usize = 6;

/// Formats `value` as compact JSON, truncated if it is long.
pub(crate) fn shown(value: &Value) -> String {
    let mut text = String::new();
    write_shown(&mut text, value);
    let end = text.char_indices().nth(MAX_SHOWN).map(|(end, _)| end);
    if let Some(end) = end {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Writes as much of `value` as a message needs.
fn write_shown(text: &mut String, value: &Value) {
    match value {
        Value::Text(part) => {
            let part: String = part.chars().take(MAX_SHOWN + 1).collect();
            text.push_str(&Value::text(part).to_json());
        }
        Value::List(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if text.len() > MAX_SHOWN * 4 {
                    break;
                }
                if index > 0 {
                    text.push(',');
                }
                write_shown(text, item);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            text.push('{');
            for (index, (key, value)) in fields.iter().enumerate() {
                if text.len() > MAX_SHOWN * 4 {
                    break;
                }
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::Text(key.clone()).to_json());
                text.push(':');
                write_shown(text, value);
            }
            text.push('}');
        }
        scalar => text.push_str(&scalar.to_json()),
    }
}

impl fmt::Display for Type {
    /// Writes a short description: `a number`, ``a list or `null` ``.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("anything"),
            Self::Never => f.write_str("nothing"),
            Self::Null => f.write_str("null"),
            Self::Boolean => f.write_str("a boolean"),
            Self::Integer => f.write_str("an integer"),
            Self::Number => f.write_str("a number"),
            Self::Text => f.write_str("text"),
            Self::Literal(value) => write!(f, "`{}`", shown(value)),
            Self::List(list) => match list.any_item() {
                Self::Boolean => f.write_str("a list of booleans"),
                Self::Integer => f.write_str("a list of integers"),
                Self::Number => f.write_str("a list of numbers"),
                Self::Text => f.write_str("a list of texts"),
                Self::Object(_) => f.write_str("a list of objects"),
                Self::List(_) => f.write_str("a list of lists"),
                Self::Any | Self::Never | Self::Null | Self::Literal(_) | Self::Union(_) => {
                    f.write_str("a list")
                }
            },
            Self::Object(_) => f.write_str("an object"),
            Self::Union(members) => {
                for (index, member) in members.iter().take(MAX_NAMED).enumerate() {
                    if index > 0 {
                        f.write_str(" or ")?;
                    }
                    member.fmt(f)?;
                }
                if members.len() > MAX_NAMED {
                    f.write_str(" or …")?;
                }
                Ok(())
            }
        }
    }
}
