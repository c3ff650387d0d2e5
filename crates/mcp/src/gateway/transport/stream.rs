//! The gateway over a stream, such as standard input and output, and the messages of clients: unreadable ones get an
//! error response, with the id of the request if that is readable.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::value::number::first_inexact_number;
use rmcp::RoleServer;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, CustomResult, ErrorCode, ErrorData,
    GetExtensions, JsonRpcError, JsonRpcMessage, ProtocolVersion, RequestId, ServerConfig,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{
    NotificationContext, RequestContext, ServerInitializeError, Service, ServiceExt,
};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use serde_json::error::Category;
use tokio::io::{AsyncRead, AsyncWrite, Empty};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::sessions::SessionEnd;
use crate::gateway::handler::gateway_handler::GatewayHandler;
use crate::gateway::results::ResultSlot;
use crate::gateway::state::Gateway;
use crate::transport::stdio::process::{BoundedLine, BoundedLineReader};

/// The maximum length of a message in bytes.
const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// The maximum time that the end of a stream waits for error responses that the client does not read.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// The reason why serving a stream has failed.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The handshake has failed.
    #[error("the client did not start with a valid MCP handshake: {0}")]
    Handshake(String),
    /// The connection has failed because of a defect.
    #[error("the connection failed: {0}")]
    Broken(String),
}

/// Serves the client on standard input and output until the end of the input, or until `stop` is cancelled.
///
/// The future has no type of its own, so that its code is generated and optimized in this crate, and not in the program's.
///
/// # Errors
///
/// Fails if the client does not begin with a handshake.
pub fn serve_stdio(
    gateway: &Gateway,
    stop: CancellationToken,
) -> BoxFuture<'_, Result<(), StreamError>> {
    Box::pin(serve_stream(gateway, stdio_pipes(), stop))
}

/// Serves the client on a stream until the end of its input, or until `stop` is cancelled.
///
/// # Errors
///
/// Fails if the client does not begin with a handshake.
pub async fn serve_stream<R, W>(
    gateway: &Gateway,
    stream: (R, W),
    stop: CancellationToken,
) -> Result<(), StreamError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let stream = LenientTransport::new(stream);
    match RawResultService(GatewayHandler::new(gateway))
        .serve_with_ct(stream, stop)
        .await
    {
        Ok(service) => match service.waiting().await {
            Ok(_) => Ok(()),
            Err(error) => Err(StreamError::Broken(error.to_string())),
        },
        // A client that disconnects before the handshake is not an error.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(())
        }
        Err(error) => Err(StreamError::Handshake(error.to_string())),
    }
}

/// The messages of a stream from the first request on. Earlier notifications and responses have no meaning, and `rmcp`
/// would end the connection. It parses messages itself, because `rmcp` ignores unreadable ones without a response.
struct LenientTransport<R: AsyncRead, W: AsyncWrite> {
    input: BoundedLineReader<R>,
    output: AsyncRwTransport<RoleServer, Empty, W>,
    has_begun: bool,
    end: SessionEnd,
    /// The error responses to unreadable messages that are being sent.
    error_responses: JoinSet<()>,
}

impl<R, W> LenientTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    fn new((input, output): (R, W)) -> Self {
        Self {
            input: BoundedLineReader::new(input, MAX_MESSAGE_BYTES),
            // `rmcp` only writes: this type reads the input itself.
            output: AsyncRwTransport::new(tokio::io::empty(), output),
            has_begun: false,
            end: SessionEnd::default(),
            error_responses: JoinSet::new(),
        }
    }

    /// Returns the next readable message, or `None` at the end of the stream.
    async fn read(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let incoming = match self.input.next_truncated().await {
                Ok(Some(BoundedLine::Complete(line))) => parse_message(line),
                Ok(Some(BoundedLine::Truncated(line))) => {
                    Incoming::Unreadable(too_long_message(line, MAX_MESSAGE_BYTES))
                }
                Ok(None) => return None,
                Err(error) => {
                    tracing::error!(%error, "reading from the client failed");
                    return None;
                }
            };
            match incoming {
                Incoming::Message(message) => return Some(*message),
                Incoming::Ignored => {}
                Incoming::Unreadable(Unreadable { reply, substitute }) => {
                    // The send runs in a separate task, because this future may be dropped at any time.
                    let sending = self.output.send(ServerJsonRpcMessage::Error(reply));
                    while self.error_responses.try_join_next().is_some() {}
                    self.error_responses.spawn(async {
                        if let Err(error) = sending.await {
                            tracing::debug!(%error, "an error response could not be sent");
                        }
                    });
                    if let Some(substitute) = substitute {
                        return Some(*substitute);
                    }
                }
            }
        }
    }

    /// Waits until the error responses are sent. `rmcp` does not know of them, so it would not wait for them.
    async fn flush_error_responses(&mut self) {
        let all = async { while self.error_responses.join_next().await.is_some() {} };
        if tokio::time::timeout(FLUSH_TIMEOUT, all).await.is_err() {
            tracing::debug!("the client does not read its responses");
        }
    }
}

