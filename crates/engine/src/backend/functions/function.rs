//! One function, and what a catalog says about it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::{Annotations, Hints, Schema, Tool, Value};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::failure::failure;
use super::schemas;
use crate::backend::{ErrorKind, RetryAdvice, ToolError, ToolOutput};

/// What is called: it owns whatever it needs, so that dropping its future is all it takes to cancel a call.
pub(super) type Body =
    Arc<dyn Fn(Value) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync>;

/// A function that plans call as a tool.
///
/// What it says about itself is believed, since it is part of the program. Nothing is said ahead: it may change
/// things, and a second call may do harm.
#[must_use = "a function is no tool before it is among the functions of a server"]
pub struct Function {
    tool: Tool,
    body: Body,
}

impl Function {
    /// The function `name`. Its parameters are the fields of `A`, its schemas those of `A` and `T`, and the comment
    /// on `A` is its description, unless it gets [another](Self::description). A function without parameters takes `()`.
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
        Self::opaque(name, function).output(schemas::of_result::<T>())
    }

    /// The function `name`, whose result says nothing about its shape.
    pub fn opaque<A, F, R, T, E>(name: impl Into<Arc<str>>, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        F: Fn(A) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        let parameters = schemas::of_parameters::<A>();
        let takes_nothing = parameters.is_unit;
        let body: Body = Arc::new(move |args| {
            let args = if takes_nothing { Value::Null } else { args };
            match serde_json::from_value::<A>(args.into()) {
                Ok(args) => {
                    let call = function(args);
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

    /// The function `name` on bare values: it gets an object that fits its [input schema](Self::input), where it has one.
    pub fn raw<F, R>(name: impl Into<Arc<str>>, function: F) -> Self
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    {
        Self::of(name, Arc::new(move |args| Box::pin(function(args))))
    }

    fn of(name: impl Into<Arc<str>>, body: Body) -> Self {
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

    /// A line for people.
    pub fn title(mut self, title: impl Into<Arc<str>>) -> Self {
        self.tool.title = Some(title.into());
        self
    }

    /// What it does, for those who write plans.
    pub fn description(mut self, description: impl Into<Arc<str>>) -> Self {
        self.tool.description = Some(description.into());
        self
    }

    /// It changes nothing, so that it may be called again whenever a call was lost.
    pub fn read_only(mut self) -> Self {
        self.tool.annotations.read_only = true;
        self.tool.annotations.destructive = false;
        self.idempotent()
    }

    /// A second call with the same arguments does no further harm.
    pub fn idempotent(mut self) -> Self {
        self.tool.annotations.idempotent = true;
        self
    }

    /// It adds things and destroys none.
    pub fn additive(mut self) -> Self {
        self.tool.annotations.destructive = false;
        self
    }

    /// Everything that it says about its effects. It is believed, whatever `annotations` say about trust.
    pub fn annotations(mut self, annotations: Annotations) -> Self {
        self.tool.annotations = Annotations {
            trusted: true,
            ..annotations
        };
        self
    }

    /// A person must agree before each call.
    pub fn needs_approval(mut self) -> Self {
        self.tool.approval = true;
        self.tool.approval_reason = Some(Arc::from("the program asks before each call"));
        self
    }

    /// What it takes: a JSON Schema of an object.
    pub fn input(mut self, schema: Schema) -> Self {
        self.tool.input = schema;
        self
    }

    /// What it gives: a JSON Schema.
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
            // The function has run.
            retry: RetryAdvice::Uncertain,
            ..ToolError::new(
                ErrorKind::Internal,
                format!("the result cannot be written as JSON: {error}"),
            )
        }),
    }
}
