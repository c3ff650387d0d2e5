//! The page of runs as a view in clients that show views (MCP apps): its document, its tools, and the tokens that let the view read
//! and decide, but no model.
//!
//! A client passes the results of tools to its model without their `_meta`, and to the view with it. So actions of the view need a
//! token from `_meta`: one for each run to read it, and one for each waiting call to decide about it, which is valid once. All
//! gateways over one store derive the same tokens for an authenticated client from its key. A client without authentication is any
//! program of the user, so its tokens are valid in the process that issued them only.

use std::sync::Arc;

use planwright_core::{Object, Value};
use planwright_engine::approval::SealKey;
use planwright_mcp::UpstreamError;
use planwright_mcp::gateway::{GatewayClient, HostCall};
use planwright_mcp::views::MEDIA_TYPE;
use serde_json::json;

use super::tokens::{DECIDING, PageRequest, READING, RunPage, ViewTokens};
use crate::host::PlanHost;
use crate::runs::registry::owner;
use crate::tools::arguments::BadRequest;

/// The address of the view.
pub(crate) const ADDRESS: &str = "ui://planwright/run";

pub(crate) const READ_VIEW: &str = "read_run_view";
pub(crate) const DECIDE_CALL: &str = "decide_call";

fn random() -> Result<SealKey, BadRequest> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| BadRequest(format!("the system has no random numbers: {error}")))?;
    Ok(SealKey::new(bytes))
}

impl PlanHost {
    /// Returns the page, if this client shows views.
    pub(crate) fn page_for(&self, client: &GatewayClient) -> Option<&Arc<dyn RunPage>> {
        let page = self.settings.page.as_ref();
        page.filter(|_| self.settings.compat.is_none() && client.supports_views())
    }

    /// Returns the tokens of views. Without a store, they are valid in this process only.
    fn view_tokens(&self) -> Result<&ViewTokens, BadRequest> {
        if let Some(tokens) = self.view_tokens.get() {
            return Ok(tokens);
        }
        let key = self
            .seal_key()
            .map_err(|error| BadRequest(error.to_string()))?;
        let key = match key {
            Some(key) => key,
            None => random()?,
        };
        let process_key = random()?;
        let tokens = || ViewTokens::new(key, process_key);
        Ok(self.view_tokens.get_or_init(tokens))
    }

    /// Adds the token to read its run, if it has one, to the result of a tool that has the view.
    pub(crate) fn with_view_token(&self, client: &GatewayClient, result: Value) -> Value {
        if self.page_for(client).is_none() {
            return result;
        }
        match self.view_tokens() {
            Ok(tokens) => {
                let run = run_of(&result);
                let mut view = Object::default();
                view.insert(
                    "token".into(),
                    Value::Text(tokens.read_token(&client.id, run.as_deref())),
                );
                if let Some(run) = run {
                    view.insert("run".into(), Value::Text(run));
                }
                with_meta(&result, READING, Value::from(view))
            }
            Err(error) => {
                tracing::warn!("the view has no token: {}", error.0);
                result
            }
        }
    }

    /// Handles `read_run_view`. It is separate from `get_run`, whose results a client may show to its model: otherwise everything
    /// on a person's screen would count as read by the model, and the decision tokens would be in results that a model sees.
    pub(crate) async fn read_view(&self, call: &HostCall) -> Result<Value, BadRequest> {
        let page = self.page_for(&call.client).ok_or_else(only_for_views)?;
        let text = |name: &str| call.arguments.get(name).and_then(Value::as_text);
        let tokens = self.view_tokens()?;
        let run = text("run");
        if !text("token").is_some_and(|token| tokens.may_read(&call.client.id, run, token)) {
            return Err(only_for_views());
        }
        let path = text("path").ok_or_else(|| BadRequest("`path` is missing".to_owned()))?;
        let body = text("body").map(Value::from_json).transpose();
        let body = body.map_err(|error| not_json("body", &error))?;
        let request = PageRequest {
            run: run.map(str::to_owned),
            path: path.to_owned(),
            body,
        };
        let (status, body) = page.read(owner(&call.client.id), request).await;
        let Some(run) = run else {
            return Ok(answer(status, body));
        };
        let tokens = tokens.decision_tokens(&call.client.id, run, &digests(&body));
        Ok(with_meta(
            &answer(status, body),
            DECIDING,
            Value::from(tokens),
        ))
    }

    /// Handles `decide_call`.
    pub(crate) async fn decide_call(&self, call: &HostCall) -> Result<Value, BadRequest> {
        let page = self.page_for(&call.client).ok_or_else(only_for_views)?;
        let view_tokens = self.view_tokens()?;
        let mut body = call.arguments.as_object().cloned().unwrap_or_default();
        let tokens = body.shift_remove("tokens").unwrap_or(Value::Null);
        let decided = body
            .get("decisions")
            .and_then(Value::as_list)
            .unwrap_or_default();
        let digests = decided.iter().map(|decision| decision.get("digest"));
        // The approval of a whole plan is a decision of its view_tokens.
        let plan = body.get("plan_digest").map(Some);
        let tokens_of_call: Option<Vec<_>> = digests
            .chain(plan)
            .map(|digest| {
                let digest = digest?.as_text()?;
                let token = tokens.get(digest)?.as_text()?;
                Some((Arc::from(digest), Arc::from(token)))
            })
            .collect();
        let run = body.get("run").and_then(Value::as_text);
        let tokens_of_call = tokens_of_call.filter(|tokens_of_call| {
            !decided.is_empty()
                && run.is_some_and(|run| view_tokens.take(&call.client.id, run, tokens_of_call))
        });
        let Some(tokens_of_call) = tokens_of_call else {
            return Err(only_for_views());
        };
        // The view sends JSON as text, since clients round the numbers of messages.
        if let Some(arguments) = body.get("arguments").and_then(Value::as_text) {
            match Value::from_json(arguments) {
                Ok(arguments) => drop(body.insert("arguments".into(), arguments)),
                Err(error) => {
                    view_tokens.give_back(&tokens_of_call);
                    return Err(not_json("arguments", &error));
                }
            }
        }
        let (status, body) = page.decide(owner(&call.client.id), Value::from(body)).await;
        if status >= 400 {
            // After a wrong passphrase, the person tries again.
            view_tokens.give_back(&tokens_of_call);
        }
        Ok(answer(status, body))
    }

