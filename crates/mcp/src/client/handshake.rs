//! Finds out which revision of MCP a server speaks.
//!
//! Revision 2026-07-28 begins with `server/discover` and has no `initialize`; earlier ones refuse `server/discover`
//! with an error, upon which `initialize` follows on the same connection. A server that answers neither way within a
//! short time gets both, and the first good answer counts: so a server that needs long to get up, as `npx` does where
//! it downloads first, is waited for whatever it speaks. (`rmcp` has this handshake too, but there the late refusal of
//! `server/discover` is taken for the answer to `initialize`, and the connection fails.)

use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientConfig, ClientJsonRpcMessage, ClientNotification, ClientRequest, ClientResult,
    DiscoverRequest, DiscoverRequestParams, ErrorCode, ErrorData, Extensions, InitializeRequest,
    InitializedNotification, InitializedNotificationMethod, ProtocolVersion, RequestId,
    RequestMetaObject, ServerJsonRpcMessage, ServerPeerInfo, ServerRequest, ServerResult,
};
use rmcp::transport::Transport;

use super::log::brief;

// Ids that no other request will ever have: they count up from 0.
pub(super) const DISCOVER: RequestId = RequestId::Number(4_000_000_001);
pub(super) const INITIALIZE: RequestId = RequestId::Number(4_000_000_002);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum HandshakeError {
    #[error("it closed the connection before it said what it speaks")]
    Closed,
    #[error("it takes no messages: {0}")]
    Send(String),
    #[error("it refused to connect: {}", brief(&.0.message))]
    Refused(Box<ErrorData>),
    #[error("it answered with something that is no answer")]
    Unexpected,
}

/// Connects as `client` and says what the other side is. One that is silent on `server/discover` for as long as
/// `patience` gets `initialize` as well.
pub(super) async fn shake_hands<T>(
    transport: &mut T,
    client: &ClientConfig,
    patience: Duration,
) -> Result<ServerPeerInfo, HandshakeError>
where
    T: Transport<RoleClient>,
{
    send(transport, discover(client)).await?;
    let mut is_initializing = false;
    let mut has_asked_again = false;
    let patience = tokio::time::sleep(patience);
    tokio::pin!(patience);
    loop {
        let message = tokio::select! {
            message = transport.receive() => message.ok_or(HandshakeError::Closed)?,
            () = &mut patience, if !is_initializing => {
                is_initializing = true;
                send(transport, initialize(client)).await?;
                continue;
            }
        };
        match message {
            ServerJsonRpcMessage::Response(response) => match response.result {
                ServerResult::DiscoverResult(result) => {
                    let newest = ProtocolVersion::LATEST;
                    if result.supported_versions.contains(&newest) {
                        return Ok(ServerPeerInfo::from_discover_result(newest, result));
                    }
                }
                ServerResult::InitializeResult(result) => {
                    if result.protocol_version.has_initialize() {
                        send(transport, initialized()).await?;
                    }
                    return Ok(result.into());
                }
                _ if matches(&response.id, &DISCOVER) => {}
                _ => return Err(HandshakeError::Unexpected),
            },
            ServerJsonRpcMessage::Error(error) => {
                // An error without an id answers the latest request.
                let answers_initialize = match &error.id {
                    Some(id) => matches(id, &INITIALIZE),
                    None => is_initializing,
                };
                if answers_initialize {
                    return Err(HandshakeError::Refused(Box::new(error.error)));
                }
                if is_final(error.error.code) {
                    return Err(HandshakeError::Refused(Box::new(error.error)));
                }
                if !is_initializing && !has_asked_again && speaks_the_newest(&error.error) {
                    has_asked_again = true;
                    send(transport, discover(client)).await?;
                    continue;
                }
            }
            ServerJsonRpcMessage::Request(request) => {
                let answer = match request.request {
                    ServerRequest::PingRequest(_) => {
                        ClientJsonRpcMessage::response(ClientResult::empty(()), request.id)
                    }
                    _ => ClientJsonRpcMessage::error(
                        ErrorData::invalid_request("not connected yet", None),
                        Some(request.id),
                    ),
                };
                send(transport, answer).await?;
                continue;
            }
            ServerJsonRpcMessage::Notification(_) => continue,
        }
        // Whatever it was, the server is awake and does not speak the newest revision.
        if !is_initializing {
            is_initializing = true;
            send(transport, initialize(client)).await?;
        }
    }
}

async fn send<T: Transport<RoleClient>>(
    transport: &mut T,
    message: ClientJsonRpcMessage,
) -> Result<(), HandshakeError> {
    let sent = transport.send(message).await;
    sent.map_err(|error| HandshakeError::Send(error.to_string()))
}

/// Whether an error means that the newest revision is spoken and this client not wanted.
fn is_final(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY | ErrorCode::HEADER_MISMATCH
    )
}

/// Whether a server that refuses the revision says that it speaks that very revision: then it was not meant.
fn speaks_the_newest(error: &ErrorData) -> bool {
    let supported = error.data.as_ref().and_then(|data| data.get("supported"));
    let mut supported = supported
        .and_then(|supported| supported.as_array())
        .into_iter()
        .flatten();
    error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        && supported.any(|version| version == ProtocolVersion::LATEST.as_str())
}

/// Some servers give a number back as a text.
fn matches(id: &RequestId, expected: &RequestId) -> bool {
    id == expected || id.to_string() == expected.to_string()
}

fn discover(client: &ClientConfig) -> ClientJsonRpcMessage {
    let mut request = DiscoverRequest::new(DiscoverRequestParams {});
    request
        .extensions
        .insert(RequestMetaObject::with_client_context(
            ProtocolVersion::LATEST,
            client.client_info.clone(),
            client.capabilities.clone(),
        ));
    ClientJsonRpcMessage::request(ClientRequest::DiscoverRequest(request), DISCOVER)
}

fn initialize(client: &ClientConfig) -> ClientJsonRpcMessage {
    let params = client
        .clone()
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
    let request = InitializeRequest::new(params);
    ClientJsonRpcMessage::request(ClientRequest::InitializeRequest(request), INITIALIZE)
}

fn initialized() -> ClientJsonRpcMessage {
    let notification = InitializedNotification {
        method: InitializedNotificationMethod,
        extensions: Extensions::default(),
    };
    ClientJsonRpcMessage::notification(ClientNotification::InitializedNotification(notification))
}
