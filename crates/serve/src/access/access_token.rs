//! Access tokens: the checks of a token, one answer for all that fail, and the metadata that clients find the issuer by.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, Validation};
use planwright::config::OAuth;
use planwright_mcp::gateway::ClientId;
use serde_json::{Value, json};

use super::claims::{Claims, claimed_identity, has_scopes};
use super::identity::client_of_subject;
use super::issuer::{IssuerKeys, NoKey, WallClock};
use super::signature;
use crate::tokens::ServeError;

/// The tolerance of clocks that differ.
const LEEWAY: Duration = Duration::from_secs(30);

/// The longest token, in bytes.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// The number of recent clients above which those with expired tokens are removed.
const MAX_RECENT_CLIENTS: usize = 10_000;

/// The path of the metadata of a protected resource (RFC 9728).
const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// The groups of a client.
pub(crate) type Groups = Arc<[Arc<str>]>;

/// The checks of the access tokens of an issuer.
pub(crate) struct AccessTokens {
    oauth: OAuth,
    algorithms: Vec<Algorithm>,
    keys: IssuerKeys,
    clock: WallClock,
    /// The clients that have shown a token, with their groups and the end of the token.
    recent: Mutex<HashMap<ClientId, (Groups, SystemTime)>>,
}

/// The reason why a token is refused. The client learns only whether the token is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenFault {
    /// The token is not valid. The reason is for the log alone.
    Invalid(&'static str),
    /// The token is valid, and lacks a scope.
    Scope,
}

impl fmt::Debug for AccessTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessTokens")
            .field("oauth", &self.oauth)
            .finish_non_exhaustive()
    }
}

impl AccessTokens {
    /// Creates the checks.
    pub(crate) fn new(oauth: &OAuth) -> Result<Self, ServeError> {
        Self::with_clock(oauth, Arc::new(crate::tokens::now))
    }

    /// Creates the checks with another clock.
    pub(crate) fn with_clock(oauth: &OAuth, clock: WallClock) -> Result<Self, ServeError> {
        signature::install();
        let keys = IssuerKeys::new(&oauth.issuer, oauth.keys_for, Arc::clone(&clock));
        let keys = keys.map_err(|error| {
            ServeError::new(format!("cannot ask the issuer `{}`: {error}", oauth.issuer))
        })?;
        let algorithms = oauth.algorithms.iter();
        Ok(Self {
            oauth: oauth.clone(),
            algorithms: algorithms.filter_map(|name| name.parse().ok()).collect(),
            keys,
            clock,
            recent: Mutex::default(),
        })
    }

    /// Returns the client of a token, with its groups.
    pub(crate) async fn client(&self, token: &str) -> Result<(ClientId, Groups), TokenFault> {
        let claims = self.verified(token).await.map_err(TokenFault::Invalid)?;
        let (identity, end) = self.check(&claims).map_err(TokenFault::Invalid)?;
        if !has_scopes(&claims, &self.oauth.scopes) {
            return Err(TokenFault::Scope);
        }
        let planwright::config::ClientName::Subject(subject) = identity.name else {
            return Err(TokenFault::Invalid("it names no client"));
        };
        let client = client_of_subject(&self.oauth.issuer, &subject);
        self.remember(&client, &identity.groups, end);
        Ok((client, identity.groups))
    }

