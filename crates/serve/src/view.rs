//! The page of runs as a view in clients that show views (MCP apps): its document, its tools, and the tokens that let the view read
//! and decide, but no model.
//!
//! A client passes the results of tools to its model without their `_meta`, and to the view with it. So actions of the view need a
//! token from `_meta`: one for each run to read it, and one for each waiting call to decide about it, which is valid once. All
//! gateways over one store derive the same tokens for an authenticated client from its key. A client without authentication is any
//! program of the user, so its tokens are valid in the process that issued them only.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use indexmap::IndexSet;
use planwright_core::{Object, Value};
use planwright_engine::approval::SealKey;
use planwright_mcp::UpstreamError;
use planwright_mcp::gateway::{ClientId, GatewayClient, HostCall};
use planwright_mcp::views::MEDIA_TYPE;
use serde_json::json;
use subtle::ConstantTimeEq;

use crate::host::PlanHost;
use crate::runs::lookup::owner;
use crate::tools::arguments::BadRequest;

/// The address of the view.
pub(crate) const ADDRESS: &str = "ui://planwright/run";

pub(crate) const READ_VIEW: &str = "read_run_view";
pub(crate) const DECIDE_CALL: &str = "decide_call";

/// The field of `_meta` with the run of the view, if it has one, and the token to read.
const READING: &str = "planwright/view";
/// The field of `_meta` with the tokens to decide, by the digest of the call.
const DECIDING: &str = "planwright/decide";

/// The maximum number of recorded tokens that were used. Beyond it, only the store refuses a second decision about a call.
const MAX_USED: usize = 65_536;

/// The page of runs, for clients that show views.
pub trait RunPage: Send + Sync {
    /// Returns the HTML document.
    fn document(&self) -> String;

    /// Answers a read request of the page. `client` is `None` for the local user. Returns the HTTP status and the body of the response.
    fn read(
        &self,
        client: Option<String>,
        request: PageRequest,
    ) -> BoxFuture<'static, (u16, Value)>;

    /// Stores decisions.
    fn decide(&self, client: Option<String>, body: Value) -> BoxFuture<'static, (u16, Value)>;
}

/// A read request of the page.
#[derive(Debug)]
pub struct PageRequest {
    /// The run of the view, which may read no other; `None` for the view of a checked plan.
    pub run: Option<String>,
    /// The path relative to the API of the page.
    pub path: String,
    /// The body.
    pub body: Option<Value>,
}

/// The tokens of views: keyed digests of the client, the run and the purpose.
#[derive(Debug)]
pub(crate) struct ViewTokens {
    /// The key for authenticated clients, which all gateways over a store share.
    key: SealKey,
    /// The key of this process, for clients without authentication.
    process_key: SealKey,
    /// The tokens for decisions that this process has accepted, in order.
    used: Mutex<IndexSet<Arc<str>>>,
}

impl ViewTokens {
    /// Creates tokens that are derived from the key of a store, and from that of this process.
    pub(crate) fn new(key: SealKey, process_key: SealKey) -> Self {
        Self {
            key,
            process_key,
            used: Mutex::default(),
        }
    }

    /// Returns the token to read a run; without a run, to check and convert plans.
    fn read_token(&self, client: &ClientId, run: Option<&str>) -> Arc<str> {
        self.token(client, READING, run, "")
    }

    /// Returns the tokens for decisions about the calls of a run with these digests.
    fn decision_tokens(&self, client: &ClientId, run: &str, digests: &[Arc<str>]) -> Object {
        let tokens = digests.iter().map(|digest| {
            let token = self.token(client, DECIDING, Some(run), digest);
            (Arc::clone(digest), Value::Text(token))
        });
        tokens.collect()
    }

