//! Finds out which revision of MCP a server speaks.
//!
//! Revision 2026-07-28 begins with `server/discover` and has no `initialize`; earlier ones refuse `server/discover`
//! with an error, upon which `initialize` follows on the same connection. A server started for a client of an earlier revision
//! gets `initialize` first, since it may ask its client by requests, which 2026-07-28 does not have. A server that answers
//! neither way within a short time gets both, and the first good answer counts: so a server that needs long to get up, as
//! `npx` does where it downloads first, is waited for whatever it speaks. (`rmcp` has this handshake too, but there the late refusal of
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

/// Which greetings a server gets, in this order, until it answers one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Greetings {
    first: Greeting,
    then: Option<Greeting>,
}

/// One way to greet a server.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Greeting {
    /// `server/discover`, at the newest revision.
    Discover,
    /// `initialize`, which proposes this revision.
    Initialize(ProtocolVersion),
}

impl Greetings {
    /// Prefers the newest revision, or one with `initialize` if `is_earlier`.
    pub(super) fn preferring(is_earlier: bool) -> Self {
        let initialize = Greeting::Initialize(ProtocolVersion::LATEST_WITH_INITIALIZE);
        let (first, then) = if is_earlier {
            (initialize, Greeting::Discover)
        } else {
            (Greeting::Discover, initialize)
        };
        Self {
            first,
            then: Some(then),
        }
    }

    /// Proposes `revision` and nothing else.
    pub(super) fn only(revision: &ProtocolVersion) -> Self {
        let first = if revision.has_initialize() {
            Greeting::Initialize(revision.clone())
        } else {
            Greeting::Discover
        };
        Self { first, then: None }
    }
}

impl Greeting {
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

/// Connects as `client` and says what the other side is. A server that is silent on the first of `greetings` for as long as
/// `patience` gets the other one as well.
pub(super) async fn shake_hands<T>(
    transport: &mut T,
    client: &ClientConfig,
    greetings: Greetings,
    patience: Duration,
) -> Result<ServerPeerInfo, HandshakeError>
where
    T: Transport<RoleClient>,
{
    let Greetings { first, mut then } = greetings;
    send(transport, first.message(client)).await?;
    // The greetings that may still be answered, the latest at the end.
    let mut open = vec![first];
    let mut has_asked_again = false;
    let patience = tokio::time::sleep(patience);
    tokio::pin!(patience);
    loop {
        let message = tokio::select! {
            message = transport.receive() => message.ok_or(HandshakeError::Closed)?,
            () = &mut patience, if then.is_some() => {
                greet_next(transport, client, &mut then, &mut open).await?;
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
                    open.retain(|greeting| *greeting != Greeting::Discover);
                    HandshakeError::Unexpected
                }
                ServerResult::InitializeResult(result) => {
                    if result.protocol_version.has_initialize() {
                        send(transport, initialized()).await?;
                    }
                    return Ok(result.into());
                }
                _ if matches(&response.id, &DISCOVER) => {
                    open.retain(|greeting| *greeting != Greeting::Discover);
                    HandshakeError::Unexpected
                }
                _ => return Err(HandshakeError::Unexpected),
            },
            ServerJsonRpcMessage::Error(error) => {
                // An error without an id answers the latest greeting.
                let answered = match &error.id {
                    Some(id) => open.iter().position(|one| matches(id, &one.id())),
                    None => open.len().checked_sub(1),
                };
                let Some(answered) = answered else {
                    continue;
                };
                let greeting = open.remove(answered);
                let is_discover = greeting == Greeting::Discover;
                if is_discover && is_final(error.error.code) {
                    return Err(HandshakeError::Refused(Box::new(error.error)));
                }
                if is_discover && !has_asked_again && speaks_the_newest(&error.error) {
                    has_asked_again = true;
                    send(transport, greeting.message(client)).await?;
                    open.push(greeting);
                    continue;
                }
                HandshakeError::Refused(Box::new(error.error))
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
        };
        // Whatever it was, the server is awake and does not want that greeting.
        greet_next(transport, client, &mut then, &mut open).await?;
        if open.is_empty() {
            return Err(refusal);
        }
    }
}

/// Sends the greeting that was not sent yet, if there is one.
async fn greet_next<T: Transport<RoleClient>>(
    transport: &mut T,
    client: &ClientConfig,
    then: &mut Option<Greeting>,
    open: &mut Vec<Greeting>,
) -> Result<(), HandshakeError> {
    if let Some(greeting) = then.take() {
        send(transport, greeting.message(client)).await?;
        open.push(greeting);
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

fn initialize(client: &ClientConfig, revision: &ProtocolVersion) -> ClientJsonRpcMessage {
    let params = client.clone().with_protocol_version(revision.clone());
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
