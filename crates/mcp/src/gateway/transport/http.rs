//! The gateway as an HTTP service.

use std::convert::Infallible;
use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use futures::future::BoxFuture;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, JsonRpcError, JsonRpcMessage,
};
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::sessions::{GatewaySessions, SessionRequest};
use super::stream::{self, Incoming, Unreadable};
use crate::gateway::client::{ClientId, SESSION_HEADER};
use crate::gateway::handler::gateway_handler::GatewayHandler;
use crate::gateway::results::ResultSlot;
use crate::gateway::state::Gateway;

/// A gateway as an HTTP service: Streamable HTTP at the path where it is mounted.
///
/// It checks no address, token or origin. The server that mounts it does, and puts a [`ClientId`] into the request's
/// extensions. A session is only available to the client that has opened it.
#[derive(Clone)]
pub struct HttpService {
    service: StreamableHttpService<GatewayHandler, GatewaySessions>,
    sessions: Arc<GatewaySessions>,
    gateway: Gateway,
    max_bytes: usize,
}

impl HttpService {
    /// Creates a service that stops when `stop` is cancelled. It accepts requests of at most `max_bytes` bytes.
    pub fn new(gateway: &Gateway, max_bytes: usize, stop: CancellationToken) -> Self {
        let config = StreamableHttpServerConfig::default()
            // The server that mounts this service checks hosts and origins.
            .disable_allowed_hosts()
            .with_max_request_body_bytes(max_bytes)
            .with_cancellation_token(stop);
        let sessions = Arc::new(GatewaySessions::default());
        let served = gateway.clone();
        let handler = move || Ok(GatewayHandler::new(&served));
        Self {
            service: StreamableHttpService::new(handler, Arc::clone(&sessions), config),
            sessions,
            gateway: gateway.clone(),
            max_bytes,
        }
    }

    /// Ends the requests, sessions and background work of a client whose access has ended.
    pub async fn end_client(&self, client: &ClientId) {
        self.sessions.end_client(client).await;
        self.gateway.end_client(client);
    }

    /// Responds to unreadable messages, which `rmcp` would refuse as an unsupported media type, and passes all others
    /// to the handler.
    async fn read<B>(&self, request: Request<B>) -> HttpResponse
    where
        B: Body<Data: Send> + Send + 'static,
        B::Error: fmt::Display,
    {
        let kind = request.headers().get(CONTENT_TYPE);
        let is_json = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        // Other requests contain no message.
        if request.method() != Method::POST || !is_json {
            return self.handle(request).await;
        }
        let (parts, body) = request.into_parts();
        let text = match read_body(body, self.max_bytes).await {
            Ok(text) => text,
            Err(refusal) => return refusal,
        };
        // A blank line between messages is not an error over pipes, but a request without a message is one.
        if text.trim_ascii().is_empty() {
            let error = ErrorData::new(ErrorCode::PARSE_ERROR, "the request has no message", None);
            return error_response(StatusCode::BAD_REQUEST, &JsonRpcError::new(None, error));
        }
        let is_opening = |message: &ClientJsonRpcMessage| {
            let is_initialize = matches!(message, JsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::InitializeRequest(_)));
            is_initialize && !parts.headers.contains_key(SESSION_HEADER)
        };
        let Unreadable { reply, substitute } = match stream::parse_message(&text) {
            Incoming::Message(message) if is_opening(&message) => {
                return self.open(Request::from_parts(parts, Full::new(text))).await;
            }
            Incoming::Message(_) | Incoming::Ignored => {
                return self
                    .handle(Request::from_parts(parts, Full::new(text)))
                    .await;
            }
            Incoming::Unreadable(unreadable) => unreadable,
        };
        if let Some(substitute) =
            substitute.and_then(|substitute| serde_json::to_vec(&*substitute).ok())
        {
            // The substitute is a response to one of our requests, so it gets no response itself.
            let substitute = Full::new(Bytes::from(substitute));
            drop(self.handle(Request::from_parts(parts, substitute)).await);
        }
        error_response(StatusCode::BAD_REQUEST, &reply)
    }

    async fn open(&self, request: Request<Full<Bytes>>) -> HttpResponse {
        let client = client_of(&request);
        let Some(_opening) = self.sessions.reserve_session(&client).await else {
            let reason = "too many sessions of this client have requests in flight";
            let error = ErrorData::internal_error(reason, None);
            let refusal = JsonRpcError::new(None, error);
            return error_response(StatusCode::TOO_MANY_REQUESTS, &refusal);
        };
        self.handle(request).await
    }

    async fn handle<B>(&self, mut request: Request<B>) -> HttpResponse
    where
        B: Body<Data: Send> + Send + 'static,
        B::Error: fmt::Display,
    {
        let client = client_of(&request);
        let session = |headers: &http::HeaderMap| {
            let session = headers.get(SESSION_HEADER)?.to_str().ok()?;
            Some(Arc::<str>::from(session))
        };
        let mut guard = None;
        if let Some(session) = session(request.headers()) {
            if !self.sessions.is_accessible_to(&session, &client) {
                // Same as for an unknown session, so that other clients cannot probe for sessions.
                return not_found();
            }
            let kind = match *request.method() {
                Method::GET => SessionRequest::Stream,
                _ => SessionRequest::Call,
            };
            // A request of an unknown session must not create a usage entry.
            let is_open = self
                .sessions
                .has_session(&session)
                .await
                .unwrap_or_default();
            guard = is_open.then(|| self.sessions.track_request(&session, kind));
        }
        let slot = ResultSlot::default();
        request.extensions_mut().insert(slot.clone());
        request
            .extensions_mut()
            .insert(self.sessions.client_end(&client));
        let response = self.service.handle(request).await;
        if let Some(session) = session(response.headers()) {
            self.sessions.set_owner(session, client).await;
        }
        response.map(|body| {
            let body = body.map_frame(move |frame| {
                // Keeps the guard until the last frame.
                let _ = &guard;
                frame.map_data(|data| fill_result(data, &slot))
            });
            BodyExt::boxed(body)
        })
    }
}

