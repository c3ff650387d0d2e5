//! The keys of an issuer: discovery of its metadata, and a cache that is refreshed for new keys at a limited rate.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use reqwest::{Client, StatusCode, Url};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;

/// The age above which keys are fetched again, so that a key that the issuer has withdrawn is refused soon.
pub(super) const FRESH_FOR: Duration = Duration::from_mins(5);

/// The shortest time between two attempts to fetch keys: tokens with invented keys must not flood the issuer.
pub(super) const FETCH_PAUSE: Duration = Duration::from_secs(10);

/// The time limit of each request to the issuer.
const REQUEST_TIME: Duration = Duration::from_secs(5);

/// The time limit of one attempt to fetch keys, for which a request of a client waits.
const FETCH_TIME: Duration = Duration::from_secs(10);

/// The largest document that is read.
const MAX_DOCUMENT_BYTES: usize = 1024 * 1024;

/// The largest number of keys that a token without a key id is tried with.
const MAX_TRIED_KEYS: usize = 8;

/// The clock.
pub(super) type WallClock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// The keys of one issuer.
pub(super) struct IssuerKeys {
    issuer: Url,
    /// The issuer as it is configured, which its metadata must repeat.
    name: Arc<str>,
    keys_for: Duration,
    http: Client,
    clock: WallClock,
    fetched: RwLock<Option<Arc<FetchedKeys>>>,
    /// The time of the latest attempt to fetch keys. Its holder makes one.
    last_attempt: Mutex<Option<SystemTime>>,
}

#[derive(Debug)]
struct FetchedKeys {
    keys: Vec<IssuerKey>,
    at: SystemTime,
}

/// A key that verifies signatures.
#[derive(Clone, Debug)]
pub(super) struct IssuerKey {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    pub(super) key: DecodingKey,
}

/// The reason why no key can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    /// The issuer has no such key.
    Unknown,
    /// The keys could not be fetched for too long.
    Unavailable,
}

impl fmt::Debug for IssuerKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IssuerKeys")
            .field("issuer", &self.name)
            .finish_non_exhaustive()
    }
}

impl IssuerKeys {
    /// Creates the cache. Nothing is fetched before it is needed.
    pub(super) fn new(
        issuer: &Arc<str>,
        keys_for: Duration,
        clock: WallClock,
    ) -> Result<Self, String> {
        static TLS: std::sync::Once = std::sync::Once::new();
        TLS.call_once(|| {
            // Fails if the program has installed one already, which is used instead.
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let issuer_url = Url::parse(issuer).map_err(|error| error.to_string())?;
        let mut http = Client::builder();
        if issuer_url.scheme() == "http" {
            // The issuer is on this machine. A proxy would be another one, which could replace the keys.
            http = http.no_proxy();
        }
        let http = http
            .connect_timeout(REQUEST_TIME)
            .timeout(REQUEST_TIME)
            // A redirect could lead to where the configured address does not.
            .redirect(reqwest::redirect::Policy::none())
            .http1_only()
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            issuer: issuer_url,
            name: Arc::clone(issuer),
            keys_for,
            http,
            clock,
            fetched: RwLock::new(None),
            last_attempt: Mutex::new(None),
        })
    }

