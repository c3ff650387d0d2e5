//! OAuth authorization at one server.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use planwright_core::ServerName;
use reqwest::Url;
use rmcp::transport::auth::{AuthorizationCallback, OAuthClientConfig};
use rmcp::transport::{
    AuthError, AuthorizationManager, ClientCredentialsConfig, WWWAuthenticateParams,
};
use tokio::sync::{Mutex, OnceCell};

use super::tokens::{ServerCredentialStore, TokenEntry};
use crate::config::{Grant, HttpConfig, OauthConfig};
use crate::transport::http::HttpFailure;
use crate::upstream::{ConnectOptions, Consent};

/// Obtains and refreshes the OAuth tokens of one server.
pub(crate) struct Authorizer {
    server: ServerName,
    url: Url,
    oauth: OauthConfig,
    credential_store: ServerCredentialStore,
    consent: Option<Arc<dyn Consent>>,
    client_name: String,
    /// A manager that only reads stored tokens.
    stored_tokens: OnceCell<AuthorizationManager>,
    // Held while a token is fetched, so that concurrent requests fetch it once.
    refresh_lock: Mutex<()>,
}

impl fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorizer")
            .field("server", &self.server)
            .field("oauth", &self.oauth)
            .field("credential_store", &self.credential_store)
            .field("consent", &self.consent)
            .finish_non_exhaustive()
    }
}

impl Authorizer {
    /// Creates an authorizer for `server`. Returns `None` if the configuration has an `authorization` header.
    pub(crate) fn new(
        server: &ServerName,
        url: &Url,
        config: &HttpConfig,
        options: &ConnectOptions,
    ) -> Option<Self> {
        let mut names = config.headers.iter().map(|(name, _)| name);
        if names.any(|name| name.eq_ignore_ascii_case("authorization")) {
            return None;
        }
        Some(Self {
            server: server.clone(),
            url: url.clone(),
            oauth: config.oauth.clone(),
            credential_store: ServerCredentialStore::new(options.tokens.clone(), &config.url),
            consent: options.consent.clone(),
            client_name: options.client.0.clone(),
            stored_tokens: OnceCell::new(),
            refresh_lock: Mutex::default(),
        })
    }

    /// Returns the access token, if any, and refreshes it first if it is about to expire.
    pub(crate) async fn token(&self) -> Result<Option<String>, HttpFailure> {
        let stored_tokens = self
            .stored_tokens
            .get_or_try_init(|| self.manager())
            .await?;
        match stored_tokens.get_access_token().await {
            Ok(token) => return Ok(Some(token)),
            Err(AuthError::AuthorizationRequired) => return Ok(None),
            Err(error @ AuthError::CredentialStoreError(_)) => return Err(self.failure(&error)),
            // The token is about to expire, and this manager cannot refresh it.
            Err(_) => {}
        }
        // Servers may rotate refresh tokens, so two refreshes at once would invalidate each other's.
        let _guard = self.refresh_lock.lock().await;
        // If the refresh fails, the server responds with a challenge.
        self.refresh().await?;
        Ok(stored_tokens.get_access_token().await.ok())
    }

    /// Obtains a token after the server has refused `stale` with `challenge`.
    pub(crate) async fn reauthorize(
        &self,
        challenge: Option<&str>,
        stale: Option<&str>,
    ) -> Result<(), HttpFailure> {
        let _guard = self.refresh_lock.lock().await;
        let stored = self.entry()?.and_then(|entry| entry.access_token());
        if stored.is_some() && stored.as_deref() != stale {
            // Another request or process has obtained a token meanwhile.
            return Ok(());
        }
        if stored.is_some() && self.refresh().await? {
            return Ok(());
        }
        Box::pin(self.authorize(challenge, None)).await
    }

