//! What goes into `_meta` of a request.

use planwright_core::{Object, Value};

use super::caller::Caller;

/// The field by which notifications say which subscription they are for.
pub(super) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const PROGRESS_TOKEN: &str = "progressToken";
const TOKEN_PREFIX: &str = "request-";

/// How requests on a connection say who makes them.
#[derive(Debug)]
pub(super) struct Identity {
    /// The name and version of the client.
    pub(super) client: (String, String),
    /// What the clients behind it can do.
    pub(super) capabilities: Value,
    /// The revision that is spoken, where each request says so itself.
    pub(super) stateless_revision: Option<String>,
}

/// The token of the request `id`. A text: there are servers that take the number 0 for nothing.
fn progress_token(id: i64) -> Value {
    Value::from(format!("{TOKEN_PREFIX}{id}"))
}

/// Whose token this is.
pub(super) fn request_of(token: &Value) -> Option<i64> {
    token.as_text()?.strip_prefix(TOKEN_PREFIX)?.parse().ok()
}

/// The `_meta` of the request `id`: what came with it, what its caller adds, what the revision wants; and the token by
/// which the caller wants to hear of progress.
pub(super) fn of_request(
    came: Option<&Value>,
    id: i64,
    caller: Option<&dyn Caller>,
    follows_progress: bool,
    identity: &Identity,
) -> (Object, Option<Value>) {
    let mut meta = came.and_then(Value::as_object).cloned().unwrap_or_default();
    let token = meta.shift_remove(PROGRESS_TOKEN);
    let token = token.filter(|token| caller.is_some() && !token.is_null());
    if let Some(Value::Object(fields)) = caller.map(Caller::meta) {
        for (name, value) in fields.iter() {
            meta.insert(name.clone(), value.clone());
        }
    }
    if token.is_some() || follows_progress {
        // Two callers may have chosen the same token.
        meta.insert(PROGRESS_TOKEN.into(), progress_token(id));
    }
    match &identity.stateless_revision {
        Some(revision) => {
            let (name, version) = &identity.client;
            meta.insert(PROTOCOL_VERSION.into(), Value::from(revision.as_str()));
            meta.entry(CLIENT_INFO.into()).or_insert_with(|| {
                Value::object([
                    ("name", Value::from(name.as_str())),
                    ("version", Value::from(version.as_str())),
                ])
            });
            // What nobody is there for cannot be asked of anybody.
            meta.entry(CLIENT_CAPABILITIES.into())
                .or_insert_with(|| match caller {
                    Some(_) if identity.capabilities.as_object().is_some() => {
                        identity.capabilities.clone()
                    }
                    _ => Value::empty_object(),
                });
        }
        // Earlier revisions have said this once and for all.
        None => {
            for name in [
                PROTOCOL_VERSION,
                CLIENT_INFO,
                CLIENT_CAPABILITIES,
                LOG_LEVEL,
            ] {
                meta.shift_remove(name);
            }
        }
    }
    (meta, token)
}