    /// Returns the groups of a client whose latest token is still valid.
    pub(crate) fn groups(&self, client: &ClientId) -> Option<Groups> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let (groups, end) = recent.get(client)?;
        (*end > (self.clock)()).then(|| Arc::clone(groups))
    }

    fn remember(&self, client: &ClientId, groups: &Groups, end: SystemTime) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() >= MAX_RECENT_CLIENTS {
            let now = (self.clock)();
            recent.retain(|_, (_, end)| *end > now);
        }
        recent.insert(client.clone(), (Arc::clone(groups), end));
    }

    /// Returns the claims of a token that the issuer has signed.
    async fn verified(&self, token: &str) -> Result<Claims, &'static str> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err("it is too long");
        }
        let header = jsonwebtoken::decode_header(token)
            .map_err(|_| "it is no JSON Web Token, or its algorithm is unknown or `none`")?;
        if !self.algorithms.contains(&header.alg) {
            return Err("its algorithm is not accepted");
        }
        // A logout token or a proof of possession is no access token, even of the same issuer for the same audience.
        let kind = header.typ.as_deref().map(str::to_ascii_lowercase);
        if !matches!(
            kind.as_deref(),
            None | Some("jwt" | "at+jwt" | "application/at+jwt")
        ) {
            return Err("its type is not that of an access token");
        }
        if header.crit.is_some() {
            return Err("it has critical extensions");
        }
        let keys = self
            .keys
            .candidates(header.kid.as_deref(), header.alg)
            .await;
        let keys = keys.map_err(|error| match error {
            NoKey::Unknown => "the issuer has no such key",
            NoKey::Unavailable => "the keys of the issuer are not available",
        })?;
        // The claims are checked below, by the clock of this gateway.
        let mut validation = Validation::new(header.alg);
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        validation.validate_aud = false;
        let decoded = keys.iter().find_map(|candidate| {
            jsonwebtoken::decode::<Claims>(token, &candidate.key, &validation).ok()
        });
        let decoded = decoded.ok_or("its signature is not that of the issuer")?;
        Ok(decoded.claims)
    }

    /// Checks the claims, and returns the client with the end of the token.
    fn check(
        &self,
        claims: &Claims,
    ) -> Result<(planwright::config::AuthenticatedClient, SystemTime), &'static str> {
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        if text("iss") != Some(&*self.oauth.issuer) {
            return Err("it is of another issuer");
        }
        let is_ours = |audience: &str| self.oauth.audiences.iter().any(|ours| **ours == *audience);
        let is_for_us = match claims.get("aud") {
            Some(Value::String(audience)) => is_ours(audience),
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).any(is_ours),
            _ => false,
        };
        if !is_for_us {
            return Err("it is for another audience");
        }
        let end = time(claims, "exp")?.ok_or("it never expires")?;
        let now = (self.clock)();
        let end = end
            .checked_add(LEEWAY)
            .ok_or("its times are out of range")?;
        if end <= now {
            return Err("it has expired");
        }
        let begin = time(claims, "nbf")?;
        if begin.is_some_and(|begin| begin > now + LEEWAY) {
            return Err("it is not valid yet");
        }
        // The sender of such a token must prove that it has a key, which is not checked here.
        if claims.contains_key("cnf") {
            return Err("it is bound to a key");
        }
        // Some issuers give all kinds of tokens the same `typ` in the header, and tell them apart in the claims.
        let is_other_kind = matches!(text("typ"), Some("ID" | "Logout" | "Refresh" | "Offline"));
        if is_other_kind || claims.contains_key("at_hash") || claims.contains_key("events") {
            return Err("its type is not that of an access token");
        }
        Ok((claimed_identity(claims, &self.oauth)?, end))
    }

    /// Returns the parameters of a challenge, without an error.
    pub(crate) fn challenge(&self) -> String {
        let mut challenge = format!("resource_metadata=\"{}\"", self.metadata_address());
        if !self.oauth.scopes.is_empty() {
            challenge += ", scope=\"";
            challenge += &self.oauth.scopes.join(" ");
            challenge.push('"');
        }
        challenge
    }

    /// Returns the paths of the metadata.
    pub(crate) fn metadata_paths(&self) -> Vec<String> {
        let (_, path) = self.resource();
        let mut paths = vec![METADATA_PATH.to_owned()];
        if !path.is_empty() {
            paths.push(format!("{METADATA_PATH}{path}"));
        }
        paths
    }

    fn metadata_address(&self) -> String {
        let (origin, path) = self.resource();
        format!("{origin}{METADATA_PATH}{path}")
    }

    /// Returns the origin and the path of the resource.
    fn resource(&self) -> (&str, &str) {
        let resource = &*self.oauth.resource;
        let host = resource.find("://").map_or(0, |at| at + 3);
        let path = resource[host..]
            .find('/')
            .map_or(resource.len(), |at| host + at);
        (&resource[..path], resource[path..].trim_end_matches('/'))
    }

    /// Returns the metadata of this gateway as a protected resource (RFC 9728).
    pub(crate) fn metadata(&self) -> Value {
        let mut metadata = json!({
            "resource": *self.oauth.resource,
            "authorization_servers": [*self.oauth.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "Planwright",
        });
        if !self.oauth.scopes.is_empty() {
            let scopes: Vec<&str> = self.oauth.scopes.iter().map(|scope| &**scope).collect();
            metadata["scopes_supported"] = json!(scopes);
        }
        metadata
    }
}

/// Returns the time of a claim.
fn time(claims: &Claims, name: &str) -> Result<Option<SystemTime>, &'static str> {
    let Some(value) = claims.get(name) else {
        return Ok(None);
    };
    let seconds = value.as_f64().filter(|seconds| *seconds >= 0.0);
    let since = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let at = since.and_then(|since| UNIX_EPOCH.checked_add(since));
    at.map(Some).ok_or("its times are no times")
}