    /// Returns the entry of `resources/list` for the view.
    pub(crate) fn view_entry(&self, client: &GatewayClient) -> Option<Value> {
        self.page_for(client)?;
        Some(Value::from(json!({
            "uri": ADDRESS, "name": "run", "title": "The page of runs", "mimeType": MEDIA_TYPE
        })))
    }

    /// Reads the view.
    pub(crate) fn read_document(
        &self,
        client: &GatewayClient,
        address: &str,
    ) -> Option<Result<Value, UpstreamError>> {
        let page = self.page_for(client).filter(|_| address == ADDRESS)?;
        let contents = json!({
            "uri": ADDRESS, "mimeType": MEDIA_TYPE, "text": page.document(),
            "_meta": {"ui": {"prefersBorder": false}}
        });
        Some(Ok(Value::object([(
            "contents",
            Value::list([Value::from(contents)]),
        )])))
    }
}

fn not_json(name: &str, error: &impl std::fmt::Display) -> BadRequest {
    BadRequest(format!("`{name}` is not JSON: {error}"))
}

fn only_for_views() -> BadRequest {
    BadRequest(
        "only the view of the run calls this tool, with the token of that run from this process"
            .to_owned(),
    )
}

/// Returns the run that a result of a tool with the view is about. A plan that takes long is a task, which has the id of its run.
fn run_of(result: &Value) -> Option<Arc<str>> {
    let of_result = result
        .get("structuredContent")
        .and_then(|content| content.get("run"));
    let of_task = || {
        let task = result.get("task").unwrap_or(result);
        task.get("taskId")
    };
    let run = of_result.or_else(of_task)?.as_text()?;
    Some(run.into())
}

/// Returns the digests of the calls in an answer that wait for a decision, and of their plans.
fn digests(body: &Value) -> Vec<Arc<str>> {
    let questions = body
        .get("questions")
        .and_then(Value::as_list)
        .unwrap_or_default();
    let digests = questions.iter().flat_map(|question| {
        let digests = ["digest", "plan_digest"].map(|field| question.get(field)?.as_text());
        digests.into_iter().flatten()
    });
    digests.map(Arc::from).collect()
}

/// Returns a result for the view. A client that follows the extension passes `structuredContent` to the view only. The body is JSON
/// as text, since clients round the numbers of messages.
fn answer(status: u16, body: Value) -> Value {
    let content = json!([{"type": "text", "text": "this result is for the view of the run"}]);
    Value::object([
        ("content", Value::from(content)),
        (
            "structuredContent",
            Value::object([
                ("status", Value::from(u64::from(status))),
                ("text", Value::from(body.to_json())),
            ]),
        ),
    ])
}

fn with_meta(result: &Value, field: &str, value: Value) -> Value {
    let mut fields = result.as_object().cloned().unwrap_or_default();
    let mut meta = fields
        .get("_meta")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    meta.insert(field.into(), value);
    fields.insert("_meta".into(), Value::from(meta));
    Value::from(fields)
}

/// Adds the view to the definition of a tool.
pub(crate) fn with_view(definition: &mut serde_json::Value) {
    definition["_meta"]["ui"]["resourceUri"] = ADDRESS.into();
}

/// Returns the definition of the tool that the view reads through.
pub(crate) fn read_run_view() -> serde_json::Value {
    json!({
        "name": READ_VIEW,
        "title": "Read for the view of a run",
        "description": "For the view of a run.",
        "inputSchema": {"type": "object", "properties": {
            "run": {"type": "string"}, "path": {"type": "string"}, "body": {"type": "string"}, "token": {"type": "string"}
        }, "required": ["path", "token"]},
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
        "_meta": {"ui": {"resourceUri": ADDRESS, "visibility": ["app"]}}
    })
}

/// Returns the definition of the tool for a person's decisions in the view.
pub(crate) fn decide_call() -> serde_json::Value {
    json!({
        "name": DECIDE_CALL,
        "title": "Decide about calls in the view of a run",
        "description": "For the view of a run.",
        "inputSchema": {"type": "object", "properties": {
            "run": {"type": "string"},
            "decisions": {"type": "array", "items": {"type": "object", "properties": {
                "at": {"type": "string"}, "digest": {"type": "string"}
            }, "required": ["at", "digest"]}},
            "decision": {"type": "string", "enum": ["approve", "change", "reject"]},
            "plan_digest": {"type": "string"},
            "arguments": {"type": "string"},
            "reason": {"type": "string"},
            "passphrase": {"type": "string"},
            "tokens": {"type": "object"}
        }, "required": ["run", "decisions", "decision", "tokens"]},
        "annotations": {"readOnlyHint": false, "destructiveHint": true, "openWorldHint": false},
        "_meta": {"ui": {"resourceUri": ADDRESS, "visibility": ["app"]}}
    })
}
