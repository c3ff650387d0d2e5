//! Schemas of Rust types, and errors of Rust functions.

use std::sync::Arc;

use planwright_core::{StepId, Tool, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::{
    CallClock, CallContext, ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput,
};
use super::{Function, Functions, Sharable};

/// The position of a place.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Spot {
    north: f64,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Celsius,
    Kelvin,
}

fn single_tool(function: Function) -> Tool {
    let functions = Functions::new().with(function);
    functions.tools().next().unwrap().clone()
}

/// Compares the schemas of a function from `A` to `T`.
fn check<A, T>(input: serde_json::Value, output: serde_json::Value)
where
    A: serde::de::DeserializeOwned + JsonSchema + Send + 'static,
    T: Serialize + JsonSchema + Send + 'static,
{
    let tool = single_tool(Function::new("f", |_: A| async {
        Err::<T, _>("it does nothing")
    }));
    assert_eq!(*tool.input.as_value(), Value::from(input));
    assert_eq!(*tool.output.as_value(), Value::from(output));
    assert_eq!(tool.input.malformed(), None);
    assert_eq!(tool.output.malformed(), None);
}

#[test]
fn types_become_schemas() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "single_tool its schema counts")]
    struct Flat {
        /// The name of the place.
        name: String,
        count: Option<u8>,
        #[serde(default)]
        loud: bool,
    }
    check::<Flat, String>(
        json!({"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "description": "The name of the place."},
            "count": {"type": ["integer", "null"], "format": "uint8", "minimum": 0, "maximum": 255},
            "loud": {"type": "boolean", "default": false},
        }, "additionalProperties": false}),
        json!({"type": "string"}),
    );
    check::<(), Option<f64>>(
        json!({"type": "object", "additionalProperties": false}),
        json!({"type": ["number", "null"], "format": "double"}),
    );
    check::<serde_json::Value, serde_json::Value>(json!({}), json!({}));
    check::<Spot, Vec<Unit>>(
        json!({"type": "object", "required": ["north"], "properties": {
            "north": {"type": "number", "format": "double"},
        }, "additionalProperties": false}),
        json!({"type": "array", "items": {"$ref": "#/$defs/Unit"},
               "$defs": {"Unit": {"type": "string", "enum": ["celsius", "kelvin"]}}}),
    );
}

