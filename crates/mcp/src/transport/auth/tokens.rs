//! Storage of OAuth tokens between runs.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rmcp::transport::{AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};

/// The format of the file.
const FORMAT: &str = "planwright.tokens/1";

/// A storage of OAuth tokens. Clones share the storage.
#[derive(Clone)]
pub struct Tokens(Arc<TokenStorage>);

enum TokenStorage {
    // Held for single accesses only, never across an await.
    Memory(Mutex<BTreeMap<String, TokenEntry>>),
    File(PathBuf),
}

/// The stored credentials of one server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TokenEntry {
    pub(crate) credentials: StoredCredentials,
    /// The client secret from dynamic registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_secret: Option<String>,
}

impl TokenEntry {
    /// Returns the access token.
    pub(crate) fn access_token(&self) -> Option<String> {
        let response = serde_json::to_value(self.credentials.token_response.as_ref()?).ok()?;
        response.get("access_token")?.as_str().map(str::to_owned)
    }
}

#[derive(Serialize, Deserialize)]
struct StoredTokens {
    format: String,
    servers: BTreeMap<String, TokenEntry>,
}

impl Tokens {
    /// Creates a storage that ends with the process.
    pub fn in_memory() -> Self {
        Self(Arc::new(TokenStorage::Memory(Mutex::default())))
    }

    /// Creates a storage in a file that only its owner may read.
    pub fn in_file(path: impl Into<PathBuf>) -> Self {
        Self(Arc::new(TokenStorage::File(path.into())))
    }

    /// Removes the credentials of the server at `url`. Returns true if there were any.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or written.
    pub fn forget(&self, url: &str) -> io::Result<bool> {
        self.change(|servers| servers.remove(url).is_some())
    }

    pub(crate) fn get(&self, url: &str) -> io::Result<Option<TokenEntry>> {
        match &*self.0 {
            TokenStorage::Memory(servers) => {
                let servers = servers.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(servers.get(url).cloned())
            }
            TokenStorage::File(path) => Ok(read(path)?.remove(url)),
        }
    }

    pub(crate) fn put(&self, url: &str, entry: TokenEntry) -> io::Result<()> {
        self.change(|servers| {
            servers.insert(url.to_owned(), entry);
        })
    }

    /// Locks the refresh of tokens against all processes until the returned file is dropped. Returns `None` for a
    /// storage in memory.
    fn lock_for_refresh(&self) -> io::Result<Option<File>> {
        match &*self.0 {
            TokenStorage::Memory(_) => Ok(None),
            // A refresh invalidates the previous token, so two processes must not refresh at once.
            TokenStorage::File(path) => lock(path, "renewal.lock").map(Some),
        }
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&mut BTreeMap<String, TokenEntry>) -> T,
    ) -> io::Result<T> {
        match &*self.0 {
            TokenStorage::Memory(servers) => {
                let mut servers = servers.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(change(&mut servers))
            }
            TokenStorage::File(path) => {
                // The lock has a separate file, because `write` replaces the file of the tokens.
                let _lock = lock(path, "lock")?;
                let mut servers = read(path)?;
                let outcome = change(&mut servers);
                write(path, servers)?;
                Ok(outcome)
            }
        }
    }
}

impl Default for Tokens {
    fn default() -> Self {
        Self::in_memory()
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            TokenStorage::Memory(_) => f.write_str("Tokens(in memory)"),
            TokenStorage::File(path) => write!(f, "Tokens({})", path.display()),
        }
    }
}

fn read(path: &Path) -> io::Result<BTreeMap<String, TokenEntry>> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error),
    };
    // A parser error may quote from the file, which contains only secrets.
    let stored: StoredTokens = serde_json::from_slice(&text)
        .map_err(|_| io::Error::other("it is not a token file; remove it"))?;
    if stored.format != FORMAT {
        return Err(io::Error::other(
            "it was written by a newer version of this program",
        ));
    }
    Ok(stored.servers)
}

/// Replaces the file atomically, so that no reader sees a partial file.
fn write(path: &Path, servers: BTreeMap<String, TokenEntry>) -> io::Result<()> {
    let stored = StoredTokens {
        format: FORMAT.to_owned(),
        servers,
    };
    let new = path.with_extension("new");
    // A file left by a crash may have wider permissions.
    if let Err(error) = fs::remove_file(&new)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut file = private_options().write(true).create_new(true).open(&new)?;
    serde_json::to_writer_pretty(&mut file, &stored)?;
    file.write_all(b"\n")?;
    // A crash after the rename must not leave an empty file.
    file.sync_all()?;
    fs::rename(&new, path)
}

fn lock(path: &Path, extension: &str) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let lock = path.with_extension(extension);
    let file = private_options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(lock)?;
    file.lock()?;
    Ok(file)
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.read(true);
    options
}

/// The credential store of one server, for `rmcp`.
#[derive(Clone, Debug)]
pub(crate) struct ServerCredentialStore {
    tokens: Tokens,
    url: Arc<str>,
    client_secret: Arc<Mutex<Option<String>>>,
}

impl ServerCredentialStore {
    pub(crate) fn new(tokens: Tokens, url: &str) -> Self {
        Self {
            tokens,
            url: url.into(),
            client_secret: Arc::default(),
        }
    }

    pub(crate) fn entry(&self) -> Result<Option<TokenEntry>, AuthError> {
        self.tokens.get(&self.url).map_err(failure)
    }

    /// Sets the client secret that is stored with later credentials.
    pub(crate) fn set_client_secret(&self, secret: Option<String>) {
        let stored = self.client_secret.lock();
        *stored.unwrap_or_else(PoisonError::into_inner) = secret;
    }
}

#[async_trait]
impl CredentialStore for ServerCredentialStore {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(self.entry()?.map(|entry| entry.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let client_secret = self.client_secret.lock();
        let client_secret = client_secret
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let entry = TokenEntry {
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
        let lock = tokio::task::spawn_blocking(move || tokens.lock_for_refresh()).await;
        let lock = lock.map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
        Ok(lock.map_err(failure)?.map(CredentialRefreshGuard::new))
    }
}

fn failure(error: std::io::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::{StoredCredentials, TokenEntry, Tokens};

    fn entry(id: &str) -> TokenEntry {
        TokenEntry {
            credentials: StoredCredentials::new(id.to_owned(), None, Vec::new(), None),
            client_secret: None,
        }
    }

    #[test]
    fn keeps_tokens_for_their_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep").join("tokens.json");
        let tokens = Tokens::in_file(&path);
        assert!(tokens.get("https://a").unwrap().is_none());
        tokens.put("https://a", entry("one")).unwrap();
        tokens.put("https://b", entry("two")).unwrap();
        let again = Tokens::in_file(&path);
        let stored = again.get("https://b").unwrap().unwrap();
        assert_eq!(stored.credentials.client_id, "two");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert!(again.forget("https://a").unwrap());
        assert!(!again.forget("https://a").unwrap());
        assert!(tokens.get("https://a").unwrap().is_none());
    }

    #[test]
    fn quotes_nothing_of_a_file_that_is_broken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.json");
        std::fs::write(&path, r#"{"format": tok-123}"#).unwrap();
        let error = Tokens::in_file(&path).get("https://a").unwrap_err();
        assert_eq!(error.to_string(), "it is not a token file; remove it");
        std::fs::write(&path, r#"{"format": "planwright.tokens/2", "servers": {}}"#).unwrap();
        let error = Tokens::in_file(&path)
            .put("https://a", entry("x"))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "it was written by a newer version of this program"
        );
    }
}
