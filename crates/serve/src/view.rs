//! The page of runs as a view of clients that show views (MCP apps): its document, its tools, and the tokens by which the view, and no model,
//! reads and decides.
//!
//! A client hands the results of tools to its model without their `_meta`, and to the view with it. So what only the view may do wants a token
//! from `_meta`: one for each client to read, and one for each call that waits, used once, to decide about it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use indexmap::IndexMap;
use planwright_core::{Object, Value};
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

/// The field of `_meta` with the token to read.
const READING: &str = "planwright/view";
/// The field of `_meta` with the tokens to decide, by the digest of the call.
const DECIDING: &str = "planwright/decide";

/// The most tokens of one client for decisions, beside those that it was handed last. Beyond it, those end that it was handed longest ago;
/// the view gets others when it reads again.
const MAX_TOKENS: usize = 4096;
/// The most clients with tokens. Beyond it, those of the client end that has read longest ago.
const MAX_CLIENTS: usize = 4096;

/// The page of runs, for clients that show views.
pub trait RunPage: Send + Sync {
    /// The HTML document.
    fn document(&self) -> String;

    /// Answers a request of the page that reads: `path` below its interface, and the body of requests that have one. `client` is `None` for the
    /// local user. Returns the status, as HTTP has it, and the answer.
    fn read(
        &self,
        client: Option<String>,
        path: String,
        body: Option<Value>,
    ) -> BoxFuture<'static, (u16, Value)>;

    /// Stores decisions.
    fn decide(&self, client: Option<String>, body: Value) -> BoxFuture<'static, (u16, Value)>;
}

/// The tokens of views.
#[derive(Default)]
pub(crate) struct ViewTokens(Mutex<Tokens>);

/// The tokens by client, the one that has read last at the end.
type Tokens = IndexMap<ClientId, ClientTokens>;

/// The tokens of one client.
struct ClientTokens {
    reading: Arc<str>,
    /// The tokens for decisions by the digest of the call, those that were handed out last at the end.
    deciding: IndexMap<Arc<str>, Arc<str>>,
}

impl std::fmt::Debug for ViewTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ViewTokens")
    }
}

impl ViewTokens {
    /// The token to read: the same until it ends.
    fn reading(&self, client: &ClientId) -> Result<Arc<str>, BadRequest> {
        let mut tokens = self.lock();
        let own = match tokens.shift_remove(client) {
            Some(own) => own,
            None => ClientTokens {
                reading: random()?,
                deciding: IndexMap::new(),
            },
        };
        let token = Arc::clone(&own.reading);
        tokens.insert(client.clone(), own);
        if tokens.len() > MAX_CLIENTS {
            tokens.shift_remove_index(0);
        }
        Ok(token)
    }

    /// The tokens for decisions about the calls with these digests: each is the same until it is used.
    fn deciding(&self, client: &ClientId, digests: &[Arc<str>]) -> Result<Object, BadRequest> {
        let mut tokens = self.lock();
        let own = tokens.get_mut(client).ok_or_else(for_views_alone)?;
        let mut handed = Object::default();
        for digest in digests {
            let token = match own.deciding.shift_remove(digest) {
                Some(token) => token,
                None => random()?,
            };
            own.deciding.insert(Arc::clone(digest), Arc::clone(&token));
            handed.insert(Arc::clone(digest), Value::Text(token));
        }
        let limit = MAX_TOKENS.max(handed.len());
        let excess = own.deciding.len().saturating_sub(limit);
        drop(own.deciding.drain(..excess));
        Ok(handed)
    }

    fn may_read(&self, client: &ClientId, token: &str) -> bool {
        let tokens = self.lock();
        let own = tokens.get(client);
        own.is_some_and(|own| is_same(&own.reading, token))
    }

    /// Uses the tokens of these digests up. None is used if one is wrong.
    fn take(&self, client: &ClientId, tokens_of_call: &[(Arc<str>, Arc<str>)]) -> bool {
        let mut tokens = self.lock();
        let Some(own) = tokens.get_mut(client) else {
            return false;
        };
        let is_valid = |(digest, token): &(Arc<str>, Arc<str>)| {
            let own = own.deciding.get(digest);
            own.is_some_and(|own| is_same(own, token))
        };
        if !tokens_of_call.iter().all(is_valid) {
            return false;
        }
        for (digest, _) in tokens_of_call {
            own.deciding.shift_remove(digest);
        }
        true
    }

