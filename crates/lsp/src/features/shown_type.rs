//! Types as an editor shows them: `{temp: number, wind?: number}`.

use planwright::core::schema::{Additional, Type};

/// Maximum number of levels of objects and lists that are shown.
const MAX_DEPTH: usize = 3;

/// Maximum number of fields of an object that are shown.
const MAX_FIELDS: usize = 16;

/// Returns `shape` on one line.
pub(crate) fn shown_type(shape: &Type) -> String {
    shown(shape, MAX_DEPTH)
}

fn shown(shape: &Type, depth: usize) -> String {
    match shape {
        Type::Any => "any".to_owned(),
        Type::Never => "never".to_owned(),
        Type::Null => "null".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::Integer => "integer".to_owned(),
        Type::Number => "number".to_owned(),
        Type::Text => "text".to_owned(),
        Type::Literal(value) => value.to_string(),
        Type::List(_) if depth == 0 => "[…]".to_owned(),
        Type::List(list) => format!("[{}]", shown(&list.any_item(), depth - 1)),
        Type::Object(object) if object.properties.is_empty() => "object".to_owned(),
        Type::Object(_) if depth == 0 => "{…}".to_owned(),
        Type::Object(object) => {
            let fields = object.properties.iter().take(MAX_FIELDS);
            let mut fields: Vec<String> = fields
                .map(|(name, property)| {
                    let mark = if property.required { "" } else { "?" };
                    format!("{name}{mark}: {}", shown(&property.shape, depth - 1))
                })
                .collect();
            let is_closed = matches!(object.additional, Additional::Closed);
            if !is_closed || object.properties.len() > MAX_FIELDS {
                fields.push("…".to_owned());
            }
            format!("{{{}}}", fields.join(", "))
        }
        Type::Union(members) => {
            let members: Vec<String> = members.iter().map(|member| shown(member, depth)).collect();
            members.join(" | ")
        }
    }
}