    /// Obtains a token with more scopes if the challenge names the missing ones. Returns true if there is a new token.
    pub(crate) async fn extend_scopes(&self, challenge: Option<&str>) -> Result<bool, HttpFailure> {
        // Without a challenge the server refuses this user or request, and more scopes would not help.
        let Some(challenge) = challenge else {
            return Ok(false);
        };
        let params = WWWAuthenticateParams::parse(challenge, &self.url);
        if !params.is_insufficient_scope() {
            return Ok(false);
        }
        let _guard = self.refresh_lock.lock().await;
        let granted = self.entry()?.map(|entry| entry.credentials.granted_scopes);
        // The new token replaces the old one, so it must have all scopes that were granted before.
        let mut scopes: BTreeSet<String> = granted.into_iter().flatten().collect();
        let missing = params.scope.unwrap_or_default();
        scopes.extend(missing.split_whitespace().map(str::to_owned));
        let scopes = scopes.into_iter().collect();
        Box::pin(self.authorize(Some(challenge), Some(scopes))).await?;
        Ok(true)
    }

    /// Refreshes the token without a person's consent. Returns true on success.
    async fn refresh(&self) -> Result<bool, HttpFailure> {
        let mut manager = self.manager().await?;
        let is_stored = manager.initialize_from_store().await;
        // This also removes tokens of a previous authorization server.
        if !is_stored.map_err(|error| self.failure(&error))? {
            return Ok(false);
        }
        if let Some(entry) = self.entry()?
            && let Some(secret) = self.oauth.client_secret.clone().or(entry.client_secret)
        {
            let client = OAuthClientConfig::new(entry.credentials.client_id, self.url.as_str());
            let client = client.with_client_secret(secret.clone());
            let configured = manager.configure_client(client);
            configured.map_err(|error| self.failure(&error))?;
            self.credential_store.set_client_secret(Some(secret));
        }
        match manager.refresh_token().await {
            Ok(_) => Ok(true),
            Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => Ok(false),
            Err(error) => Err(self.failure(&error)),
        }
    }

    /// Obtains a first token, or one for `scopes`.
    async fn authorize(
        &self,
        challenge: Option<&str>,
        scopes: Option<Vec<String>>,
    ) -> Result<(), HttpFailure> {
        // No page is opened without a request: an unnoticed page would look like a call that hangs.
        if self.oauth.grant == Grant::AuthorizationCode && self.consent.is_none() {
            return Err(self.consent_required(challenge));
        }
        let outcome = self.try_authorize(challenge, scopes).await;
        outcome.map_err(|error| self.failure(&error))
    }

    async fn try_authorize(
        &self,
        challenge: Option<&str>,
        scopes: Option<Vec<String>>,
    ) -> Result<(), AuthError> {
        let mut manager = self.bare_manager().await?;
        let resolution = manager.resolve_metadata_from_challenge(challenge).await?;
        let takes_metadata = resolution
            .metadata
            .additional_fields
            .get("client_id_metadata_document_supported")
            .and_then(serde_json::Value::as_bool)
            .unwrap_or_default();
        manager.set_metadata(resolution.metadata);
        let scopes = match scopes {
            Some(scopes) => scopes,
            // Without configured scopes, the server decides: those of its challenge or its metadata are requested.
            None if self.oauth.scopes.is_empty() => manager.select_initial_scopes(&[]).await,
            None => self.oauth.scopes.clone(),
        };
        match (self.oauth.grant, &self.consent) {
            (Grant::AuthorizationCode, Some(consent)) => {
                let client = self.client(&mut manager, takes_metadata, &scopes, consent);
                let client = client.await?;
                self.credential_store
                    .set_client_secret(client.client_secret.clone());
                manager.configure_client(client)?;
                self.ask(&manager, &scopes, &**consent).await
            }
            (Grant::AuthorizationCode, None) | (Grant::ClientCredentials, _) => {
                self.exchange_client_secret(&mut manager, scopes).await
            }
        }
    }

    /// Returns the client: the configured one, else one described by a metadata document, else a newly registered one.
    async fn client(
        &self,
        manager: &mut AuthorizationManager,
        takes_metadata: bool,
        scopes: &[String],
        consent: &Arc<dyn Consent>,
    ) -> Result<OAuthClientConfig, AuthError> {
        let redirect = consent.redirect_uri();
        if let Some(id) = &self.oauth.client_id {
            let client = OAuthClientConfig::new(id, redirect);
            return Ok(match &self.oauth.client_secret {
                Some(secret) => client.with_client_secret(secret),
                None => client,
            });
        }
        if let Some(document) = &self.oauth.client_metadata_url
            && takes_metadata
        {
            return Ok(OAuthClientConfig::new(document, redirect));
        }
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let registered = manager.register_client(&self.client_name, &redirect, &scopes);
        registered.await
    }

