//! Decoding of incoming messages. Most of them bypass `rmcp` and go to the router.

use planwright_core::text::visible;
use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, CustomNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    ServerNotification, ServerResult,
};
use rmcp::service::TxJsonRpcMessage;

use super::envelope;
use super::router::{ResponseRouter, RouteResult};
use crate::transport::stdio::pipe::repair_text;
use crate::transport::stdio::process::truncate_message;

/// Records an outgoing handshake request at the router. Must be called in the order of the messages.
pub(crate) fn record_outgoing(router: &ResponseRouter, message: &TxJsonRpcMessage<RoleClient>) {
    if let JsonRpcMessage::Request(request) = message
        && let ClientRequest::DiscoverRequest(_) | ClientRequest::InitializeRequest(_) =
            request.request
    {
        router.capture_handshake(request.id.clone());
    }
}

/// Routes an incoming message and returns the message for `rmcp`, or `None` if it is not a message. A transport on
/// which each request has its own response channel passes the `related` request.
pub(crate) fn decode(
    router: &ResponseRouter,
    bytes: &[u8],
    related: Option<&RequestId>,
) -> Option<ServerJsonRpcMessage> {
    // Most messages are valid, so the repair runs only after a failure.
    decode_valid(router, bytes, related)
        .or_else(|| decode_valid(router, repair_text(bytes)?.as_bytes(), related))
        .or_else(|| match router.fail_unreadable(bytes, related) {
            Some(id) => Some(empty_response(id)),
            None => {
                warn_about_unknown_line(bytes);
                None
            }
        })
}

/// Logs a line that is no message, such as what a program prints on its standard output.
fn warn_about_unknown_line(bytes: &[u8]) {
    let line = String::from_utf8_lossy(bytes);
    let line = line.trim();
    if !line.is_empty() {
        let line = visible(&truncate_message(line)).into_owned();
        tracing::warn!("a server sent a line that is no message of MCP: `{line}`");
    }
}

fn decode_valid(
    router: &ResponseRouter,
    bytes: &[u8],
    related: Option<&RequestId>,
) -> Option<ServerJsonRpcMessage> {
    match router.route(envelope::read(bytes)?, related) {
        RouteResult::Routed(Some(id)) => Some(empty_response(id)),
        RouteResult::Routed(None) => Some(empty_notification()),
        RouteResult::ForRmcp => serde_json::from_slice(bytes).ok(),
        RouteResult::Invalid => None,
    }
}

/// Returns the placeholder of a routed response.
fn empty_response(id: RequestId) -> ServerJsonRpcMessage {
    JsonRpcMessage::response(ServerResult::empty(()), id)
}

/// Returns the placeholder of any other routed message.
fn empty_notification() -> ServerJsonRpcMessage {
    let nothing = CustomNotification::new("", None);
    JsonRpcMessage::notification(ServerNotification::CustomNotification(nothing))
}