    /// Returns the keys that a token with this key id and algorithm may be signed by.
    pub(super) async fn candidates(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Vec<IssuerKey>, NoKey> {
        let known = self.usable();
        let age = known.as_ref().map(|fetched| self.age(fetched.at));
        let fit = known.map(|fetched| fetched.fitting(id, algorithm));
        match (fit, age) {
            (Some(fit), Some(age)) if !fit.is_empty() => {
                if age < FRESH_FOR {
                    return Ok(fit);
                }
                // One request waits for the issuer; the others use the keys that are known.
                let Ok(last) = self.last_attempt.try_lock() else {
                    return Ok(fit);
                };
                self.fetch_if_due(last).await;
            }
            // The issuer may have a new key. All requests with such a token wait for one attempt.
            _ => self.fetch_if_due(self.last_attempt.lock().await).await,
        }
        let fetched = self.usable().ok_or(NoKey::Unavailable)?;
        let fit = fetched.fitting(id, algorithm);
        if fit.is_empty() {
            return Err(NoKey::Unknown);
        }
        Ok(fit)
    }

    /// Returns the latest keys, unless they are too old.
    fn usable(&self) -> Option<Arc<FetchedKeys>> {
        let fetched = self.fetched.read().unwrap_or_else(PoisonError::into_inner);
        let fetched = fetched.clone()?;
        // Fresh keys are fetched again at their age anyway, however short the setting is.
        (self.age(fetched.at) <= self.keys_for.max(FRESH_FOR)).then_some(fetched)
    }

    fn age(&self, at: SystemTime) -> Duration {
        // A clock that was set back must not make old keys fresh.
        (self.clock)()
            .duration_since(at)
            .unwrap_or_else(|error| error.duration())
    }

    async fn fetch_if_due(&self, mut last: tokio::sync::MutexGuard<'_, Option<SystemTime>>) {
        if last.is_some_and(|last| self.age(last) < FETCH_PAUSE) {
            return;
        }
        let fetched = tokio::time::timeout(FETCH_TIME, self.fetch()).await;
        let fetched = fetched.unwrap_or_else(|_| Err("it does not answer in time".to_owned()));
        let now = (self.clock)();
        *last = Some(now);
        match fetched {
            Ok(keys) => {
                tracing::info!(issuer = %self.name, keys = keys.len(), "the keys of the issuer were fetched");
                let fetched = Arc::new(FetchedKeys { keys, at: now });
                *self.fetched.write().unwrap_or_else(PoisonError::into_inner) = Some(fetched);
            }
            Err(reason) => {
                tracing::warn!(issuer = %self.name, reason, "the keys of the issuer cannot be fetched");
            }
        }
    }

    async fn fetch(&self) -> Result<Vec<IssuerKey>, String> {
        let metadata = self.discover().await?;
        let address = Url::parse(&metadata.jwks_uri);
        let address = address.map_err(|error| format!("`jwks_uri` is no address: {error}"))?;
        // Otherwise the metadata could lead to a connection that others can change.
        if address.scheme() != "https" && address.origin() != self.issuer.origin() {
            return Err("`jwks_uri` is not reached by TLS".to_owned());
        }
        let set: KeySet = self
            .get(address)
            .await?
            .ok_or_else(|| "there is nothing at its `jwks_uri`".to_owned())?;
        // A key of a kind that is unknown here must not hide the others.
        let keys = set.keys.into_iter().filter_map(IssuerKey::read);
        Ok(keys.collect())
    }

    /// Fetches the metadata, at the well-known addresses of RFC 8414 and OpenID Connect.
    async fn discover(&self) -> Result<Metadata, String> {
        let mut reason = None;
        for address in well_known(&self.issuer) {
            let problem = match self.get::<Metadata>(address).await {
                // RFC 8414, section 3.3: otherwise one tenant could stand in for another.
                Ok(Some(found)) if *found.issuer == *self.name => return Ok(found),
                Ok(Some(found)) => {
                    format!("its metadata is that of `{}`", found.issuer.escape_debug())
                }
                Ok(None) => continue,
                // Some issuers answer a page, a redirect or 400 where they have no metadata.
                Err(problem) => problem,
            };
            reason.get_or_insert(problem);
        }
        Err(reason.unwrap_or_else(|| "it has no metadata at its well-known addresses".to_owned()))
    }

    /// Reads a document; `None` if there is none.
    async fn get<T: serde::de::DeserializeOwned>(&self, address: Url) -> Result<Option<T>, String> {
        let shown = address.to_string();
        let request = self.http.get(address).header("accept", "application/json");
        let failed = |error: &dyn std::error::Error| {
            let mut reasons = vec![error.to_string()];
            let mut cause = error.source();
            while let Some(error) = cause {
                reasons.push(error.to_string());
                cause = error.source();
            }
            format!("`{shown}`: {}", reasons.join(": "))
        };
        let mut response = request
            .send()
            .await
            .map_err(|error| failed(&error.without_url()))?;
        match response.status() {
            StatusCode::NOT_FOUND => return Ok(None),
            status if status.is_success() => {}
            status => return Err(format!("`{shown}` answers {status}")),
        }
        let mut text = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| failed(&error.without_url()))?
        {
            text.extend_from_slice(&chunk);
            if text.len() > MAX_DOCUMENT_BYTES {
                return Err(format!(
                    "`{shown}` has more than {MAX_DOCUMENT_BYTES} bytes"
                ));
            }
        }
        let read = serde_json::from_slice(&text);
        read.map(Some).map_err(|error| failed(&error))
    }
}

/// The metadata of an issuer, as far as a resource server needs it.
#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

/// Returns the addresses of the metadata of an issuer, in the order of the MCP specification.
fn well_known(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/').to_owned();
    let at = |path: String| {
        let mut address = issuer.clone();
        address.set_path(&path);
        address
    };
    let mut all = vec![
        at(format!("/.well-known/oauth-authorization-server{path}")),
        at(format!("/.well-known/openid-configuration{path}")),
    ];
    if !path.is_empty() {
        all.push(at(format!("{path}/.well-known/openid-configuration")));
    }
    all
}

impl FetchedKeys {
    /// Returns the keys that fit. A key id names one; without it, any key of the algorithm may be meant.
    fn fitting(&self, id: Option<&str>, algorithm: Algorithm) -> Vec<IssuerKey> {
        let keys = self.keys.iter();
        let fit = keys.filter(|key| key.algorithms.contains(&algorithm));
        let fit = fit.filter(|key| id.is_none() || key.id.as_deref() == id);
        fit.take(MAX_TRIED_KEYS).cloned().collect()
    }
}

impl IssuerKey {
    /// Reads a key. `None` unless it verifies signatures by an accepted algorithm.
    pub(super) fn read(key: Value) -> Option<Self> {
        let stated = match key.get("alg") {
            Some(name) => Some(name.as_str()?.parse::<Algorithm>().ok()?),
            None => None,
        };
        let key: Jwk = serde_json::from_value(key).ok()?;
        let signs = key.common.public_key_use.as_ref();
        if signs.is_some_and(|purpose| *purpose != PublicKeyUse::Signature) {
            return None;
        }
        let possible: &[Algorithm] = match &key.algorithm {
            AlgorithmParameters::RSA(_) => AlgorithmFamily::Rsa.algorithms(),
            AlgorithmParameters::EllipticCurve(point) => match point.curve {
                EllipticCurve::P256 => &[Algorithm::ES256],
                EllipticCurve::P384 => &[Algorithm::ES384],
                _ => return None,
            },
            AlgorithmParameters::OctetKeyPair(point) => match point.curve {
                EllipticCurve::Ed25519 => &[Algorithm::EdDSA],
                _ => return None,
            },
            // A shared secret is no public key.
            AlgorithmParameters::OctetKey(_) => return None,
        };
        let algorithms: Vec<Algorithm> = possible
            .iter()
            .copied()
            .filter(|algorithm| stated.is_none_or(|stated| stated == *algorithm))
            .collect();
        if algorithms.is_empty() {
            return None;
        }
        Some(Self {
            algorithms,
            key: DecodingKey::from_jwk(&key).ok()?,
            id: key.common.key_id,
        })
    }
}
