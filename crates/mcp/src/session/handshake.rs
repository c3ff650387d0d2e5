//! The handshake, which negotiates the revision of MCP.
//!
//! Revision 2026-07-28 begins with `server/discover` and has no `initialize`; earlier ones refuse `server/discover`
//! with an error, and then get `initialize` on the same connection. A server that is started for a client of an earlier
//! revision gets `initialize` first, because it may send requests to its client, which 2026-07-28 does not have. A
//! server that responds to neither within a short time gets both, and the first successful response counts; so a server
//! that starts slowly, such as an `npx` download, works with either revision. (`rmcp` has this handshake, too, but it
//! takes the late refusal of `server/discover` for the response to `initialize`, and fails.)
//!
//! Design: [Our own handshake](https://github.com/planwright/planwright/blob/main/docs/design/transports.md#our-own-handshake).

use std::sync::Arc;
use std::time::Duration;

use planwright_core::Value;
use rmcp::RoleClient;
use rmcp::model::{
    ClientConfig, ClientJsonRpcMessage, ClientNotification, ClientRequest, ClientResult,
    DiscoverRequest, DiscoverRequestParams, ErrorCode, ErrorData, Extensions, InitializeRequest,
    InitializedNotification, InitializedNotificationMethod, ProtocolVersion, RequestId,
    RequestMetaObject, ServerJsonRpcMessage, ServerPeerInfo, ServerRequest, ServerResult,
};
use rmcp::transport::Transport;

use super::message_text::truncate_message;
use super::router::{DISCOVER, INITIALIZE, ResponseRouter};

#[derive(Debug, thiserror::Error)]
pub(crate) enum HandshakeError {
    #[error("it closed the connection during the handshake")]
    Closed,
    #[error("the transport failed: {0}")]
    Send(String),
    #[error("it rejected the handshake: {}", truncate_message(&.0.message))]
    Refused(Box<ErrorData>),
    #[error("its handshake response is invalid")]
    Unexpected,
}

/// The handshake requests to send, in this order, until the server accepts one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HandshakePlan {
    first: HandshakeRequest,
    fallback: Option<HandshakeRequest>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HandshakeRequest {
    /// `server/discover` with the latest revision.
    Discover,
    /// `initialize` with this revision.
    Initialize(ProtocolVersion),
}

impl HandshakePlan {
    /// Prefers the latest revision, or the latest with `initialize` if `is_earlier`.
    pub(crate) fn preferring(is_earlier: bool) -> Self {
        let initialize = HandshakeRequest::Initialize(ProtocolVersion::LATEST_WITH_INITIALIZE);
        let (first, fallback) = if is_earlier {
            (initialize, HandshakeRequest::Discover)
        } else {
            (HandshakeRequest::Discover, initialize)
        };
        Self {
            first,
            fallback: Some(fallback),
        }
    }

    pub(crate) fn only(revision: &ProtocolVersion) -> Self {
        let first = if revision.has_initialize() {
            HandshakeRequest::Initialize(revision.clone())
        } else {
            HandshakeRequest::Discover
        };
        Self {
            first,
            fallback: None,
        }
    }
}

impl HandshakeRequest {
    fn id(&self) -> RequestId {
        match self {
            Self::Discover => DISCOVER,
            Self::Initialize(_) => INITIALIZE,
        }
    }

    fn message(&self, client: &ClientConfig) -> ClientJsonRpcMessage {
        match self {
            Self::Discover => discover(client),
            Self::Initialize(revision) => initialize(client, revision),
        }
    }
}