type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

fn client_of<B>(request: &Request<B>) -> ClientId {
    let client = request.extensions().get().cloned();
    client.unwrap_or_else(ClientId::local)
}

async fn read_body<B>(body: B, max_bytes: usize) -> Result<Bytes, HttpResponse>
where
    B: Body,
    B::Error: fmt::Display,
{
    let mut text = Vec::new();
    let mut body = std::pin::pin!(body);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            let reason = format!("the request was interrupted: {error}");
            let error = ErrorData::new(ErrorCode::PARSE_ERROR, reason, None);
            error_response(StatusCode::BAD_REQUEST, &JsonRpcError::new(None, error))
        })?;
        // Trailers are not part of the message.
        let Ok(mut data) = frame.into_data() else {
            continue;
        };
        // The bytes are counted as they arrive, because a chunked body declares no length.
        if text.len() + data.remaining() > max_bytes {
            // The beginning usually has the id of the request, which the refusal then answers.
            let refusal = stream::too_long_message(&text, max_bytes);
            return Err(error_response(
                StatusCode::PAYLOAD_TOO_LARGE,
                &refusal.reply,
            ));
        }
        while data.has_remaining() {
            let chunk = data.chunk();
            text.extend_from_slice(chunk);
            let length = chunk.len();
            data.advance(length);
        }
    }
    Ok(text.into())
}

fn error_response(status: StatusCode, reply: &JsonRpcError) -> HttpResponse {
    let text = serde_json::to_vec(reply).unwrap_or_default();
    let mut response = Response::new(Full::new(Bytes::from(text)).boxed());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn not_found() -> HttpResponse {
    let text = Full::new(Bytes::from_static(b"Not Found: Session not found"));
    let mut response = Response::new(text.boxed());
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// Replaces the placeholder in a frame, which is one event, with the result from the slot.
fn fill_result(data: Bytes, slot: &ResultSlot) -> Bytes {
    // Frames before the result, such as notifications, pass unchanged.
    if slot.is_empty() {
        return data;
    }
    let Ok(event) = std::str::from_utf8(&data) else {
        return data;
    };
    let mut text = String::new();
    for line in event.split_inclusive('\n') {
        let id = line.strip_prefix("data:").and_then(result_id);
        match id.and_then(|id| Some((id, slot.take()?))) {
            Some((id, result)) => {
                let result = result.to_json();
                let _ = writeln!(
                    text,
                    r#"data: {{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
                );
            }
            None => text += line,
        }
    }
    text.into()
}

/// Returns the request id of a message that is a result.
fn result_id(message: &str) -> Option<serde_json::Value> {
    let mut message: serde_json::Value = serde_json::from_str(message).ok()?;
    message.get("result")?;
    Some(message.get_mut("id")?.take())
}

impl<B> tower_service::Service<Request<B>> for HttpService
where
    B: Body<Data: Send> + Send + 'static,
    B::Error: fmt::Display,
{
    type Response = HttpResponse;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.read(request).await) })
    }
}

impl fmt::Debug for HttpService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpService").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use planwright_core::Value;

    use super::fill_result;
    use crate::gateway::results::ResultSlot;

    fn check(event: &str, expected: &str) {
        let slot = ResultSlot::default();
        slot.put(Value::from_json(r#"{"x":"\n"}"#).unwrap());
        assert_eq!(fill_result(Bytes::from(event.to_owned()), &slot), expected);
        assert_eq!(slot.is_empty(), event != expected);
    }

    #[test]
    fn results_take_their_place() {
        check(
            "id: 1/0\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"content\":[]}}\n\n",
            "id: 1/0\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"x\":\"\\n\"}}\n\n",
        );
    }

    #[test]
    fn other_frames_stay_unchanged() {
        for event in [
            "data:\n\n",
            ": \n\n",
            "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"result\":1}}\n\n",
            "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"no\"}}\n\n",
        ] {
            check(event, event);
        }
    }
}