impl<R, W> Transport<RoleServer> for LenientTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.output.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let Some(mut message) = self.read().await else {
                self.end.signal();
                self.flush_error_responses().await;
                return None;
            };
            if let JsonRpcMessage::Request(request) = &mut message {
                self.end.attach(request.request.extensions_mut());
                self.has_begun = true;
            }
            if self.has_begun {
                return Some(message);
            }
            tracing::debug!("a message before the first request was ignored");
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.output.close().await
    }
}

#[derive(Debug)]
pub(super) enum Incoming {
    Message(Box<ClientJsonRpcMessage>),
    Unreadable(Unreadable),
    /// An empty line, or a notification with invalid parameters, for which JSON-RPC has no response.
    Ignored,
}

#[derive(Debug)]
pub(super) struct Unreadable {
    /// The error response for the client.
    pub(super) reply: JsonRpcError,
    /// The substitute for the message, if it was a response to one of our requests.
    pub(super) substitute: Option<Box<ClientJsonRpcMessage>>,
}

pub(super) fn parse_message(text: &[u8]) -> Incoming {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let text = text.trim_ascii();
    if text.is_empty() {
        return Incoming::Ignored;
    }
    let members = MessageMembers::of(text);
    let (code, reason) = match serde_json::from_slice::<ClientJsonRpcMessage>(text) {
        // A message that was read is UTF-8.
        Ok(message) => match std::str::from_utf8(text)
            .ok()
            .and_then(first_inexact_number)
        {
            None => return Incoming::Message(Box::new(message)),
            // The number would be rounded on its way to a server.
            Some(number) => {
                let reason = format!(
                    "the number `{number}` does not fit into 64 bits: send it as text, or with fewer digits"
                );
                (ErrorCode::INVALID_PARAMS, reason)
            }
        },
        Err(error) => match error.classify() {
            Category::Data if members.has_method && members.ids.is_empty() => {
                tracing::debug!(%error, "a malformed notification was ignored");
                return Incoming::Ignored;
            }
            Category::Data => (
                ErrorCode::INVALID_REQUEST,
                members.invalid_reason().to_owned(),
            ),
            Category::Syntax | Category::Eof | Category::Io => {
                let reason = format!("the message cannot be read: {error}");
                (ErrorCode::PARSE_ERROR, reason)
            }
        },
    };
    Incoming::Unreadable(members.refuse(ErrorData::new(code, reason, None)))
}

/// Returns the refusal of a message that begins with `text` and has more than `max_bytes` bytes.
pub(super) fn too_long_message(text: &[u8], max_bytes: usize) -> Unreadable {
    let reason = format!("the message has more than {max_bytes} bytes");
    MessageMembers::of(text).refuse(ErrorData::new(ErrorCode::INVALID_REQUEST, reason, None))
}

/// The members that identify a message, found without parsing all of it.
#[derive(Debug, Default)]
struct MessageMembers {
    /// The values of all `id` members; `None` for one that is neither a string nor an integer.
    ids: Vec<Option<RequestId>>,
    has_method: bool,
    has_answer: bool,
}

