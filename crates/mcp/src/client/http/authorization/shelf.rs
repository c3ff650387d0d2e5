use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rmcp::transport::{AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials};

use super::tokens::{Entry, Tokens};

/// The credential store of one server, for `rmcp`.
#[derive(Clone, Debug)]
pub(super) struct Shelf {
    tokens: Tokens,
    url: Arc<str>,
    client_secret: Arc<Mutex<Option<String>>>,
}

impl Shelf {
    pub(super) fn new(tokens: Tokens, url: &str) -> Self {
        Self {
            tokens,
            url: url.into(),
            client_secret: Arc::default(),
        }
    }

    pub(super) fn entry(&self) -> Result<Option<Entry>, AuthError> {
        self.tokens.get(&self.url).map_err(failure)
    }

    /// Sets the client secret that is stored with later credentials.
    pub(super) fn keep_client_secret(&self, secret: Option<String>) {
        let kept = self.client_secret.lock();
        *kept.unwrap_or_else(PoisonError::into_inner) = secret;
    }
}

#[async_trait]
impl CredentialStore for Shelf {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(self.entry()?.map(|entry| entry.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let client_secret = self.client_secret.lock();
        let client_secret = client_secret
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let entry = Entry {
            credentials,
            client_secret,
        };
        self.tokens.put(&self.url, entry).map_err(failure)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.tokens.forget(&self.url).map(drop).map_err(failure)
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let tokens = self.tokens.clone();
        // Another process may hold the lock for a while.
        let lock = tokio::task::spawn_blocking(move || tokens.lock_for_renewal()).await;
        let lock = lock.map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
        Ok(lock.map_err(failure)?.map(CredentialRefreshGuard::new))
    }
}

fn failure(error: std::io::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}
