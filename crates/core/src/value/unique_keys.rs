//! The check that no object of a JSON text has duplicate keys.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Returns an error that names the first duplicate key of an object.
pub(super) fn check(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str(text).map(|UniqueKeys| ())
}

/// A JSON value that is discarded after its keys were checked.
struct UniqueKeys;

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for UniqueKeys {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = fields.next_key::<String>()? {
            if keys.contains(&key) {
                return Err(Error::custom(format_args!("the key `{key}` occurs twice")));
            }
            keys.insert(key);
            fields.next_value::<Self>()?;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn duplicate_keys_are_an_error() {
        for text in [
            "1",
            "-1.5",
            "null",
            r#"["a", true, "a"]"#,
            r#"{"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}"#,
        ] {
            assert!(check(text).is_ok(), "{text}");
        }
        for text in [
            r#"{"a": 1, "a": 1}"#,
            r#"[{"b": {"a": 1, "c": 2, "a": 3}}]"#,
            r#"{"a": 1, "\u0061": 2}"#,
        ] {
            let error = check(text).unwrap_err().to_string();
            assert!(
                error.starts_with("the key `a` occurs twice at line 1 column "),
                "{error}"
            );
        }
    }
}