impl MessageMembers {
    /// Scans a JSON object, as far as `text` is one.
    fn of(text: &[u8]) -> Self {
        let mut members = Self::default();
        let (mut depth, mut at) = (0_usize, 0);
        // The member whose value is being read.
        let mut member: Option<&[u8]> = None;
        while let Some(byte) = text.get(at) {
            let start = at;
            at = match byte {
                b'"' => end_of_string(text, at),
                b'{' | b'[' | b'}' | b']' | b',' | b':' => at + 1,
                byte if byte.is_ascii_whitespace() => {
                    at += 1;
                    continue;
                }
                _ => end_of_literal(text, at),
            };
            let token = text.get(start..at).unwrap_or_default();
            let is_value = depth == 1 && member.is_some() && *byte != b':';
            match byte {
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        break;
                    }
                }
                b',' if depth == 1 => member = None,
                _ if is_value && member == Some(b"\"id\"") => {
                    members.ids.push(serde_json::from_slice(token).ok());
                }
                b'"' if depth == 1 && member.is_none() => {
                    member = Some(token);
                    members.has_method |= token == b"\"method\"";
                    members.has_answer |= matches!(token, b"\"result\"" | b"\"error\"");
                }
                _ => {}
            }
            if matches!(byte, b'{' | b'[') {
                depth += 1;
            }
        }
        members
    }

    /// Returns the reason why valid JSON is not a message.
    fn invalid_reason(&self) -> &'static str {
        match self.ids.as_slice() {
            [_, _, ..] => "the message has several members `id`",
            [None] => "the message has an `id` that is neither a text nor an integer of 64 bits",
            _ => "the message is not a request, notification or response",
        }
    }

    fn refuse(self, error: ErrorData) -> Unreadable {
        // Several ids are ambiguous, so the response has none.
        let id = match <[_; 1]>::try_from(self.ids) {
            Ok([id]) => id,
            Err(_) => None,
        };
        // Ids of the client's requests and of responses to our requests are independent.
        if self.has_method || !self.has_answer {
            let reply = JsonRpcError::new(id, error);
            return Unreadable {
                reply,
                substitute: None,
            };
        }
        let substitute =
            id.map(|id| Box::new(ClientJsonRpcMessage::error(error.clone(), Some(id))));
        Unreadable {
            reply: JsonRpcError::new(None, error),
            substitute,
        }
    }
}

/// Returns the end of the string that begins at `start`.
fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    loop {
        match text.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') => return at + 1,
            Some(_) => at += 1,
            None => return text.len(),
        }
    }
}

/// Returns the end of the number or literal that begins at `start`.
fn end_of_literal(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let is_end = |byte: &u8| b"{}[]:,\"".contains(byte) || byte.is_ascii_whitespace();
    let length = rest.iter().position(is_end).unwrap_or(rest.len());
    start + length.max(1)
}

/// The service over a stream: a handler whose results bypass the types of `rmcp`.
#[derive(Debug)]
struct RawResultService(GatewayHandler);

