//! Which messages bypass `rmcp`, however they travel.

use rmcp::RoleClient;
use rmcp::model::{
    ClientNotification, ClientRequest, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use rmcp::service::TxJsonRpcMessage;

use super::line::mend;
use super::mailbox::Mailbox;

/// Takes down what a message on its way out means to the mailbox. To be called in the order of the messages.
pub(super) fn note(mailbox: &Mailbox, message: &TxJsonRpcMessage<RoleClient>) {
    match message {
        JsonRpcMessage::Request(request) => {
            if let ClientRequest::CallToolRequest(_)
            | ClientRequest::ListToolsRequest(_)
            | ClientRequest::CustomRequest(_) = request.request
            {
                mailbox.expect(request.id.clone());
            }
        }
        JsonRpcMessage::Notification(notification) => {
            if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                && let Some(id) = &cancelled.params.request_id
            {
                mailbox.forget(id);
            }
        }
        _ => {}
    }
}

/// What `rmcp` gets of a message that came in. Nothing where it is none.
pub(super) fn read(mailbox: &Mailbox, bytes: &[u8]) -> Option<ServerJsonRpcMessage> {
    read_sound(mailbox, bytes)
        .or_else(|| read_sound(mailbox, mend(bytes)?.as_bytes()))
        .or_else(|| Some(empty_response(mailbox.deliver_fault(bytes)?)))
}

fn read_sound(mailbox: &Mailbox, bytes: &[u8]) -> Option<ServerJsonRpcMessage> {
    if let Some(id) = mailbox.deliver(bytes) {
        return Some(empty_response(id));
    }
    serde_json::from_slice(bytes).ok()
}

/// What `rmcp` gets in place of a result that went to the mailbox.
fn empty_response(id: RequestId) -> ServerJsonRpcMessage {
    JsonRpcMessage::response(ServerResult::empty(()), id)
}
