//! Responses to POST requests, converted for `rmcp`, with incremental parsers of server-sent events and of JSON bodies
//! that have a length limit.
//!
//! A body holds one message by the specification, on any number of lines. Some servers stream several, one per line.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream, try_unfold};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::failure::{HttpConnectionState, HttpError, HttpFailure};
use crate::session::envelope::{self, canonical_id};
use crate::session::error::UpstreamError;
use crate::session::router::ResponseRouter;

/// A server-sent event. It may consist of only an id, from which the stream can be resumed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SseEvent {
    pub(super) kind: Option<String>,
    data: Option<Vec<u8>>,
    pub(super) id: Option<String>,
    pub(super) retry: Option<u64>,
}

/// The error of an event beyond the limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EventTooLong;

#[derive(Debug)]
struct SseParser {
    limit: usize,
    line: Vec<u8>,
    event: SseEvent,
    ready: VecDeque<SseEvent>,
    // True after `\r`: a following `\n`, possibly in the next chunk, belongs to the same line end.
    ended_with_return: bool,
    is_first_line: bool,
}

impl SseParser {
    /// Creates a parser for events of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            event: SseEvent::default(),
            ready: VecDeque::new(),
            ended_with_return: false,
            is_first_line: true,
        }
    }

    fn push(&mut self, mut chunk: &[u8]) -> Result<(), EventTooLong> {
        if self.ended_with_return {
            chunk = chunk.strip_prefix(b"\n").unwrap_or(chunk);
            self.ended_with_return = chunk.is_empty();
        }
        while let Some(end) = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.add(&chunk[..end])?;
            self.end_line();
            let rest = &chunk[end + 1..];
            chunk = match chunk[end] {
                b'\r' => {
                    self.ended_with_return = rest.is_empty();
                    rest.strip_prefix(b"\n").unwrap_or(rest)
                }
                _ => rest,
            };
        }
        self.add(chunk)
    }

    pub(super) fn next(&mut self) -> Option<SseEvent> {
        self.ready.pop_front()
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        // A comment may be of any length, but only its first byte is stored.
        if self.line.first().or(bytes.first()) == Some(&b':') {
            self.line = vec![b':'];
            return Ok(());
        }
        let data = self.event.data.as_ref().map_or(0, Vec::len);
        if data + self.line.len() + bytes.len() > self.limit {
            return Err(EventTooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        // The specification allows a byte order mark at the start of a stream.
        if std::mem::take(&mut self.is_first_line) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if event != SseEvent::default() {
                self.ready.push_back(event);
            }
            return;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let name = &line[..colon.unwrap_or(line.len())];
        let value = colon.map_or(&[][..], |colon| &line[colon + 1..]);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            b"data" => match &mut self.event.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.event.data = Some(value.to_vec()),
            },
            b"event" => self.event.kind = Some(text()),
            // The specification ignores ids with a NUL character.
            b"id" if !value.contains(&0) => self.event.id = Some(text()),
            b"retry" => self.event.retry = text().parse().ok(),
            _ => {}
        }
    }
}

/// The maximum length of an error response that is read.
const MAX_REFUSAL_BYTES: usize = 64 << 10;

/// The maximum time that the rest of a body after the response is read.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(50);

/// The properties of a request that determine how its response is read. The default is for a resumed stream, or a stream without
/// a request.
#[derive(Clone, Debug, Default)]
pub(super) struct ExpectedResponse {
    /// The request id; `None` for notifications and responses, which get no response.
    id: Option<RequestId>,
    is_discover: bool,
    /// True if the response is a list of tools, which `rmcp` gets as well, because it reads from it which arguments to
    /// repeat in headers.
    is_tool_list: bool,
}

impl ExpectedResponse {
    pub(super) fn to(message: &ClientJsonRpcMessage) -> Self {
        let ClientJsonRpcMessage::Request(request) = message else {
            return Self::default();
        };
        let is_tool_list = match &request.request {
            ClientRequest::ListToolsRequest(_) => true,
            ClientRequest::CustomRequest(request) => request.method == "tools/list",
            _ => false,
        };
        Self {
            id: Some(request.id.clone()),
            is_discover: matches!(request.request, ClientRequest::DiscoverRequest(_)),
            is_tool_list,
        }
    }

