//! Which messages bypass `rmcp`, however they travel.

use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, CustomNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    ServerNotification, ServerResult,
};
use rmcp::service::TxJsonRpcMessage;

use super::envelope;
use super::line::mend;
use super::mailbox::{Delivery, Mailbox};

/// Takes down what a message on its way out means to the mailbox. To be called in the order of the messages.
pub(super) fn note(mailbox: &Mailbox, message: &TxJsonRpcMessage<RoleClient>) {
    if let JsonRpcMessage::Request(request) = message
        && let ClientRequest::DiscoverRequest(_) | ClientRequest::InitializeRequest(_) =
            request.request
    {
        mailbox.copy_greeting(request.id.clone());
    }
}

/// What `rmcp` gets of a message that came in. Nothing where it is none. A way to the server on which the answer to each
/// request travels apart says which request a message is `about`.
pub(super) fn read(
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

/// What `rmcp` gets in place of an answer that went to the mailbox.
fn empty_response(id: RequestId) -> ServerJsonRpcMessage {
    JsonRpcMessage::response(ServerResult::empty(()), id)
}

/// What it gets in place of anything else that went there.
fn empty_notification() -> ServerJsonRpcMessage {
    let nothing = CustomNotification::new("", None);
    JsonRpcMessage::notification(ServerNotification::CustomNotification(nothing))
}
