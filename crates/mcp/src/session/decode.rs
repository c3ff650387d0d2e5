//! Decoding of incoming messages. Most of them bypass `rmcp` and go to the router.

use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, CustomNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    ServerNotification, ServerResult,
};
use rmcp::service::TxJsonRpcMessage;

use super::envelope;
use super::router::{ResponseRouter, RouteResult};
use crate::transport::stdio::pipe::repair_text;
use crate::transport::stdio::stderr_log::truncate_message;

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
        .or_else(|| {
            let failed = router.fail_unreadable(bytes, related);
            if failed.is_none() && !bytes.trim_ascii().is_empty() {
                let stray = envelope::describe_stray(bytes, truncate_message);
                tracing::warn!("a server {stray}");
            }
            failed.map(empty_response)
        })
}

fn decode_valid(
    router: &ResponseRouter,
    bytes: &[u8],
    related: Option<&RequestId>,
) -> Option<ServerJsonRpcMessage> {
    match router.route(envelope::read(bytes)?, related) {
        RouteResult::Routed(Some(id)) => Some(empty_response(id)),
        RouteResult::Routed(None) => Some(empty_notification()),
        // Its own response channel fails the related request, which got this response in place of its own.
        RouteResult::Unexpected(id) => related.map(|_| empty_response(id)),
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