    /// Routes a message, and returns its substitute for `rmcp`.
    fn read(&self, router: &ResponseRouter, bytes: &[u8]) -> Option<ServerJsonRpcMessage> {
        let message = router.decode(bytes, self.id.as_ref())?;
        if self.is_tool_list
            && let Ok(list @ ServerJsonRpcMessage::Response(_)) = serde_json::from_slice(bytes)
        {
            return Some(list);
        }
        Some(message)
    }
}

/// Reads the response of a success status. After status 202, the response arrives on the stream of the session.
pub(super) async fn read_success(
    response: Response,
    expected: ExpectedResponse,
    has_session: bool,
    connection: &Arc<HttpConnectionState>,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let session = header(&response, "mcp-session-id");
    let kind = header(&response, CONTENT_TYPE.as_str()).unwrap_or_default();
    if expected.id.is_none() {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if kind.starts_with("text/event-stream") {
        let stream = events(response, expected, Arc::clone(connection));
        return Ok(StreamableHttpPostResponse::Sse(stream, session));
    }
    if kind.starts_with("application/json") {
        return read_json(response, expected, session, connection).await;
    }
    if response.status() == StatusCode::ACCEPTED && has_session {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    Err(StreamableHttpError::Client(HttpFailure::unreadable(
        "it is neither JSON nor a stream of events",
    )))
}

/// Reads a response of an error status. If it contains a JSON-RPC error, that may be the response to the request.
pub(super) async fn read_refusal(
    response: Response,
    expected: ExpectedResponse,
    connection: &Arc<HttpConnectionState>,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let status = response.status();
    let mut failure = HttpFailure::status(status, response.headers());
    let Some(id) = &expected.id else {
        return Err(StreamableHttpError::Client(failure));
    };
    // These statuses concern the authorization, whatever the body contains.
    let is_about_authorization = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let body = body(response, MAX_REFUSAL_BYTES).await.unwrap_or_default();
    if !is_about_authorization && let Some(body) = error_in(&body) {
        let error = envelope::to_upstream_error(body["error"].clone().into());
        // The handshake is repeated anyway, so its outcome is never unknown.
        let is_answer = !connection.router.is_pending(id)
            || is_answer(&error, &body["id"], status, &failure, id);
        if is_answer && let Some(message) = route_error(body, id, &connection.router) {
            return Ok(StreamableHttpPostResponse::Json(message, None));
        }
        failure.message = format!("{}: {}", failure.message, error.message);
    }
    // A server of an earlier revision, or a proxy, may not support `server/discover`.
    let is_unknown = status.is_client_error() && !is_about_authorization
        || matches!(
            status,
            StatusCode::INTERNAL_SERVER_ERROR | StatusCode::NOT_IMPLEMENTED
        );
    if expected.is_discover && is_unknown && status != StatusCode::TOO_MANY_REQUESTS {
        let error = ErrorData::invalid_request(failure.message, None);
        let message = ServerJsonRpcMessage::error(error, Some(id.clone()));
        return Ok(StreamableHttpPostResponse::Json(message, None));
    }
    Err(StreamableHttpError::Client(failure))
}

/// Returns the events of a response stream, whose messages are routed.
pub(super) fn events(
    response: Response,
    expected: ExpectedResponse,
    connection: Arc<HttpConnectionState>,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let reader = SseParser::new(connection.limit);
    let state = (response, reader, expected, connection);
    try_unfold(
        state,
        |(mut response, mut reader, expected, connection)| async {
            loop {
                if let Some(event) = reader.next() {
                    let event = route_event(event, &expected, &connection.router);
                    return Ok(Some((event, (response, reader, expected, connection))));
                }
                let chunk = response.chunk().await;
                let Some(chunk) =
                    chunk.map_err(|error| SseError::Body(Box::new(error.without_url())))?
                else {
                    return Ok(None);
                };
                if reader.push(&chunk).is_err() {
                    // The request that the event answers is unknown and would wait forever, so the connection ends.
                    connection.abort(HttpFailure::too_long());
                    return Ok(None);
                }
            }
        },
    )
    .boxed()
}

/// The error of a message beyond the limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MessageTooLong;

/// A line end outside of all braces and texts ends a message, so an indented message stays whole.
#[derive(Debug)]
struct JsonLines {
    limit: usize,
    bytes: Vec<u8>,
    // The part of `bytes` that is scanned.
    scanned: usize,
    depth: usize,
    in_text: bool,
    is_escaped: bool,
}

impl JsonLines {
    /// Creates a splitter for messages of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            bytes: Vec::new(),
            scanned: 0,
            depth: 0,
            in_text: false,
            is_escaped: false,
        }
    }

    fn push(&mut self, chunk: &[u8]) {
        self.bytes.extend_from_slice(chunk);
    }

    /// Returns the next message that a line end follows.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, MessageTooLong> {
        while let Some(byte) = self.bytes.get(self.scanned) {
            self.scanned += 1;
            if self.scan(*byte)
                && let Some(message) = self.take(self.scanned)
            {
                return self.check(message.len()).map(|()| Some(message));
            }
        }
        self.check(self.bytes.len()).map(|()| None)
    }

    /// Returns the message at the end of the body.
    fn rest(&mut self) -> Option<Vec<u8>> {
        self.take(self.bytes.len())
    }

    /// Returns true if `byte` ends a message.
    fn scan(&mut self, byte: u8) -> bool {
        if self.in_text {
            let is_escaped = std::mem::take(&mut self.is_escaped);
            match byte {
                b'\\' => self.is_escaped = !is_escaped,
                b'"' => self.in_text = is_escaped,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        byte == b'\n' && self.depth == 0
    }

    /// Takes the first `length` bytes, unless they are blank.
    fn take(&mut self, length: usize) -> Option<Vec<u8>> {
        let rest = self.bytes.split_off(length);
        self.scanned = 0;
        let message = std::mem::replace(&mut self.bytes, rest);
        (!message.trim_ascii().is_empty()).then_some(message)
    }

    fn check(&self, length: usize) -> Result<(), MessageTooLong> {
        if length > self.limit {
            return Err(MessageTooLong);
        }
        Ok(())
    }
}

/// Reads a response of JSON. Its first message should be the response; if it is another, more follow as a stream.
async fn read_json(
    mut response: Response,
    expected: ExpectedResponse,
    session: Option<String>,
    connection: &Arc<HttpConnectionState>,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let mut lines = JsonLines::new(connection.limit);
    let first = next_line(&mut response, &mut lines).await;
    let (first, is_last) = first.map_err(StreamableHttpError::Client)?;
    let message = expected.read(&connection.router, &first);
    let message = message.ok_or_else(|| HttpFailure::unreadable("it is not a message of MCP"));
    let message = message.map_err(StreamableHttpError::Client)?;
    let is_response = matches!(
        message,
        ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)
    );
    if !is_response && !is_last {
        let stream = json_messages(message, response, lines, expected, Arc::clone(connection));
        return Ok(StreamableHttpPostResponse::Sse(stream, session));
    }
    // No message after the first response can answer the request.
    if let Some(id) = &expected.id
        && connection.router.is_pending(id)
    {
        let failure = HttpFailure::unreadable("it does not answer the request");
        return Err(StreamableHttpError::Client(failure));
    }
    if !is_last {
        drain(response).await;
    }
    Ok(StreamableHttpPostResponse::Json(message, session))
}

