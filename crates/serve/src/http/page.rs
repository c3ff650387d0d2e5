//! The page of runs on the server's own port: its requests pass the limits of their clients.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use planwright_mcp::gateway::{ClientGroups, ClientId};

use super::gate::RequestGate;
use super::unadmitted::Peer;

/// Returns the client with the session of a request.
pub type SessionClient = dyn Fn(&HeaderMap) -> Option<ClientId> + Send + Sync;

/// The page of runs. It checks the host, the origin and the session of each request itself.
#[derive(Clone)]
pub struct PageRoutes {
    /// The document at `/`, and its interface below `/api`.
    pub router: Router,
    /// The function that returns the client of a request. The request counts towards the limits of this client.
    pub client: Arc<SessionClient>,
}

impl PageRoutes {
    /// Returns the routes within the limits of the server.
    pub(super) fn limited_by(self, gate: Arc<RequestGate>) -> Router {
        let state = (gate, self.client);
        self.router.layer(from_fn_with_state(state, admit))
    }
}

impl fmt::Debug for PageRoutes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageRoutes").finish_non_exhaustive()
    }
}

/// The path of the document.
const DOCUMENT_PATH: &str = "/";

/// The path to which a token is sent.
const LOGIN_PATH: &str = "/api/session";

async fn admit(
    State((gate, client)): State<(Arc<RequestGate>, Arc<SessionClient>)>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let peer: Option<&Peer> = request.extensions().get();
    let from = peer.map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.0);
    let is_login = request.uri().path() == LOGIN_PATH;
    // A stranger who exhausts the limit of an address must not lock out clients of the same address. So the document is free for
    // all, and a login counts only if its token is wrong.
    let is_free = is_login || request.uri().path() == DOCUMENT_PATH;
    let admitted = match client(request.headers()) {
        Some(client) => gate.limit(request, &client).await,
        None if is_free => gate.read(request, None).await,
        None => gate.limit_stranger(request, from).await,
    };
    let response = match admitted {
        Ok((request, lease)) => {
            let response = next.run(request).await;
            if is_login
                && response.status() == StatusCode::UNAUTHORIZED
                && let Err(refusal) = gate.access.count_wrong(from)
            {
                refusal.into_response()
            } else {
                lease.until_answered(response)
            }
        }
        Err(refusal) => refusal.into_response(),
    };
    gate.count(&response);
    response
}

/// The clients of the server, by their tokens.
#[derive(Clone, Debug)]
pub struct TokenClients(pub(super) Arc<RequestGate>);

impl TokenClients {
    /// Returns the groups of a client that has a valid token; `None` if it has none.
    pub fn groups(&self, client: &ClientId) -> Option<ClientGroups> {
        self.0.access.groups(client)
    }

    /// Returns the client whose token has this SHA-256, as long as the token is valid.
    pub fn client(&self, token: &[u8; 32]) -> Option<ClientId> {
        self.0.access.client_of_hash(token)
    }
}
