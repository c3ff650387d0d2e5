//! Incoming messages of all transports, most of which bypass `rmcp`.

use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, CustomNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    ServerNotification, ServerResult,
};
use rmcp::service::TxJsonRpcMessage;

use super::stdio::line::mend;
use crate::session::envelope;
use crate::session::router::{Delivery, Mailbox};

/// Records an outgoing handshake request at the router. Must be called in the order of the messages.
pub(crate) fn note(mailbox: &Mailbox, message: &TxJsonRpcMessage<RoleClient>) {
    if let JsonRpcMessage::Request(request) = message
        && let ClientRequest::DiscoverRequest(_) | ClientRequest::InitializeRequest(_) =
            request.request
    {
        mailbox.copy_greeting(request.id.clone());
    }
}

/// Routes an incoming message and returns the message for `rmcp`, or `None` if it is not a message. A transport on
/// which each request has its own response channel names the request that the message is `about`.
pub(crate) fn read(
    mailbox: &Mailbox,
    bytes: &[u8],
    about: Option<&RequestId>,
) -> Option<ServerJsonRpcMessage> {
    read_sound(mailbox, bytes, about)
        .or_else(|| read_sound(mailbox, mend(bytes)?.as_bytes(), about))
        .or_else(|| Some(empty_response(mailbox.deliver_fault(bytes, about)?)))
}

fn read_sound(
    mailbox: &Mailbox,
    bytes: &[u8],
    about: Option<&RequestId>,
) -> Option<ServerJsonRpcMessage> {
    match mailbox.deliver(envelope::read(bytes)?, about) {
        Delivery::Taken(Some(id)) => Some(empty_response(id)),
        Delivery::Taken(None) => Some(empty_notification()),
        Delivery::NotTaken => serde_json::from_slice(bytes).ok(),
        Delivery::NoMessage => None,
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
