//! The identification of clients: by the tokens of a file, and by the access tokens of an issuer.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, header};
use planwright::engine::Rate;
use planwright_mcp::gateway::{ClientGroups, ClientId};

use super::limits::{KeyedRateLimiter, Refusal, WrongTokens};
use crate::access::access_token::{AccessTokens, TokenFault};
use crate::access::identity::client_of_token;
use crate::tokens::{ServeError, TokenCache, TokenOwner};

/// The interval of checks for revoked tokens.
const REVOCATION_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The rate of log entries with the same reason: tokens of strangers must not fill the log.
const LOG_RATE: Rate = Rate {
    calls: NonZeroU32::new(10).unwrap(),
    per: Duration::from_mins(1),
};

/// The access rules of the server.
#[derive(Debug)]
pub(super) struct ClientAccess {
    /// The valid tokens; `None` if no token and no issuer exists, so that every process of this machine has access.
    tokens: Option<TokenCache>,
    access_tokens: Option<AccessTokens>,
    wrong: WrongTokens,
    logged: KeyedRateLimiter<&'static str>,
}

impl ClientAccess {
    /// Creates the rules. Without tokens every local process has access, so the server must not listen for other machines.
    pub(super) fn new(
        listen: SocketAddr,
        tokens: TokenCache,
        access_tokens: Option<AccessTokens>,
    ) -> Result<Self, ServeError> {
        let is_open = tokens.is_empty() && access_tokens.is_none();
        if is_open && !listen.ip().is_loopback() {
            return Err(ServeError::new(format!(
                "other machines can reach `{listen}`, but no client has a token"
            ))
            .hint("create a token for each client: `planwright token create NAME`")
            .hint("or listen on `127.0.0.1`, which only this machine reaches"));
        }
        Ok(Self {
            tokens: (!is_open).then_some(tokens),
            access_tokens,
            wrong: WrongTokens::new(),
            logged: KeyedRateLimiter::new(LOG_RATE),
        })
    }

    /// Returns true if every process of this machine has access.
    pub(super) fn is_open(&self) -> bool {
        self.tokens.is_none()
    }

    /// Waits until tokens are revoked, and returns their clients. `known` has the tokens of the previous call.
    pub(super) async fn wait_for_revocations(
        &self,
        known: &mut Option<HashSet<TokenOwner>>,
    ) -> Vec<ClientId> {
        let Some(tokens) = &self.tokens else {
            return std::future::pending().await;
        };
        loop {
            let now = tokens.all();
            let before = known.replace(now.clone()).unwrap_or_default();
            let gone: Vec<ClientId> = before
                .difference(&now)
                .map(|(_, name)| client_of_token(name))
                .collect();
            if !gone.is_empty() {
                return gone;
            }
            tokio::time::sleep(REVOCATION_CHECK_INTERVAL).await;
        }
    }

    /// Returns the groups of a client that has a valid token.
    pub(super) fn groups(&self, client: &ClientId) -> Option<ClientGroups> {
        let tokens = self.tokens.as_ref().map(TokenCache::all);
        let mut owners = tokens.iter().flatten();
        if owners.any(|(_, name)| client_of_token(name) == *client) {
            return Some(ClientGroups::default());
        }
        self.access_tokens
            .as_ref()?
            .groups(client)
            .map(ClientGroups)
    }

    /// Returns the client whose token has this SHA-256.
    pub(super) fn client_of_hash(&self, token: &[u8; 32]) -> Option<ClientId> {
        let owner = self.tokens.as_ref()?.owner_of_hash(token)?;
        Some(client_of_token(&owner))
    }

    /// Counts a wrong token.
    pub(super) fn count_wrong(&self, from: IpAddr) -> Result<(), Refusal> {
        self.wrong
            .take(from)
            .map_err(|wait| Refusal::TooManyWrong { wait })
    }

    /// Returns the paths and the content of the metadata of this server as a protected resource.
    pub(super) fn metadata(&self) -> Option<(Vec<String>, serde_json::Value)> {
        let access_tokens = self.access_tokens.as_ref()?;
        Some((access_tokens.metadata_paths(), access_tokens.metadata()))
    }

    /// Returns the client of a request, with its groups.
    pub(super) async fn identify(
        &self,
        headers: &HeaderMap,
        from: IpAddr,
    ) -> Result<(ClientId, ClientGroups), Refusal> {
        let Some(tokens) = &self.tokens else {
            return Ok((ClientId::local(), ClientGroups::default()));
        };
        let Some(token) = bearer(headers) else {
            return Err(Refusal::NoToken {
                challenge: self.challenge(None),
            });
        };
        if let Some(name) = tokens.owner(token) {
            return Ok((client_of_token(&name), ClientGroups::default()));
        }
        let invalid = Refusal::WrongToken {
            challenge: self.challenge(Some("invalid_token")),
        };
        // A JSON Web Token cannot be guessed, and the tokens of many clients behind one address expire, who must learn that to get new ones.
        if let Some(access_tokens) = &self.access_tokens
            && token.split('.').count() == 3
        {
            return match access_tokens.client(token).await {
                Ok((client, groups)) => Ok((client, ClientGroups(groups))),
                Err(TokenFault::Scope) => Err(Refusal::Scope {
                    challenge: self.challenge(Some("insufficient_scope")),
                }),
                Err(TokenFault::Invalid(reason)) => {
                    if self.logged.take(&reason).is_ok() {
                        tracing::warn!(%from, reason, "an access token was refused");
                    }
                    Err(invalid)
                }
            };
        }
        // A valid token is accepted after any number of wrong ones from its address, or a stranger beside a client could lock it out.
        self.count_wrong(from)?;
        Err(invalid)
    }

    /// Returns the content of `WWW-Authenticate`.
    fn challenge(&self, error: Option<&str>) -> Arc<str> {
        let error = error.map(|error| format!("error=\"{error}\""));
        let issuer = self.access_tokens.as_ref().map(AccessTokens::challenge);
        let parameters: Vec<String> = error.into_iter().chain(issuer).collect();
        format!("Bearer {}", parameters.join(", "))
            .trim_end()
            .into()
    }
}

/// Returns the token in the `Authorization` header; `None` unless there is exactly one.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (all.next(), all.next()) else {
        return None;
    };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