/// Returns the next message of a JSON body, and whether the body ends with it. At the end, the message may be empty.
async fn next_line(
    response: &mut Response,
    lines: &mut JsonLines,
) -> Result<(Vec<u8>, bool), HttpFailure> {
    loop {
        match lines.next() {
            Ok(Some(message)) => return Ok((message, false)),
            Ok(None) => {}
            Err(MessageTooLong) => return Err(HttpFailure::too_long()),
        }
        match response.chunk().await.map_err(HttpFailure::unreachable)? {
            Some(chunk) => lines.push(&chunk),
            None => return Ok((lines.rest().unwrap_or_default(), true)),
        }
    }
}

/// Returns the messages of a JSON body as events, whose messages are routed; `first` already is.
fn json_messages(
    first: ServerJsonRpcMessage,
    response: Response,
    lines: JsonLines,
    expected: ExpectedResponse,
    connection: Arc<HttpConnectionState>,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let event = |message: Option<ServerJsonRpcMessage>| Sse {
        data: message.and_then(|message| serde_json::to_string(&message).ok()),
        ..Sse::default()
    };
    let rest = try_unfold(
        (response, lines, expected, connection, false),
        move |(mut response, mut lines, expected, connection, is_over)| async move {
            if is_over {
                return Ok(None);
            }
            let next = next_line(&mut response, &mut lines).await;
            let (line, is_last) = next.map_err(|failure| SseError::Body(Box::new(failure)))?;
            let message = expected.read(&connection.router, &line);
            let state = (response, lines, expected, connection, is_last);
            Ok(Some((event(message), state)))
        },
    );
    stream::once(async move { Ok(event(Some(first))) })
        .chain(rest)
        .boxed()
}