    /// Asks a person for consent and exchanges the code for a token.
    async fn ask(
        &self,
        manager: &AuthorizationManager,
        scopes: &[String],
        consent: &dyn Consent,
    ) -> Result<(), AuthError> {
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let page = manager.get_authorization_url(&scopes).await?;
        let answer = consent.ask(&self.server, &page).await;
        let answer = answer.map_err(AuthError::AuthorizationFailed)?;
        if let Some(refusal) = refusal(&answer) {
            return Err(AuthError::AuthorizationFailed(refusal));
        }
        let answer = AuthorizationCallback::from_redirect_url(&answer)?;
        let exchange = manager.exchange_code_for_token_with_issuer(
            &answer.code,
            &answer.csrf_token,
            answer.issuer.as_deref(),
        );
        exchange.await.map(drop)
    }

    /// Obtains a token with client credentials.
    async fn exchange_client_secret(
        &self,
        manager: &mut AuthorizationManager,
        scopes: Vec<String>,
    ) -> Result<(), AuthError> {
        let credentials = ClientCredentialsConfig::ClientSecret {
            client_id: self.oauth.client_id.clone().unwrap_or_default(),
            client_secret: self.oauth.client_secret.clone().unwrap_or_default(),
            scopes,
            resource: Some(self.url.to_string()),
        };
        manager.validate_client_credentials_metadata(&credentials)?;
        manager.configure_client_credentials(&credentials)?;
        manager
            .exchange_client_credentials(&credentials)
            .await
            .map(drop)
    }

    async fn manager(&self) -> Result<AuthorizationManager, HttpFailure> {
        let manager = self.bare_manager().await;
        manager.map_err(|error| self.failure(&error))
    }

    async fn bare_manager(&self) -> Result<AuthorizationManager, AuthError> {
        let url = self.url.clone();
        // Many companies have their authorization server at a private address.
        let mut manager = AuthorizationManager::new_allowing_private_addresses(url).await?;
        manager.set_credential_store(self.credential_store.clone());
        Ok(manager)
    }

    fn entry(&self) -> Result<Option<TokenEntry>, HttpFailure> {
        self.credential_store
            .entry()
            .map_err(|error| self.failure(&error))
    }

    /// Returns the failure of a server that requires consent when no prompt is available.
    fn consent_required(&self, challenge: Option<&str>) -> HttpFailure {
        let server = &self.server;
        let params = challenge.map(|challenge| WWWAuthenticateParams::parse(challenge, &self.url));
        let needs_scopes = params.is_some_and(|params| params.is_insufficient_scope());
        HttpFailure::unsent(
            if needs_scopes {
                "it requires more scopes than were granted (HTTP 403)"
            } else {
                "it requires a login (HTTP 401)"
            },
            format!("run `planwright login {server}`, or put a key for it into its `headers`"),
        )
    }

    fn failure(&self, error: &AuthError) -> HttpFailure {
        let server = &self.server;
        let help = match error {
            AuthError::CredentialStoreError(_) => {
                "check that the token file can be read and written".to_owned()
            }
            AuthError::RegistrationFailed(_) => {
                "register a client there by hand, and write its `clientId` into `oauth`".to_owned()
            }
            _ => {
                format!("run `planwright login {server}` again, or ask the operator of the server")
            }
        };
        HttpFailure::unsent(format!("authorization failed: {}", reason(error)), help)
    }
}

/// Returns the error in a redirect address.
fn refusal(answer: &str) -> Option<String> {
    let url = Url::parse(answer).ok()?;
    let field = |name: &str| {
        let mut fields = url.query_pairs();
        fields.find_map(|(key, value)| (key == name).then(|| value.into_owned()))
    };
    let error = field("error")?;
    Some(match field("error_description") {
        Some(description) => format!("{error}: {description}"),
        None => error,
    })
}

/// Returns the message of an error with all its causes.
fn reason(error: &AuthError) -> String {
    let mut reason = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        reason = format!("{reason}: {next}");
        cause = next.source();
    }
    reason
}
