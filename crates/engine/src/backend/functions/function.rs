//! Functions as tools, with their descriptions for the catalog: JSON Schemas of Rust types, parameters as serde reads them,
//! results as it writes them.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::{Annotations, Hints, Schema, Tool, Value};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::backend::{CallContext, ErrorKind, RetryAdvice, ToolError, ToolOutput};

/// The parameters of a function.
pub(super) struct Parameters {
    /// A schema of an object.
    pub(super) schema: Schema,
    /// The doc comment on the type.
    pub(super) description: Option<Arc<str>>,
    /// True if there are none: the type deserializes from `null`, but the function is called with `{}`.
    pub(super) is_unit: bool,
}

/// The parameters described by the fields of `A`.
fn of_parameters<A: JsonSchema>() -> Parameters {
    let mut schema = root_schema::<A>(SchemaSettings::draft2020_12().for_deserialize());
    let description = schema
        .remove("description")
        .and_then(|text| text.as_str().map(Arc::from));
    let is_unit = schema.get("type").is_some_and(|kind| kind == "null");
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
fn of_result<T: JsonSchema>() -> Schema {
    close_and_convert(root_schema::<T>(
        SchemaSettings::draft2020_12().for_serialize(),
    ))
}

/// Generates a schema without its dialect and the name of the Rust type, which mean nothing to authors of plans.
fn root_schema<T: JsonSchema>(settings: SchemaSettings) -> schemars::Schema {
    let settings = settings.with(|settings| settings.meta_schema = None);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
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

/// The position of a schema: a complete description of its values, or one branch of a combination.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SchemaPosition {
    Whole,
    Branch,
}

/// Forbids additional properties on every object with fields, unless the schema describes it elsewhere, too: serde
/// writes no others and rejects unknown ones. So a misspelt name is found before the run.
fn forbid_additional(schema: &mut Json, position: SchemaPosition) {
    const BRANCHES: [&str; 3] = ["allOf", "anyOf", "oneOf"];
    const OTHERS: [&str; 3] = ["$ref", "additionalProperties", "unevaluatedProperties"];
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    let has_more = |words: &[&str]| words.iter().any(|word| fields.contains_key(*word));
    // The branches of a combination describe one object together: closing one would forbid the fields of the others.
    let is_complete =
        position == SchemaPosition::Whole && !has_more(&BRANCHES) && !has_more(&OTHERS);
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

/// The callable body. It owns all that it needs, so dropping its future cancels the call.
pub(super) type Body = Arc<
    dyn Fn(Value, CallContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync,
>;

/// A function that plans call as a tool.
///
/// Its annotations are trusted, since it is part of the program. By default it may change things, and a second call
/// may do harm.
#[must_use = "a function is no tool before it is among the functions of a server"]
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
        Self::opaque(name, function).output(of_result::<T>())
    }

    /// Creates the function `name` as [`new`](Self::new) does, on the parameters and the [context](CallContext) of the call: the run, the step, the
    /// idempotency key, and [data](crate::RunOptions::data) of the caller.
    pub fn with_context<A, F, R, T, E>(name: impl Into<Arc<str>>, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(A, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize + JsonSchema,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        Self::typed(name, function).output(of_result::<T>())
    }

    /// Creates the function `name` with an unspecified output schema.
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
        let parameters = of_parameters::<A>();
        let takes_nothing = parameters.is_unit;
        let body: Body = Arc::new(move |args, context| {
            // serde reads `()` from `null`, but tools are called with an object.
            let args = if takes_nothing { Value::Null } else { args };
            match serde_json::from_value::<A>(args.into()) {
                Ok(args) => {
                    let call = function(args, context);
                    Box::pin(async move { finish(call.await) })
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

    pub(super) fn into_parts(self, server: &Arc<str>) -> (Tool, Body) {
        let stated = self.tool.annotations;
        let tool = Tool {
            server: Arc::clone(server),
            hints: Hints {
                read_only: Some(stated.read_only),
                destructive: Some(stated.destructive),
                idempotent: Some(stated.idempotent),
                open_world: Some(stated.open_world),
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

fn finish<T, E>(result: Result<T, E>) -> Result<ToolOutput, ToolError>
where
    T: Serialize,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let result = result.map_err(|error| failure(error.into()))?;
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
fn failure(error: Box<dyn Error + Send + Sync>) -> ToolError {
    match error.downcast::<ToolError>() {
        Ok(failure) => *failure,
        Err(error) => {
            let mut message = error.to_string();
            let mut behind = error.source();
            while let Some(cause) = behind {
                message = format!("{message}: {cause}");
                behind = cause.source();
            }
            ToolError::tool(message, Value::Null)
        }
    }
}