/// Negotiates a revision as `client` and returns the server's description. A server that is silent for `fallback_delay`
/// after the first request gets the second one as well.
pub(crate) async fn negotiate<T>(
    transport: &mut T,
    client: &ClientConfig,
    plan: HandshakePlan,
    fallback_delay: Duration,
) -> Result<ServerPeerInfo, HandshakeError>
where
    T: Transport<RoleClient>,
{
    let HandshakePlan {
        first,
        mut fallback,
    } = plan;
    send(transport, first.message(client)).await?;
    // The requests that are still pending, the latest last.
    let mut pending = vec![first];
    let mut was_repeated = false;
    let fallback_delay = tokio::time::sleep(fallback_delay);
    tokio::pin!(fallback_delay);
    loop {
        let message = tokio::select! {
            message = transport.receive() => message.ok_or(HandshakeError::Closed)?,
            () = &mut fallback_delay, if fallback.is_some() => {
                send_fallback(transport, client, &mut fallback, &mut pending).await?;
                continue;
            }
        };
        let refusal = match message {
            ServerJsonRpcMessage::Response(response) => match response.result {
                ServerResult::DiscoverResult(result) => {
                    let newest = ProtocolVersion::LATEST;
                    if result.supported_versions.contains(&newest) {
                        return Ok(ServerPeerInfo::from_discover_result(newest, result));
                    }
                    pending.retain(|request| *request != HandshakeRequest::Discover);
                    HandshakeError::Unexpected
                }
                ServerResult::InitializeResult(result) => {
                    if result.protocol_version.has_initialize() {
                        // Up to revision 2025-11-25, a server serves requests only after this notification.
                        send(transport, initialized_notification()).await?;
                    }
                    return Ok(result.into());
                }
                // A server may answer a method that it does not know with a result instead of an error.
                _ if is_same_id(&response.id, &DISCOVER) => {
                    pending.retain(|request| *request != HandshakeRequest::Discover);
                    HandshakeError::Unexpected
                }
                _ => return Err(HandshakeError::Unexpected),
            },
            ServerJsonRpcMessage::Error(error) => {
                // An error without an id answers the latest request.
                let answered = match &error.id {
                    Some(id) => pending
                        .iter()
                        .position(|request| is_same_id(id, &request.id())),
                    None => pending.len().checked_sub(1),
                };
                let Some(answered) = answered else {
                    continue;
                };
                let request = pending.remove(answered);
                let is_discover = request == HandshakeRequest::Discover;
                if is_discover && is_client_rejected(error.error.code) {
                    return Err(HandshakeError::Refused(Box::new(error.error)));
                }
                if is_discover && !was_repeated && lists_latest_revision(&error.error) {
                    was_repeated = true;
                    send(transport, request.message(client)).await?;
                    pending.push(request);
                    continue;
                }
                HandshakeError::Refused(Box::new(error.error))
            }
            ServerJsonRpcMessage::Request(request) => {
                let answer = match request.request {
                    // The specification allows a ping during the handshake.
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
        };
        // Any such response means that the server is running and does not accept that request.
        send_fallback(transport, client, &mut fallback, &mut pending).await?;
        if pending.is_empty() {
            return Err(refusal);
        }
    }
}

/// Sends the second request, unless it was sent.
async fn send_fallback<T: Transport<RoleClient>>(
    transport: &mut T,
    client: &ClientConfig,
    fallback: &mut Option<HandshakeRequest>,
    pending: &mut Vec<HandshakeRequest>,
) -> Result<(), HandshakeError> {
    if let Some(request) = fallback.take() {
        send(transport, request.message(client)).await?;
        pending.push(request);
    }
    Ok(())
}

async fn send<T: Transport<RoleClient>>(
    transport: &mut T,
    message: ClientJsonRpcMessage,
) -> Result<(), HandshakeError> {
    let sent = transport.send(message).await;
    sent.map_err(|error| HandshakeError::Send(error.to_string()))
}

/// Returns true if an error means that the server supports the latest revision but rejects this client.
fn is_client_rejected(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY | ErrorCode::HEADER_MISMATCH
    )
}

/// Returns true if a server rejects the latest revision and yet lists it as supported. The rejection is then an error
/// of the server, and the request is repeated once.
fn lists_latest_revision(error: &ErrorData) -> bool {
    let supported = error.data.as_ref().and_then(|data| data.get("supported"));
    let mut supported = supported
        .and_then(|supported| supported.as_array())
        .into_iter()
        .flatten();
    error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        && supported.any(|version| version == ProtocolVersion::LATEST.as_str())
}

/// Compares ids as text, because some servers return a number as a string.
fn is_same_id(id: &RequestId, expected: &RequestId) -> bool {
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

fn initialize(client: &ClientConfig, revision: &ProtocolVersion) -> ClientJsonRpcMessage {
    let params = client.clone().with_protocol_version(revision.clone());
    let request = InitializeRequest::new(params);
    ClientJsonRpcMessage::request(ClientRequest::InitializeRequest(request), INITIALIZE)
}

fn initialized_notification() -> ClientJsonRpcMessage {
    let notification = InitializedNotification {
        method: InitializedNotificationMethod,
        extensions: Extensions::default(),
    };
    ClientJsonRpcMessage::notification(ClientNotification::InitializedNotification(notification))
}

/// The description of a server in its handshake response, unchanged; `null` for missing fields.
#[derive(Clone, Debug)]
pub(crate) struct ServerInfo {
    /// The negotiated revision.
    pub(crate) revision: Arc<str>,
    /// True if each request carries the client's identity and capabilities, as the revision requires.
    pub(crate) is_stateless: bool,
    pub(crate) info: Value,
    pub(crate) capabilities: Value,
    pub(crate) instructions: Value,
}

impl ServerInfo {
    /// Takes the handshake response from `router`.
    pub(crate) fn take(router: &ResponseRouter, revision: &ProtocolVersion) -> Self {
        let is_stateless = !revision.has_initialize();
        let discovered = router.take_handshake(&DISCOVER);
        let initialized = router.take_handshake(&INITIALIZE);
        let result = if is_stateless {
            discovered
        } else {
            initialized
        };
        let result = result.unwrap_or_default();
        let field = |name: &str| result.get(name).cloned().unwrap_or_default();
        // Revision 2026-07-28 has moved `serverInfo` to `_meta`.
        let info = match result.get("_meta") {
            Some(meta) if is_stateless => meta.get("io.modelcontextprotocol/serverInfo").cloned(),
            _ => result.get("serverInfo").cloned(),
        };
        Self {
            revision: Arc::from(revision.as_str()),
            is_stateless,
            info: info.unwrap_or_default(),
            capabilities: field("capabilities"),
            instructions: field("instructions"),
        }
    }

    /// Returns true if the server declares `capability`.
    pub(crate) fn has_capability(&self, capability: &str) -> bool {
        let declared = self.capabilities.get(capability);
        declared.is_some_and(|declared| !declared.is_null())
    }

    /// Returns true if the server declares `feature` of `capability`.
    pub(crate) fn has_feature(&self, capability: &str, feature: &str) -> bool {
        let declared = self.capabilities.get(capability);
        declared.and_then(|declared| declared.get(feature)?.as_bool()) == Some(true)
    }
}

/// The supported revisions, oldest first.
pub(crate) const REVISIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// Returns the supported revision `name`.
pub(crate) fn supported_revision(name: &str) -> Option<&'static ProtocolVersion> {
    REVISIONS.iter().find(|revision| revision.as_str() == name)
}
