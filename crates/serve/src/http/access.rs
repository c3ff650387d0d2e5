//! Identification of clients.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, header};
use planwright_mcp::gateway::ClientId;

use super::limits::WrongTokens;
use super::refusal::Refusal;
use crate::error::ServeError;
use crate::tokens::{TokenCache, TokenOwner};

/// The interval at which revoked tokens are looked for.
const REVOCATION_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The access rules of the server.
#[derive(Debug)]
pub(super) struct ClientAccess {
    /// The valid tokens; `None` if every process of this machine has access.
    tokens: Option<TokenCache>,
    wrong: WrongTokens,
    challenge: Arc<str>,
}

impl ClientAccess {
    /// Creates the rules. Without tokens every local process has access, so the server must not listen for other machines.
    pub(super) fn new(listen: SocketAddr, tokens: TokenCache) -> Result<Self, ServeError> {
        let is_open = tokens.is_empty();
        if is_open && !listen.ip().is_loopback() {
            return Err(ServeError::new(format!(
                "other machines reach `{listen}`, and nothing says which of them may"
            ))
            .hint("make a token for each client: `planwright token create NAME`")
            .hint("or listen on `127.0.0.1`, which only this machine reaches"));
        }
        Ok(Self {
            tokens: (!is_open).then_some(tokens),
            wrong: WrongTokens::new(),
            challenge: Arc::from("Bearer"),
        })
    }

    /// Returns true if every process of this machine has access.
    pub(super) fn is_open(&self) -> bool {
        self.tokens.is_none()
    }

    /// The clients whose tokens are taken back from now on, as that happens.
    pub(super) async fn revoked(&self, known: &mut Option<HashSet<TokenOwner>>) -> Vec<ClientId> {
        let Some(tokens) = &self.tokens else {
            return std::future::pending().await;
        };
        loop {
            let now = tokens.all();
            let before = known.replace(now.clone()).unwrap_or_default();
            let gone: Vec<ClientId> = before
                .difference(&now)
                .map(|(_, name)| of_token(name))
                .collect();
            if !gone.is_empty() {
                return gone;
            }
            tokio::time::sleep(REVOCATION_CHECK_INTERVAL).await;
        }
    }

    /// Returns the client of a request.
    pub(super) fn identify(&self, headers: &HeaderMap, from: IpAddr) -> Result<ClientId, Refusal> {
        let Some(tokens) = &self.tokens else {
            return Ok(ClientId::local());
        };
        let Some(token) = bearer(headers) else {
            return Err(Refusal::NoToken {
                challenge: Arc::clone(&self.challenge),
            });
        };
        if let Some(name) = tokens.owner(token) {
            return Ok(of_token(&name));
        }
        // A valid token is accepted after any number of wrong ones from its address, or a stranger beside a client could lock it out.
        self.wrong
            .take(from)
            .map_err(|wait| Refusal::TooManyWrong { wait })?;
        Err(Refusal::WrongToken {
            challenge: format!("{}, error=\"invalid_token\"", self.challenge).into(),
        })
    }
}

/// The client with a token of that name.
fn of_token(name: &str) -> ClientId {
    ClientId::new(format!("token:{name}"))
}

/// The token of the one `Authorization` header that there is.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (all.next(), all.next()) else {
        return None;
    };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
