use planwright_core::{Object, Value};

use super::caller::Caller;

/// The field of notifications that names their subscription.
pub(super) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const PROGRESS_TOKEN: &str = "progressToken";
const TOKEN_PREFIX: &str = "request-";

/// The identity of this client in requests.
#[derive(Debug)]
pub(super) struct Identity {
    /// The name and version of the client.
    pub(super) client: (String, String),
    /// The declared capabilities.
    pub(super) capabilities: Value,
    /// The revision, if each request must carry it.
    pub(super) stateless_revision: Option<String>,
}

/// Returns the progress token of the request `id`: a string, because some servers ignore the number 0.
fn progress_token(id: i64) -> Value {
    Value::from(format!("{TOKEN_PREFIX}{id}"))
}

/// Returns the id of the request with this progress token.
pub(super) fn request_of(token: &Value) -> Option<i64> {
    token.as_text()?.strip_prefix(TOKEN_PREFIX)?.parse().ok()
}

/// Builds the `_meta` of the request `id` from the original one, the entries of its caller and those that the revision
/// requires. Also returns the caller's own progress token.
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
        // Different callers may use the same token, so the server gets one of ours.
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
            // Without a caller, no client can answer requests.
            meta.entry(CLIENT_CAPABILITIES.into())
                .or_insert_with(|| match caller {
                    Some(_) if identity.capabilities.as_object().is_some() => {
                        identity.capabilities.clone()
                    }
                    _ => Value::empty_object(),
                });
        }
        // In earlier revisions the handshake has declared this.
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
