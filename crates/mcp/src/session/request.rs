//! Requests and notifications of a session, and lists with all their pages.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use planwright_core::{Object, Value};
use planwright_engine::backend::CallClock;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    ClientRequest, CustomNotification, CustomRequest, RequestId, RequestMetaObject,
};

use super::caller::Caller;
use super::error::{ServerStartError, UpstreamError};
use super::in_flight::progress_token;
use super::lists::ToolListEntries;
use super::message_text::truncate_message;
use super::open_session::{ClientIdentity, Session};
use super::router::RequestError;
use crate::object::without;

impl Session {
    /// Sends a request and returns its result unchanged. Dropping the future cancels the request. Progress restarts the `clock`, and requests
    /// of the server pause it.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: &Value,
        caller: Option<&Arc<dyn Caller>>,
        clock: Option<&CallClock>,
    ) -> Result<Value, RequestError> {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        let id = RequestId::Number(number);
        let (meta, progress_token) = build_meta(
            params.get("_meta"),
            number,
            caller.map(AsRef::as_ref),
            clock.is_some(),
            &self.identity,
        );
        // Registered before the request is sent, so that the response always finds it.
        let answer = self.router.register(id.clone());
        if let Some(caller) = caller {
            let caller = Arc::clone(caller);
            self.server_requests
                .in_flight
                .add(number, caller, progress_token);
        } else {
            self.server_requests.in_flight.add_without_client(number);
        }
        if let Some(clock) = clock {
            self.server_requests
                .in_flight
                .set_clock(number, clock.clone());
        }
        let mut guard = RequestCancelGuard {
            session: self,
            number,
            is_answered: false,
        };
        let request = custom_request(method, params, meta.into());
        self.connection
            .send(ClientJsonRpcMessage::request(request, id));
        let answer = answer.await;
        guard.is_answered = true;
        // A closed channel means that the connection is closed.
        answer.unwrap_or(Err(RequestError::Lost(None)))
    }

    /// Sends a request whose answer does not matter.
    pub(crate) fn send_without_answer(&self, method: &str, params: &Value) {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (meta, _) = build_meta(params.get("_meta"), number, None, false, &self.identity);
        let request = custom_request(method, params, meta.into());
        let id = RequestId::Number(number);
        self.connection
            .send(ClientJsonRpcMessage::request(request, id));
    }

    pub(crate) fn notify(&self, method: &str, params: &Value) {
        let params = (!params.is_null()).then(|| params.into());
        let notification = CustomNotification::new(method, params);
        self.send_notification(ClientNotification::CustomNotification(notification));
    }

    fn send_notification(&self, notification: ClientNotification) {
        self.connection
            .send(ClientJsonRpcMessage::notification(notification));
    }
}

const MAX_PAGES: usize = 1000;

impl Session {
    /// Requests a list by `method` and returns all entries in `field`, unchanged. A server without this list may not
    /// know the method.
    pub(crate) async fn list(&self, method: &str, field: &str) -> Result<Vec<Value>, RequestError> {
        let (entries, _) = self.request_pages(method, field).await?;
        Ok(entries)
    }

    /// Requests a list and returns its entries, and whether the list is complete.
    async fn request_pages(
        &self,
        method: &str,
        field: &str,
    ) -> Result<(Vec<Value>, bool), RequestError> {
        let mut found = Vec::new();
        let mut params = Value::empty_object();
        let mut seen = HashSet::new();
        for _ in 0..MAX_PAGES {
            let page = match self.request(method, &params, None, None).await {
                Ok(page) => page,
                Err(RequestError::Refused(error))
                    if error.code == UpstreamError::UNKNOWN_METHOD =>
                {
                    return Ok((found, true));
                }
                Err(error) => return Err(error),
            };
            let Some(entries) = page.get(field).and_then(Value::as_list) else {
                let reason = format!("the response has no list `{field}`");
                return Err(RequestError::Unreadable(reason));
            };
            found.extend_from_slice(entries);
            match page.get("nextCursor").and_then(Value::as_text) {
                None | Some("") => return Ok((found, true)),
                // A repeated cursor would loop forever.
                Some(next) if !seen.insert(next.to_owned()) => return Ok((found, false)),
                Some(next) => params = Value::object([("cursor", Value::from(next))]),
            }
        }
        Ok((found, false))
    }

    /// Requests the tools of the server.
    pub(crate) async fn list_tools(&self) -> Result<ToolListEntries, ServerStartError> {
        match self.request_pages("tools/list", "tools").await {
            Ok((entries, is_whole)) => Ok(ToolListEntries {
                entries,
                is_whole,
                requires_headers: self.requires_argument_headers(),
                note: self.note().map(str::to_owned),
            }),
            Err(error) => Err(self.list_error(error).await),
        }
    }

    async fn list_error(&self, error: RequestError) -> ServerStartError {
        let message = match error {
            RequestError::Refused(error) => {
                format!(
                    "it does not list its tools: {}",
                    truncate_message(&error.message)
                )
            }
            RequestError::Unreadable(reason) => {
                format!("its list of tools cannot be read: {reason}")
            }
            RequestError::Unsent(reason) | RequestError::Lost(Some(reason)) => reason,
            RequestError::Lost(None) => self.close_reason().await,
        };
        ServerStartError {
            message,
            help: self.help(),
        }
    }
}

/// Sends a cancellation when a caller stops waiting for its request.
struct RequestCancelGuard<'a> {
    session: &'a Session,
    number: i64,
    is_answered: bool,
}

impl Drop for RequestCancelGuard<'_> {
    fn drop(&mut self) {
        let in_flight = &self.session.server_requests.in_flight;
        if self.is_answered {
            in_flight.remove(self.number);
            return;
        }
        in_flight.cancel(self.number);
        let id = RequestId::Number(self.number);
        self.session.router.unregister(&id);
        let reason = "the caller stopped waiting".to_owned();
        let params = CancelledNotificationParam::new(Some(id), Some(reason));
        let notification = CancelledNotification::new(params);
        self.session
            .send_notification(ClientNotification::CancelledNotification(notification));
    }
}

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const PROGRESS_TOKEN: &str = "progressToken";

/// Returns the request as a custom request, which `rmcp` sends unchanged.
fn custom_request(method: &str, params: &Value, meta: Value) -> ClientRequest {
    let params = match params.get("_meta") {
        Some(_) => without(params, &["_meta"]),
        None => params.clone(),
    };
    let params = (!params.is_null()).then(|| params.into());
    let mut request = CustomRequest::new(method, params);
    if let serde_json::Value::Object(meta) = meta.into()
        && !meta.is_empty()
    {
        request.extensions.insert(RequestMetaObject::from(meta));
    }
    ClientRequest::CustomRequest(request)
}

/// Builds the `_meta` of the request `id` from the original one, the entries of its caller and those that the revision
/// requires. Also returns the caller's own progress token.
fn build_meta(
    original: Option<&Value>,
    id: i64,
    caller: Option<&dyn Caller>,
    wants_progress: bool,
    identity: &ClientIdentity,
) -> (Object, Option<Value>) {
    let mut meta = original
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let token = meta.shift_remove(PROGRESS_TOKEN);
    let token = token.filter(|token| caller.is_some() && !token.is_null());
    if let Some(Value::Object(fields)) = caller.map(Caller::meta) {
        for (name, value) in fields.iter() {
            meta.insert(name.clone(), value.clone());
        }
    }
    if token.is_some() || wants_progress {
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
