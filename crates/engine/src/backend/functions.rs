//! Tools that are Rust functions of the program itself.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use futures::future::BoxFuture;
use indexmap::IndexMap;
use planwright_core::{Annotations, Hashing, Hints, Schema, ServerName, Tool, Value};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{CallContext, ErrorKind, RetryAdvice, ToolBackend, ToolCall, ToolError, ToolOutput};

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
    name: ServerName,
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
    pub fn named(name: impl Into<ServerName>) -> Self {
        Self {
            name: name.into(),
            by_name: IndexMap::default(),
            duplicates: Vec::new(),
        }
    }

    /// Adds a function. It replaces an earlier one of the same name; the name is then among the
    /// [`duplicates`](Self::duplicates), and the builder of `planwright` rejects the server.
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
    pub fn name(&self) -> &ServerName {
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
            // The server is not compared: `Backends` has routed the call here by it.
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
/// Some dialects, such as Concierge's, allow references only in parameters whose schema has `"x-sharable": true`, so the
/// tool decides which parameters take results of other steps. Other dialects ignore the marker. Values are read and
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

    // A separate name: a definition with the name of the plain type would lose the marker.
    fn schema_name() -> Cow<'static, str> {
        format!("Sharable_{}", T::schema_name()).into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("{}::Sharable<{}>", module_path!(), T::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> schemars::Schema {
        let mut schema = generator.subschema_for::<T>();
        schema.insert("x-sharable".to_owned(), true.into());
        schema
    }

    /// Optional fields stay optional: the derive of `JsonSchema` calls this method.
    fn _schemars_private_is_option() -> bool {
        T::_schemars_private_is_option()
    }
}

/// The parameters of a function.
struct Parameters {
    /// A schema of an object.
    schema: Schema,
    /// The doc comment on the type.
    description: Option<Arc<str>>,
    /// True if there are none: the type deserializes from `null`, but the function is called with `{}`.
    is_unit: bool,
}

/// The position of a schema: a complete description of its values, or one branch of a combination.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SchemaPosition {
    Whole,
    Branch,
}

