//! A marker for parameters that may receive data of other steps.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

/// A parameter, or a part of one, that may receive data of other steps.
///
/// Some dialects, such as Concierge's, let references stand only where the tool's schema says `"x-sharable": true`, so
/// that a tool decides which data of others it takes. In all other dialects it means nothing. Values are read and
/// written as those of `T`.
///
/// ```
/// use planwright_engine::backend::Sharable;
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// /// Sends a letter.
/// #[derive(Deserialize, JsonSchema)]
/// struct Letter {
///     /// Written by the author of the plan, never by another tool.
///     to: String,
///     text: Sharable<String>,
/// }
/// # let letter: Letter = serde_json::from_str(r#"{"to": "Ada", "text": "Hello."}"#).unwrap();
/// # assert_eq!(letter.text.len(), 6);
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Sharable<T>(pub T);

impl<T> Sharable<T> {
    /// The value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> From<T> for Sharable<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T> Deref for Sharable<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Sharable<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: std::fmt::Display> std::fmt::Display for Sharable<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: JsonSchema> JsonSchema for Sharable<T> {
    /// The marker belongs to the parameter, not to its type, which other parameters may share.
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Sharable_{}", T::schema_name()).into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("{}::Sharable<{}>", module_path!(), T::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = generator.subschema_for::<T>();
        schema.insert("x-sharable".to_owned(), true.into());
        schema
    }

    /// Optional fields stay optional: the derive of `JsonSchema` calls this method.
    fn _schemars_private_is_option() -> bool {
        T::_schemars_private_is_option()
    }
}
