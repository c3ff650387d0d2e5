//! Shared support of these tests: functions, and servers that are observed.

use planwright::schemars::{self, JsonSchema};
use planwright::{Function, Functions, Planwright, Sharable, ToolError};
use planwright_testkit::fake_server::program;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Place {
    city: Sharable<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Weather {
    city: String,
    temp: i64,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Note {
    to: String,
    text: Sharable<String>,
}

/// Weather that depends on the name alone.
pub(crate) async fn weather(place: Place) -> Result<Weather, ToolError> {
    let city = place.city.into_inner();
    match city.as_str() {
        "Atlantis" => Err(ToolError::tool("it is under water", "drowned".into())),
        _ => Ok(Weather {
            temp: i64::try_from(city.len()).unwrap_or(0),
            city,
        }),
    }
}

pub(crate) async fn note(note: Note) -> Result<String, std::fmt::Error> {
    Ok(format!("{}: {}", note.to, *note.text))
}

/// A function that never ends by itself.
pub(crate) async fn never((): ()) -> Result<(), ToolError> {
    std::future::pending().await
}

pub(crate) fn functions() -> Functions {
    Functions::new()
        .with(Function::new("weather", weather).read_only())
        .with(Function::new("note", note))
        .with(Function::new("never", never))
}

/// The functions alone, open.
pub(crate) async fn planwright() -> Planwright {
    let opened = Planwright::builder().functions(functions()).open().await;
    opened.unwrap()
}

/// A configuration with the fake server `fake` that follows `script`.
pub(crate) fn fake(script: &serde_json::Value) -> String {
    let server = serde_json::json!({"command": program(), "args": [script.to_string()]});
    serde_json::json!({"mcpServers": {"fake": server}}).to_string()
}