/// The callable body. It owns all that it needs, so dropping its future cancels the call.
type Body = Arc<
    dyn Fn(Value, CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync,
>;

/// A function that plans call as a tool.
///
/// Its annotations are trusted, since it is part of the program. By default it counts as neither read-only
/// nor idempotent.
#[must_use = "a function becomes a tool only when it is added to `Functions`"]
pub struct Function {
    tool: Tool,
    body: Body,
}

impl Function {
    /// Creates the function `name`. Its parameters are the fields of `A`, its schemas those of `A` and `T`, and the
    /// doc comment on `A` is its description unless [another](Self::description) is set. A function without parameters
    /// takes `()`.
    ///
    /// It fails with a [`ToolError`], or with any other error or text, which becomes the message of one.
    pub fn new<A, F, R, T, E>(name: impl Into<Arc<str>>, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(A) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize + JsonSchema,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        Self::opaque(name, function).output(result_schema::<T>())
    }

    /// Creates the function `name`. Like [`new`](Self::new), but the function also receives the [context](CallContext) of the call: the run, the
    /// step, the idempotency key, and [data](crate::RunOptions::data) of the caller.
    pub fn with_context<A, F, R, T, E>(name: impl Into<Arc<str>>, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(A, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize + JsonSchema,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        Self::typed(name, function).output(result_schema::<T>())
    }

    /// Creates the function `name` with an unspecified output schema, for results whose type has no `JsonSchema`.
    pub fn opaque<A, F, R, T, E>(name: impl Into<Arc<str>>, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(A) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        Self::typed(name, move |args, _| function(args))
    }

    fn typed<A, F, R, T, E>(name: impl Into<Arc<str>>, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(A, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let parameters = describe_parameters::<A>();
        let takes_nothing = parameters.is_unit;
        let body: Body = Arc::new(move |args, context| {
            // serde reads `()` from `null`, but tools are called with an object.
            let args = if takes_nothing { Value::Null } else { args };
            // The arguments fit the schema, but types may be stricter, for example by a custom `Deserialize`.
            match serde_json::from_value::<A>(args.into()) {
                Ok(args) => {
                    let call = function(args, context);
                    Box::pin(async move { to_output(call.await) })
                }
                Err(error) => {
                    let error = ToolError::new(ErrorKind::Arguments, error.to_string());
                    Box::pin(async move { Err(error) })
                }
            }
        });
        let mut function = Self::of(name, body).input(parameters.schema);
        function.tool.description = parameters.description;
        function
    }

    /// Creates the function `name` on untyped values. It receives an object that matches its [input
    /// schema](Self::input), if it has one.
    pub fn raw<F, R>(name: impl Into<Arc<str>>, function: F) -> Self
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        Self::of(name, Arc::new(move |args, _| Box::pin(function(args))))
    }

    fn of(name: impl Into<Arc<str>>, body: Body) -> Self {
        // The function is part of the program, so its declarations are trusted.
        let annotations = Annotations {
            trusted: true,
            ..Annotations::default()
        };
        Self {
            tool: Tool {
                annotations,
                ..Tool::new("", name)
            },
            body,
        }
    }

    /// Sets a title for people.
    pub fn title(mut self, title: impl Into<Arc<str>>) -> Self {
        self.tool.title = Some(title.into());
        self
    }

    /// Sets the description for authors of plans.
    pub fn description(mut self, description: impl Into<Arc<str>>) -> Self {
        self.tool.description = Some(description.into());
        self
    }

    /// Declares that it changes nothing, so a lost call may be repeated.
    pub fn read_only(mut self) -> Self {
        self.tool.annotations.read_only = true;
        // The default of MCP is `true`, which contradicts a tool that changes nothing.
        self.tool.annotations.destructive = false;
        self.idempotent()
    }

    /// Declares that a second call with the same arguments does no further harm.
    pub fn idempotent(mut self) -> Self {
        self.tool.annotations.idempotent = true;
        self
    }

    /// Declares that it adds data but destroys none.
    pub fn additive(mut self) -> Self {
        self.tool.annotations.destructive = false;
        self
    }

    /// Sets all annotations. They are trusted regardless of their own `trusted` field.
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.tool.annotations = Annotations {
            trusted: true,
            ..annotations
        };
        self
    }

    /// Requires the approval of a person before each call.
    pub fn needs_approval(mut self) -> Self {
        self.tool.approval = true;
        self.tool.approval_reason = Some(Arc::from("the program asks before each call"));
        self
    }

    /// Sets the input schema: a JSON Schema of an object.
    pub fn input(mut self, schema: Schema) -> Self {
        self.tool.input = schema;
        self
    }

    /// Sets the output schema: a JSON Schema.
    pub fn output(mut self, schema: Schema) -> Self {
        self.tool.output = schema;
        self
    }

    fn into_parts(self, server: &ServerName) -> (Tool, Body) {
        let annotations = self.tool.annotations;
        let tool = Tool {
            server: server.clone(),
            // Hints record what was stated explicitly, and rules about tools without hints must not apply to functions.
            hints: Hints {
                read_only: Some(annotations.read_only),
                destructive: Some(annotations.destructive),
                idempotent: Some(annotations.idempotent),
                open_world: Some(annotations.open_world),
            },
            ..self.tool
        };
        (tool, self.body)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function")
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

/// The parameters described by the fields of `A`.
fn describe_parameters<A: JsonSchema>() -> Parameters {
    let mut schema = root_schema::<A>(SchemaSettings::draft2020_12().for_deserialize());
    let description = schema
        .remove("description")
        .and_then(|text| text.as_str().map(Arc::from));
    let is_unit = schema.get("type").is_some_and(|kind| kind == "null");
    // The arguments of a call are always an object: without parameters it is an empty one.
    if is_unit {
        schema = schemars::json_schema!({"type": "object", "additionalProperties": false});
    }
    Parameters {
        schema: close_and_convert(schema),
        description,
        is_unit,
    }
}

/// The schema of a result.
fn result_schema<T: JsonSchema>() -> Schema {
    close_and_convert(root_schema::<T>(
        SchemaSettings::draft2020_12().for_serialize(),
    ))
}

/// Generates a schema without its dialect and the name of the Rust type, which mean nothing to authors of plans.
fn root_schema<T: JsonSchema>(settings: SchemaSettings) -> schemars::Schema {
    let settings = settings.with(|settings| settings.meta_schema = None);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // A title of the author stays; the generated one is only the name of the Rust type.
    if schema
        .get("title")
        .is_some_and(|title| title == &*T::schema_name())
    {
        schema.remove("title");
    }
    schema
}

fn close_and_convert(schema: schemars::Schema) -> Schema {
    let mut text = schema.to_value();
    forbid_additional(&mut text, SchemaPosition::Whole);
    Schema::from_value(Value::from(text))
}

/// Forbids additional properties on every object whose fields are all known: serde writes no others, and would silently
/// ignore a misspelt optional one. So a wrong name is found before the run.
fn forbid_additional(schema: &mut Json, position: SchemaPosition) {
    const BRANCHES: [&str; 3] = ["allOf", "anyOf", "oneOf"];
    // Keywords that describe or allow further fields.
    const OPENERS: [&str; 3] = ["$ref", "additionalProperties", "unevaluatedProperties"];
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    let has_more = |words: &[&str]| words.iter().any(|word| fields.contains_key(*word));
    // The branches of a combination describe one object together: closing one would forbid the fields of the others.
    let is_complete =
        position == SchemaPosition::Whole && !has_more(&BRANCHES) && !has_more(&OPENERS);
    if is_complete && fields.contains_key("properties") {
        fields.insert("additionalProperties".to_owned(), false.into());
    }
    for (word, inner) in fields {
        match (word.as_str(), inner) {
            ("properties" | "$defs", Json::Object(schemas)) => {
                for schema in schemas.values_mut() {
                    forbid_additional(schema, SchemaPosition::Whole);
                }
            }
            ("items" | "additionalProperties", schema) => {
                forbid_additional(schema, SchemaPosition::Whole);
            }
            ("prefixItems", Json::Array(schemas)) => {
                for schema in schemas {
                    forbid_additional(schema, SchemaPosition::Whole);
                }
            }
            (word, Json::Array(schemas)) if BRANCHES.contains(&word) => {
                for schema in schemas {
                    forbid_additional(schema, SchemaPosition::Branch);
                }
            }
            _ => {}
        }
    }
}

fn to_output<T, E>(result: Result<T, E>) -> Result<ToolOutput, ToolError>
where
    T: Serialize,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let result = result.map_err(|error| to_tool_error(error.into()))?;
    match serde_json::to_value(result) {
        Ok(value) => Ok(ToolOutput::value(value.into())),
        Err(error) => Err(ToolError {
            // The function has already run, so the call may have had its effect.
            retry: RetryAdvice::Uncertain,
            ..ToolError::new(
                ErrorKind::Internal,
                format!("the result cannot be written as JSON: {error}"),
            )
        }),
    }
}

/// Returns a [`ToolError`] unchanged; any other error becomes its message followed by those of its sources.
fn to_tool_error(error: Box<dyn Error + Send + Sync>) -> ToolError {
    match error.downcast::<ToolError>() {
        Ok(failure) => *failure,
        Err(error) => {
            let mut message = error.to_string();
            let mut source = error.source();
            while let Some(cause) = source {
                // The model that reads the error has no access to the chain of sources.
                message = format!("{message}: {cause}");
                source = cause.source();
            }
            ToolError::tool(message, Value::Null)
        }
    }
}

#[cfg(test)]
mod tests;