impl Service<RoleServer> for RawResultService {
    async fn handle_request(
        &self,
        request: ClientRequest,
        mut context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let slot = ResultSlot::default();
        context.extensions.insert(slot.clone());
        let result = Service::handle_request(&self.0, request, context).await?;
        Ok(match slot.take() {
            Some(raw) => ServerResult::CustomResult(CustomResult::new(raw.into())),
            None => result,
        })
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Service::handle_notification(&self.0, notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        ServerHandler::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ServerHandler::supported_protocol_versions(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use insta::assert_snapshot;
    use tokio::io::AsyncReadExt;
    use tokio::time::Instant;

    use super::*;

    const INPUT: &[u8] = b"no\nmore\n";

    #[tokio::test]
    async fn error_responses_are_sent_before_the_stream_ends() {
        let (output, mut client) = tokio::io::duplex(4096);
        let mut stream = LenientTransport::new((INPUT, output));
        assert!(stream.receive().await.is_none());
        let mut responses = [0; 4096];
        let length = client.read(&mut responses).now_or_never();
        let length = length.expect("nothing was sent").unwrap();
        let responses = String::from_utf8_lossy(&responses[..length]);
        assert_eq!(responses.matches("-32700").count(), 2, "{responses}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_cannot_keep_the_stream_open() {
        let (output, _client) = tokio::io::duplex(1);
        let mut stream = LenientTransport::new((INPUT, output));
        let started = Instant::now();
        assert!(stream.receive().await.is_none());
        assert_eq!(started.elapsed().as_secs(), FLUSH_TIMEOUT.as_secs());
    }

    fn check(text: &[u8]) -> String {
        match parse_message(text) {
            Incoming::Ignored => "ignored".to_owned(),
            Incoming::Message(message) => match *message {
                JsonRpcMessage::Request(request) => format!("request {}", request.id),
                JsonRpcMessage::Notification(_) => "notification".to_owned(),
                JsonRpcMessage::Response(response) => format!("response {}", response.id),
                JsonRpcMessage::Error(_) => "error".to_owned(),
            },
            Incoming::Unreadable(unreadable) => {
                let reply = serde_json::to_string(&unreadable.reply).unwrap();
                let json = |message: &ClientJsonRpcMessage| serde_json::to_string(message).unwrap();
                match unreadable.substitute {
                    None => reply,
                    Some(substitute) => format!("{reply} and {}", json(&substitute)),
                }
            }
        }
    }

    #[test]
    fn reads_valid_messages() {
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request 1"),
            (
                "\u{feff} {\"id\":\"a\",\"jsonrpc\":\"2.0\",\"method\":\"x/y\"} ",
                "request a",
            ),
            (
                r#"{"jsonrpc":"2.0","method":"x","params":{"id":1}}"#,
                "notification",
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{"id":{},"a":[{"id":1}]}}"#,
                "response 7",
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}"#,
                "error",
            ),
            ("  ", "ignored"),
        ] {
            assert_eq!(check(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn unreadable_messages_get_an_error() {
        let deep = format!(
            r#"{{"params":{},"method":"a","id":"deep"}}"#,
            "[".repeat(200) + &"]".repeat(200)
        );
        let texts: [&[u8]; 18] = [
            br#"{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"a":123456789012345678901234567890}}"#,
            br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":"\ud83d"}}"#,
            br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"a":1e400}}"#,
            b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"a\":\"\xff\"}}",
            br#"{"jsonrpc":"2.0","method":"a","params":{"a":NaN},"id":"4"}"#,
            br#"{"jsonrpc":"2.0","id":5,"method":"a","params":{"id":9"#,
            deep.as_bytes(),
            br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
            br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            br#"{"jsonrpc":"2.0","id":{"id":1},"method":"ping"}"#,
            br#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"ping"}"#,
            br#"{"jsonrpc":"1.0","id":6,"method":"ping"}"#,
            br#"{"jsonrpc":"2.0","id":7,"result":{"a":"\ud83d"}}"#,
            br#"[{"jsonrpc":"2.0","id":8,"method":"ping"}]"#,
            b"{}",
            b"hello",
            b"\"tools/list\"",
            br#"{"jsonrpc":"2.0","id":"\"}","method":"a","params":tru}"#,
        ];
        let shown: Vec<String> = texts.iter().map(|text| check(text)).collect();
        assert_snapshot!(shown.join("\n"), @r#"
        {"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"the number `123456789012345678901234567890` does not fit into 64 bits: send it as text, or with fewer digits"}}
        {"jsonrpc":"2.0","id":1,"error":{"code":-32700,"message":"the message cannot be read: unexpected end of hex escape at line 1 column 68"}}
        {"jsonrpc":"2.0","id":2,"error":{"code":-32700,"message":"the message cannot be read: number out of range at line 1 column 65"}}
        {"jsonrpc":"2.0","id":3,"error":{"code":-32700,"message":"the message cannot be read: invalid unicode code point at line 1 column 62"}}
        {"jsonrpc":"2.0","id":"4","error":{"code":-32700,"message":"the message cannot be read: expected value at line 1 column 45"}}
        {"jsonrpc":"2.0","id":5,"error":{"code":-32700,"message":"the message cannot be read: EOF while parsing an object at line 1 column 53"}}
        {"jsonrpc":"2.0","id":"deep","error":{"code":-32700,"message":"the message cannot be read: recursion limit exceeded at line 1 column 137"}}
        {"jsonrpc":"2.0","error":{"code":-32600,"message":"the message has several members `id`"}}
        {"jsonrpc":"2.0","error":{"code":-32600,"message":"the message has an `id` that is neither a text nor an integer of 64 bits"}}
        {"jsonrpc":"2.0","error":{"code":-32600,"message":"the message has an `id` that is neither a text nor an integer of 64 bits"}}
        {"jsonrpc":"2.0","error":{"code":-32600,"message":"the message has an `id` that is neither a text nor an integer of 64 bits"}}
        {"jsonrpc":"2.0","id":6,"error":{"code":-32600,"message":"the message is not a request, notification or response"}}
        {"jsonrpc":"2.0","error":{"code":-32700,"message":"the message cannot be read: unexpected end of hex escape at line 1 column 46"}} and {"jsonrpc":"2.0","id":7,"error":{"code":-32700,"message":"the message cannot be read: unexpected end of hex escape at line 1 column 46"}}
        {"jsonrpc":"2.0","error":{"code":-32600,"message":"the message is not a request, notification or response"}}
        {"jsonrpc":"2.0","error":{"code":-32600,"message":"the message is not a request, notification or response"}}
        {"jsonrpc":"2.0","error":{"code":-32700,"message":"the message cannot be read: expected value at line 1 column 1"}}
        {"jsonrpc":"2.0","error":{"code":-32600,"message":"the message is not a request, notification or response"}}
        {"jsonrpc":"2.0","id":"\"}","error":{"code":-32700,"message":"the message cannot be read: expected ident at line 1 column 54"}}
        "#);
    }
}