    fn token(&self, client: &ClientId, purpose: &str, run: Option<&str>, digest: &str) -> Arc<str> {
        let key = match owner(client) {
            Some(_) => &self.key,
            None => &self.process_key,
        };
        let run = run.map_or(Value::Null, Value::from);
        let [purpose, client, digest] = [purpose, client.as_str(), digest].map(Value::from);
        // Seals of arguments never have this form: they are objects.
        key.seal(&Value::list([purpose, client, run, digest]))
    }

    fn may_read(&self, client: &ClientId, run: Option<&str>, token: &str) -> bool {
        is_same(&self.read_token(client, run), token)
    }

    /// Marks the tokens of these digests as used. Returns false and marks none if one of them is wrong or used.
    fn take(&self, client: &ClientId, run: &str, tokens_of_call: &[(Arc<str>, Arc<str>)]) -> bool {
        let mut used = self.lock();
        let is_valid = |(digest, token): &(Arc<str>, Arc<str>)| {
            is_same(&self.token(client, DECIDING, Some(run), digest), token)
                && !used.contains(token)
        };
        if !tokens_of_call.iter().all(is_valid) {
            return false;
        }
        used.extend(tokens_of_call.iter().map(|(_, token)| Arc::clone(token)));
        let excess = used.len().saturating_sub(MAX_USED);
        drop(used.drain(..excess));
        true
    }

    /// Makes tokens valid again, because their decision was not stored.
    fn give_back(&self, unused: &[(Arc<str>, Arc<str>)]) {
        let mut used = self.lock();
        for (_, token) in unused {
            used.shift_remove(token);
        }
    }

    fn lock(&self) -> MutexGuard<'_, IndexSet<Arc<str>>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn random() -> Result<SealKey, BadRequest> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| BadRequest(format!("the system has no random numbers: {error}")))?;
    Ok(SealKey::new(bytes))
}

fn is_same(own: &str, token: &str) -> bool {
    own.as_bytes().ct_eq(token.as_bytes()).into()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_of_one_client_run_and_call() {
        let key = |byte| SealKey::new([byte; 32]);
        let tokens = ViewTokens::new(key(7), key(1));
        let replica = ViewTokens::new(key(7), key(2));
        let (ada, bob, local) = (
            ClientId::new("ada"),
            ClientId::new("bob"),
            ClientId::local(),
        );
        let digests = ["1", "2"].map(Arc::<str>::from);
        let tokens_of_call = |of: &str, client: &ClientId| -> [(Arc<str>, Arc<str>); 1] {
            let own = tokens.decision_tokens(client, "r", &digests);
            let token = own.get(of).unwrap().as_text().unwrap();
            [(of.into(), token.into())]
        };
        let read_token = tokens.read_token(&ada, Some("r"));
        assert!(replica.may_read(&ada, Some("r"), &read_token));
        assert!(!tokens.may_read(&ada, Some("q"), &read_token));
        assert!(!tokens.may_read(&ada, None, &read_token));
        assert!(!tokens.may_read(&bob, Some("r"), &read_token));
        let of_process = tokens.read_token(&local, Some("r"));
        assert!(tokens.may_read(&local, Some("r"), &of_process));
        assert!(!replica.may_read(&local, Some("r"), &of_process));
        let call = tokens_of_call("1", &ada);
        assert!(!tokens.take(&ada, "r", &[("1".into(), read_token)]));
        assert!(!tokens.take(&bob, "r", &call));
        assert!(!tokens.take(&ada, "q", &call));
        assert!(!tokens.take(&ada, "r", &[("2".into(), Arc::clone(&call[0].1))]));
        assert!(tokens.take(&ada, "r", &call));
        assert!(!tokens.take(&ada, "r", &call));
        tokens.give_back(&call);
        assert!(tokens.take(&ada, "r", &call));
        assert!(replica.take(&ada, "r", &tokens_of_call("2", &ada)));
        assert!(!replica.take(&local, "r", &tokens_of_call("2", &local)));
        let elsewhere = ViewTokens::new(key(8), key(1));
        assert!(!elsewhere.take(&ada, "r", &tokens_of_call("2", &ada)));
    }
}
