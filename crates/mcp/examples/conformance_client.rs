//! A client for the official conformance suite: it gets the address of a server, lists its tools and calls each of
//! them. It consents to OAuth requests in place of a person.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "the suite speaks to its clients through the environment, and shows what they print"
)]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::{StepId, Tool, Value};
use planwright_engine::backend::{CallClock, CallContext, ToolBackend, ToolCall};
use planwright_mcp::{
    Caller, ConnectOptions, Consent, Grant, HttpConfig, OauthConfig, ServerConfig, ServersConfig,
    UpstreamError, UpstreamState, Upstreams,
};
use serde_json::json;

/// The address of the client metadata document in the suite.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(url) = std::env::args().next_back() else {
        return ExitCode::FAILURE;
    };
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context = serde_json::from_str(&context).unwrap_or_default();
    match converse(url, &scenario, &context).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

async fn converse(url: String, scenario: &str, context: &serde_json::Value) -> Result<(), String> {
    let http = HttpConfig {
        url,
        oauth: oauth(scenario, context),
        ..HttpConfig::default()
    };
    let config = ServersConfig {
        servers: vec![ServerConfig::http("server", http)],
        ..ServersConfig::default()
    };
    let options = ConnectOptions {
        consent: Some(Arc::new(Agreeing)),
        ..ConnectOptions::default()
    };
    let upstreams = Upstreams::new(config, options);
    upstreams.start(&json!({"elicitation": {"form": {"applyDefaults": true}}}).into());
    upstreams.settled(Duration::from_secs(20)).await;
    let view = upstreams.view();
    let [server] = &*view.servers else {
        return Err("there is not one server".to_owned());
    };
    if let UpstreamState::Failed(failure) = &server.state {
        return Err(format!("{failure} ({})", failure.help));
    }
    for warning in &server.warnings {
        eprintln!("{warning}");
    }
    let backends = upstreams.backends(Some(Arc::new(Defaults)));
    for tool in &server.tools {
        for args in arguments(tool, &server.tools, context) {
            let call = ToolCall {
                tool: Arc::new(tool.clone()),
                args,
                context: CallContext::new(StepId::new("step"), "key"),
                clock: CallClock::default(),
            };
            let outcome = backends.call(call).await;
            eprintln!("{}: {outcome:?}", tool.name);
        }
    }
    upstreams.shutdown().await;
    Ok(())
}

fn oauth(scenario: &str, context: &serde_json::Value) -> OauthConfig {
    let text = |field: &str| context.get(field)?.as_str().map(str::to_owned);
    OauthConfig {
        grant: if scenario.starts_with("auth/client-credentials") {
            Grant::ClientCredentials
        } else {
            Grant::AuthorizationCode
        },
        client_id: text("client_id"),
        client_secret: text("client_secret"),
        client_metadata_url: Some(CLIENT_DOCUMENT.to_owned()),
        ..OauthConfig::default()
    }
}

/// Returns the arguments for `tool`: those of the suite, or else values that match its schema.
fn arguments(tool: &Tool, tools: &[Tool], context: &serde_json::Value) -> Vec<Value> {
    let calls = context.get("toolCalls").and_then(|calls| calls.as_array());
    let calls = calls.into_iter().flatten();
    let said: Vec<Value> = calls
        .filter(|call| call["name"] == *tool.name)
        .map(|call| call["arguments"].clone().into())
        .collect();
    if !said.is_empty() {
        return said;
    }
    // The suite compares the schema after its way through the client.
    if &*tool.name == "json_schema_echo" {
        let others = tools.iter().filter(|other| other.name != tool.name);
        let schemas = others.map(|other| other.input.as_value().clone());
        return schemas
            .map(|schema| Value::object([("schema", schema)]))
            .collect();
    }
    let schema = serde_json::Value::from(tool.input.as_value());
    let properties = schema["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let fields = properties.into_iter().map(|(name, property)| {
        let value = match property["type"].as_str() {
            Some("number" | "integer") => json!(5),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("text"),
        };
        (name, value)
    });
    vec![serde_json::Value::Object(fields.collect()).into()]
}

/// Consents to everything without a browser.
#[derive(Debug)]
struct Agreeing;

impl Consent for Agreeing {
    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:3000/callback".to_owned()
    }

    fn ask<'a>(&'a self, _: &'a str, page: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
            let client = client.build().map_err(|error| error.to_string())?;
            let answer = client.get(page).send().await;
            let answer = answer.map_err(|error| error.to_string())?;
            let location = answer.headers().get(reqwest::header::LOCATION);
            let location = location.and_then(|location| location.to_str().ok());
            let location = location.ok_or("the page leads nowhere")?;
            Ok(location.to_owned())
        })
    }
}

/// Answers requests with their defaults.
struct Defaults;

impl Caller for Defaults {
    fn notify(&self, method: &str, params: Value) {
        eprintln!("{method}: {params}");
    }

    fn ask(&self, method: &str, params: Value) -> BoxFuture<'static, Result<Value, UpstreamError>> {
        let schema = serde_json::Value::from(&params);
        let method = method.to_owned();
        Box::pin(async move {
            if method != "elicitation/create" {
                let message = format!("`{method}` is not offered");
                return Err(UpstreamError::new(UpstreamError::UNKNOWN_METHOD, message));
            }
            let properties = schema["requestedSchema"]["properties"].as_object();
            let properties = properties.cloned().unwrap_or_default();
            let content = properties.into_iter().map(|(name, property)| {
                let default = property.get("default").cloned();
                let filler = || match property["type"].as_str() {
                    Some("boolean") => json!(true),
                    Some("number" | "integer") => json!(1),
                    _ => json!("text"),
                };
                (name, default.unwrap_or_else(filler))
            });
            let content: serde_json::Map<_, _> = content.collect();
            Ok(json!({"action": "accept", "content": content}).into())
        })
    }

    fn meta(&self) -> Value {
        Value::Null
    }
}