    /// Makes tokens valid again whose decision was not stored.
    fn give_back(&self, client: &ClientId, unused: Vec<(Arc<str>, Arc<str>)>) {
        let mut tokens = self.lock();
        if let Some(own) = tokens.get_mut(client) {
            for (digest, token) in unused {
                own.deciding.entry(digest).or_insert(token);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tokens> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_same(own: &str, token: &str) -> bool {
    own.as_bytes().ct_eq(token.as_bytes()).into()
}

fn random() -> Result<Arc<str>, BadRequest> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| BadRequest(format!("the system has no random numbers: {error}")))?;
    let text = bytes.iter().fold(String::new(), |mut text, byte| {
        use std::fmt::Write as _;
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    });
    Ok(text.into())
}

impl PlanHost {
    /// The page, if this client shows views.
    pub(crate) fn page_for(&self, client: &GatewayClient) -> Option<&Arc<dyn RunPage>> {
        let page = self.settings.page.as_ref();
        page.filter(|_| self.settings.compat.is_none() && client.supports_views())
    }

    /// Adds the token to read to the result of a tool that has the view.
    pub(crate) fn with_view_token(&self, client: &GatewayClient, result: Value) -> Value {
        if self.page_for(client).is_none() {
            return result;
        }
        match self.view_tokens.reading(&client.id) {
            Ok(token) => with_meta(&result, READING, Value::Text(token)),
            Err(error) => {
                tracing::warn!("the view has no token: {}", error.0);
                result
            }
        }
    }

    /// `read_run_view`
    pub(crate) async fn read_view(&self, call: &HostCall) -> Result<Value, BadRequest> {
        let page = self.page_for(&call.client).ok_or_else(for_views_alone)?;
        let text = |name: &str| call.arguments.get(name).and_then(Value::as_text);
        if !text("token").is_some_and(|token| self.view_tokens.may_read(&call.client.id, token)) {
            return Err(for_views_alone());
        }
        let path = text("path").ok_or_else(|| BadRequest("`path` is missing".to_owned()))?;
        let body = text("body").map(Value::from_json).transpose();
        let body = body.map_err(|error| not_json("body", &error))?;
        let (status, body) = page
            .read(owner(&call.client.id), path.to_owned(), body)
            .await;
        let tokens = self
            .view_tokens
            .deciding(&call.client.id, &digests(&body))?;
        Ok(with_meta(
            &answer(status, body),
            DECIDING,
            Value::from(tokens),
        ))
    }

    /// `decide_call`
    pub(crate) async fn decide_call(&self, call: &HostCall) -> Result<Value, BadRequest> {
        let page = self.page_for(&call.client).ok_or_else(for_views_alone)?;
        let mut body = call.arguments.as_object().cloned().unwrap_or_default();
        let tokens = body.shift_remove("tokens").unwrap_or(Value::Null);
        let decided = body
            .get("decisions")
            .and_then(Value::as_list)
            .unwrap_or_default();
        let digests = decided.iter().map(|decision| decision.get("digest"));
        // The approval of a whole plan is a decision of its own.
        let plan = body.get("plan_digest").map(Some);
        let tokens_of_call: Option<Vec<_>> = digests
            .chain(plan)
            .map(|digest| {
                let digest = digest?.as_text()?;
                let token = tokens.get(digest)?.as_text()?;
                Some((Arc::from(digest), Arc::from(token)))
            })
            .collect();
        let tokens_of_call = tokens_of_call.filter(|tokens_of_call| {
            !decided.is_empty() && self.view_tokens.take(&call.client.id, tokens_of_call)
        });
        let Some(tokens_of_call) = tokens_of_call else {
            return Err(for_views_alone());
        };
        // The view sends JSON as text, since clients round the numbers of messages.
        if let Some(arguments) = body.get("arguments").and_then(Value::as_text) {
            match Value::from_json(arguments) {
                Ok(arguments) => drop(body.insert("arguments".into(), arguments)),
                Err(error) => {
                    self.view_tokens.give_back(&call.client.id, tokens_of_call);
                    return Err(not_json("arguments", &error));
                }
            }
        }
        let (status, body) = page.decide(owner(&call.client.id), Value::from(body)).await;
        if status >= 400 {
            // After a wrong passphrase, the person tries again.
            self.view_tokens.give_back(&call.client.id, tokens_of_call);
        }
        Ok(answer(status, body))
    }

    /// The entry of `resources/list` for the view.
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

fn for_views_alone() -> BadRequest {
    BadRequest("only the view of the run calls this tool: a person decides there".to_owned())
}

/// The digests of the calls in an answer that wait for a decision, and of their plans.
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

/// A result for the view: a client gives `structuredContent` to the view alone if it follows the extension. The body is JSON as text, since
/// clients round the numbers of messages.
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

/// The tool by which the view reads.
pub(crate) fn read_run_view() -> serde_json::Value {
    json!({
        "name": READ_VIEW,
        "title": "Read for the view of a run",
        "description": "For the view of a run.",
        "inputSchema": {"type": "object", "properties": {
            "path": {"type": "string"}, "body": {"type": "string"}, "token": {"type": "string"}
        }, "required": ["path", "token"]},
        "annotations": {"readOnlyHint": true, "openWorldHint": false},
        "_meta": {"ui": {"resourceUri": ADDRESS, "visibility": ["app"]}}
    })
}

/// The tool by which a person decides in the view.
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
    fn questions_of_one_client_end_no_token_of_another() {
        let tokens = ViewTokens::default();
        let (few, many) = (ClientId::local(), ClientId::new("many"));
        let digests = |count: usize| -> Vec<Arc<str>> {
            (0..count).map(|number| number.to_string().into()).collect()
        };
        let text = |tokens: &Object, digest: &str| -> Arc<str> {
            tokens.get(digest).unwrap().as_text().unwrap().into()
        };
        assert!(tokens.deciding(&few, &digests(1)).is_err());
        let reading = tokens.reading(&few).unwrap();
        let own = tokens.deciding(&few, &digests(1)).unwrap();
        tokens.reading(&many).unwrap();
        let all = tokens.deciding(&many, &digests(2 * MAX_TOKENS)).unwrap();
        // All tokens of one answer are valid, however many calls wait.
        for digest in ["0", "8191"] {
            let tokens_of_call = [(Arc::from(digest), text(&all, digest))];
            assert!(tokens.take(&many, &tokens_of_call), "{digest}");
            assert!(!tokens.take(&many, &tokens_of_call), "{digest}");
            tokens.give_back(&many, tokens_of_call.to_vec());
            assert!(tokens.take(&many, &tokens_of_call), "{digest}");
        }
        assert!(tokens.may_read(&few, &reading));
        assert!(tokens.take(&few, &[("0".into(), text(&own, "0"))]));
    }
}