/// Reads the rest of a response, so that its connection can be used again.
async fn drain(mut response: Response) {
    let all = async { while let Ok(Some(_)) = response.chunk().await {} };
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, all).await;
}

fn error_in(body: &[u8]) -> Option<serde_json::Value> {
    let error: serde_json::Value = serde_json::from_slice(body).ok()?;
    error.get("error")?.get("code")?.as_i64()?;
    Some(error)
}

/// Returns true if an error describes the outcome of the request `id`, rather than just its HTTP status.
fn is_answer(
    error: &UpstreamError,
    error_id: &serde_json::Value,
    status: StatusCode,
    failure: &HttpFailure,
    id: &RequestId,
) -> bool {
    if !failure.may_have_happened {
        // A refusal takes precedence: servers use `-32001`, which otherwise means unknown, for an unknown session.
        return !error.is_uncertain();
    }
    let is_timeout = matches!(status.as_u16(), 408 | 499 | 502 | 504);
    let error_id = serde_json::from_value::<RequestId>(error_id.clone());
    // Proxies and generic error handlers do not know the id of the request.
    !is_timeout && error_id.is_ok_and(|error_id| canonical_id(error_id) == *id)
}

/// Routes an error as the response to the request `id`, which some servers omit.
fn route_error(
    mut error: serde_json::Value,
    id: &RequestId,
    router: &ResponseRouter,
) -> Option<ServerJsonRpcMessage> {
    let fields = error.as_object_mut()?;
    fields.insert("jsonrpc".to_owned(), "2.0".into());
    fields.insert("id".to_owned(), serde_json::to_value(id).ok()?);
    router.decode(&serde_json::to_vec(&error).ok()?, None)
}

fn route_event(event: SseEvent, expected: &ExpectedResponse, router: &ResponseRouter) -> Sse {
    let is_message = matches!(event.kind.as_deref(), None | Some("" | "message"));
    let data = event.data.filter(|data| is_message && !data.is_empty());
    let message = data.and_then(|data| expected.read(router, &data));
    Sse {
        event: event.kind,
        data: message.and_then(|message| serde_json::to_string(&message).ok()),
        id: event.id,
        retry: event.retry,
    }
}

async fn body(mut response: Response, limit: usize) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    loop {
        let chunk = response.chunk().await;
        let chunk =
            chunk.map_err(|error| StreamableHttpError::Client(HttpFailure::unreachable(error)))?;
        let Some(chunk) = chunk else {
            return Ok(body);
        };
        if body.len() + chunk.len() > limit {
            return Err(StreamableHttpError::Client(HttpFailure::too_long()));
        }
        body.extend_from_slice(&chunk);
    }
}

fn header(response: &Response, name: &str) -> Option<String> {
    let value = response.headers().get(name)?.to_str().ok()?;
    Some(value.to_owned())
}

#[cfg(test)]
mod tests;