#[test]
fn objects_forbid_unknown_fields() {
    #[derive(Serialize, JsonSchema)]
    struct Whole {
        spot: Spot,
        spots: Vec<Spot>,
        open: std::collections::HashMap<String, Spot>,
    }
    #[derive(Serialize, JsonSchema)]
    struct Mixed {
        id: u64,
        #[serde(flatten)]
        more: More,
    }
    #[derive(Serialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "lowercase")]
    enum More {
        #[expect(dead_code, reason = "single_tool its schema counts")]
        Far { north: f64 },
    }
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "single_tool its schema counts")]
    struct Rest {
        id: u64,
        #[serde(flatten)]
        rest: serde_json::Map<String, serde_json::Value>,
    }
    let spot = json!({"type": "object", "description": "The position of a place.", "required": ["north"],
                      "properties": {"north": {"type": "number", "format": "double"}},
                      "additionalProperties": false});
    check::<(), Whole>(
        json!({"type": "object", "additionalProperties": false}),
        json!({
            "type": "object",
            "required": ["spot", "spots", "open"],
            "properties": {
                "spot": {"$ref": "#/$defs/Spot"},
                "spots": {"type": "array", "items": {"$ref": "#/$defs/Spot"}},
                "open": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Spot"}},
            },
            "additionalProperties": false,
            "$defs": {"Spot": spot},
        }),
    );
    let mixed = single_tool(Function::new("f", |(): ()| async {
        Err::<Mixed, _>("it does nothing")
    }));
    let rest = single_tool(Function::new("f", |_: Rest| async {
        Err::<(), _>("it does nothing")
    }));
    let value = |text| Value::from_json(text).unwrap();
    assert!(rest.input.is_valid(&value(r#"{"id": 1, "more": 2}"#)));
    assert!(
        mixed
            .output
            .is_valid(&value(r#"{"id": 1, "kind": "far", "north": 2}"#))
    );
    assert!(
        !mixed
            .output
            .is_valid(&value(r#"{"id": 1, "kind": "near"}"#))
    );
}

#[test]
fn sharable_parameters_are_marked_inline() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "single_tool its schema counts")]
    struct Marked {
        text: Sharable<String>,
        maybe: Option<Sharable<String>>,
        other: Sharable<Option<Spot>>,
        /// The place.
        spot: Sharable<Spot>,
        own: Spot,
        many: Vec<Sharable<Unit>>,
        any: Sharable<serde_json::Value>,
    }
    let spot = json!({"type": "object", "description": "The position of a place.", "required": ["north"],
                      "properties": {"north": {"type": "number", "format": "double"}},
                      "additionalProperties": false});
    let unit = json!({"type": "string", "enum": ["celsius", "kelvin"]});
    check::<Marked, ()>(
        json!({
            "type": "object",
            "required": ["text", "spot", "own", "many", "any"],
            "properties": {
                "text": {"type": "string", "x-sharable": true},
                "maybe": {"type": ["string", "null"], "x-sharable": true},
                "other": {"anyOf": [{"$ref": "#/$defs/Spot"}, {"type": "null"}], "x-sharable": true},
                "spot": {"$ref": "#/$defs/Spot", "x-sharable": true, "description": "The place."},
                "own": {"$ref": "#/$defs/Spot"},
                "many": {"type": "array", "items": {"$ref": "#/$defs/Unit", "x-sharable": true}},
                "any": {"x-sharable": true},
            },
            "additionalProperties": false,
            "$defs": {"Spot": spot, "Unit": unit},
        }),
        json!({"type": "null"}),
    );
}

#[test]
fn sharable_fields_deserialize_like_their_values() {
    #[derive(Debug, Deserialize, PartialEq)]
    struct Marked {
        text: Sharable<String>,
        maybe: Option<Sharable<i64>>,
        other: Sharable<Option<i64>>,
    }
    let read: Marked = serde_json::from_value(json!({"text": "a"})).unwrap();
    assert_eq!(
        read,
        Marked {
            text: "a".to_owned().into(),
            maybe: None,
            other: Sharable(None),
        }
    );
    assert_eq!(read.text.to_uppercase(), "A");
    assert_eq!(serde_json::to_value(Sharable(1)).unwrap(), json!(1));
}

#[test]
fn functions_carry_descriptions_and_annotations() {
    /// Looks somewhere.
    #[derive(Deserialize, JsonSchema)]
    struct Look {}
    let look = |_: Look| async { Ok::<_, ToolError>(()) };
    let tool = single_tool(Function::new("look", look));
    assert_eq!(tool.qualified_name(), "functions.look");
    assert_eq!(tool.description.as_deref(), Some("Looks somewhere."));
    assert!(tool.annotations.trusted && !tool.annotations.read_only);
    assert!(tool.annotations.destructive && !tool.is_repeatable());

    let tool = single_tool(
        Function::new("look", look)
            .title("Look")
            .description("Looks.")
            .read_only()
            .needs_approval(),
    );
    assert_eq!(tool.title.as_deref(), Some("Look"));
    assert_eq!(tool.description.as_deref(), Some("Looks."));
    assert!(tool.is_repeatable() && !tool.annotations.destructive);
    assert!(tool.needs_approval());

    let tool = single_tool(Function::new("look", look).idempotent().additive());
    assert!(tool.is_repeatable() && !tool.annotations.read_only);
    assert!(!tool.annotations.destructive);

    let annotations = planwright_core::Annotations {
        read_only: true,
        ..planwright_core::Annotations::default()
    };
    assert!(single_tool(Function::new("look", look).annotations(annotations)).is_repeatable());
}

/// Calls the single_tool function of a server.
async fn call(function: Function, args: serde_json::Value) -> Result<ToolOutput, ToolError> {
    let functions = Functions::new().with(function);
    let tool = Arc::new(functions.tools().next().unwrap().clone());
    functions
        .call(ToolCall {
            tool,
            args: args.into(),
            context: CallContext::new(StepId::new("step"), "key"),
            clock: CallClock::default(),
        })
        .await
}

#[tokio::test]
async fn calls_pass_through_serde() {
    let move_it = |spot: Spot| async move {
        Ok::<_, ToolError>(Spot {
            north: spot.north + 1.0,
        })
    };
    let output = call(Function::new("move", move_it), json!({"north": 1.5})).await;
    assert_eq!(output.unwrap().value, Value::from(json!({"north": 2.5})));

    let error = call(Function::new("move", move_it), json!({})).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Arguments);
    assert_eq!(error.message, "missing field `north`");

    let nothing = |(): ()| async { Ok::<_, ToolError>("02134") };
    let output = call(Function::new("nothing", nothing), json!({})).await;
    assert_eq!(output.unwrap(), ToolOutput::value("02134".into()));
}

#[tokio::test]
async fn any_error_becomes_a_tool_error() {
    #[derive(Debug, thiserror::Error)]
    #[error("the door is shut")]
    struct Shut(#[source] std::fmt::Error);

    async fn failing<E>(error: E) -> ToolError
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>> + Clone + Send + Sync + 'static,
    {
        let function = Function::opaque("f", move |(): ()| {
            let error = error.clone();
            async move { Err::<(), E>(error) }
        });
        call(function, json!({})).await.unwrap_err()
    }
    let lost = ToolError::lost("gone").with_data(1_u64.into());
    assert_eq!(failing(lost.clone()).await, lost);
    assert_eq!(failing("no").await, ToolError::tool("no", Value::Null));

    let shut = |(): ()| async { Err::<(), _>(Shut(std::fmt::Error)) };
    let error = call(Function::new("f", shut), json!({})).await.unwrap_err();
    assert_eq!(
        error.message,
        format!("the door is shut: {}", std::fmt::Error)
    );
}
