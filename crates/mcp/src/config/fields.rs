//! JSON objects whose fields keep their order and duplicates.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// The names of the field with the servers: that of most clients, and that of VS Code.
const CONTAINERS: [&str; 2] = ["mcpServers", "servers"];

/// The top-level fields of the file; only those with servers have a value.
pub(super) struct Parts(pub(super) Vec<(String, Option<Fields>)>);

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PartsVisitor;

        impl<'de> Visitor<'de> for PartsVisitor {
            type Value = Parts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Parts, A::Error> {
                let mut parts = Vec::new();
                while let Some(name) = access.next_key::<String>()? {
                    let servers = if CONTAINERS.contains(&name.as_str()) {
                        Some(access.next_value()?)
                    } else {
                        access.next_value::<IgnoredAny>()?;
                        None
                    };
                    parts.push((name, servers));
                }
                Ok(Parts(parts))
            }
        }

        deserializer.deserialize_map(PartsVisitor)
    }
}

/// The fields of an object in their order, including duplicates.
pub(super) struct Fields(pub(super) Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;

        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = access.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(FieldsVisitor)
    }
}
