//! A server whose tools are functions, and the marker for parameters that may receive data of other steps.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use futures::future::BoxFuture;
use indexmap::IndexMap;
use planwright_core::{Hashing, Tool};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::Function;
use super::function::Body;
use crate::backend::{ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput};

/// A server whose tools are functions of this program.
///
/// ```
/// use planwright_engine::backend::{Function, Functions, ToolError};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Double {
///     number: i64,
/// }
///
/// async fn double(args: Double) -> Result<i64, ToolError> {
///     Ok(2 * args.number)
/// }
///
/// let functions = Functions::new().with(Function::new("double", double).read_only());
/// assert_eq!(functions.tools().next().unwrap().qualified_name(), "functions.double");
/// ```
#[derive(Clone)]
pub struct Functions {
    name: Arc<str>,
    by_name: IndexMap<Arc<str>, (Tool, Body), Hashing>,
    duplicates: Vec<Arc<str>>,
}

impl Functions {
    /// The default name of a server.
    pub const NAME: &'static str = "functions";

    /// Creates a server `functions` without any function.
    pub fn new() -> Self {
        Self::named(Self::NAME)
    }

    /// Creates a server `name` without any function.
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            by_name: IndexMap::default(),
            duplicates: Vec::new(),
        }
    }

    /// Adds a function. It replaces an earlier one of the same name; the name is then among the
    /// [`duplicates`](Self::duplicates), and an embedding program is refused for it when it opens its tools.
    pub fn with(mut self, function: Function) -> Self {
        let (tool, body) = function.into_parts(&self.name);
        let name = Arc::clone(&tool.name);
        if self
            .by_name
            .insert(Arc::clone(&name), (tool, body))
            .is_some()
        {
            self.duplicates.push(name);
        }
        self
    }

    /// The names under which several functions were added.
    pub fn duplicates(&self) -> &[Arc<str>] {
        &self.duplicates
    }

    /// The server's name, as plans write it before the dot.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The tools, for a [`Catalog`](planwright_core::Catalog).
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.by_name.values().map(|(tool, _)| tool)
    }
}

impl Default for Functions {
    fn default() -> Self {
        Self::new()
    }
}

impl ToolBackend for Functions {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        match self.by_name.get(&call.tool.name) {
            Some((_, body)) => body(call.args, call.context),
            None => {
                let message = format!("there is no function `{}`", call.tool.name);
                Box::pin(async move { Err(ToolError::new(ErrorKind::Unavailable, message)) })
            }
        }
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Functions")
            .field("name", &self.name)
            .field("tools", &self.by_name.keys().collect::<Vec<_>>())
            .field("duplicates", &self.duplicates)
            .finish()
    }
}

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
