//! Sessions. A token, which only the person has, is exchanged for a cookie that no script can read, and for a key that the page's script
//! sends as a header. A request needs both: browsers send the cookie to every port of the host, so other servers of the machine get it,
//! but a page of another port cannot read the key.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use indexmap::IndexMap;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::time::Instant;

use crate::error::ApiError;

/// The maximum number of sessions of one party. A further session ends the oldest one.
const MAX_SESSIONS: usize = 64;

/// The time after its last request at which a session ends.
const IDLE_TIME: Duration = Duration::from_hours(12);

/// The header with the key of the session. A header that no form can set also makes other pages ask for permission first.
const KEY_HEADER: HeaderName = HeaderName::from_static("planwright-session");

/// Maximum number of wrong tokens per period.
const MAX_WRONG_TOKENS: u32 = 20;
/// The maximum number of wrong passphrases per period. It is small, because people choose passphrases that can be guessed.
pub(crate) const MAX_WRONG_PASSPHRASES: u32 = 5;
const WRONG_PERIOD: Duration = Duration::from_mins(1);

/// The parties that may open a session.
#[derive(Clone)]
pub enum Access {
    /// The user who started the server, with its token. All runs of the store are visible.
    Owner(PageToken),
    /// The clients of a gateway, each with its own token. A client sees its own runs only.
    Clients(Arc<dyn PageClients>),
}

/// The clients that may open a session.
pub trait PageClients: Send + Sync {
    /// The client whose token has this SHA-256, as long as the token is valid. A session ends with its token.
    fn client(&self, token: &[u8; 32]) -> Option<Arc<str>>;
}

/// A random token, which is part of the address of the page.
#[derive(Clone)]
pub struct PageToken(Arc<str>);

impl PageToken {
    /// A new random token of 256 bits.
    ///
    /// # Errors
    ///
    /// The system has no random numbers.
    pub fn random() -> Result<Self, getrandom::Error> {
        Ok(Self(random()?.into()))
    }

    /// The token as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PageToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PageToken")
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Owner(_) => "Owner",
            Self::Clients(_) => "Clients",
        })
    }
}

/// The owner of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunOwner {
    /// The user of the store.
    Local,
    /// A client of a gateway.
    Client(Arc<str>),
    /// No client, since the run was imported: only the owner of the store sees it.
    Imported,
    /// No known client, since the header of the run cannot be read: only the owner of the store sees it.
    Unknown,
}

impl RunOwner {
    /// The client, if the party is a client.
    pub(crate) fn client(&self) -> Option<&str> {
        match self {
            Self::Client(client) => Some(client),
            Self::Local | Self::Imported | Self::Unknown => None,
        }
    }
}

/// The party that sends a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Visitor {
    /// The client whose runs are visible; `None` if all are.
    client: Option<Arc<str>>,
    /// True for the local user of a gateway, whose runs have no client.
    is_local: bool,
    /// The SHA-256 of the token that opened the session of a client.
    token: Option<[u8; 32]>,
    /// The session, by the digest of its cookie; none for a visitor that a gateway has authenticated.
    session: Option<[u8; 32]>,
}

impl Visitor {
    /// The visitor that a gateway knows as `client`, or as its local user.
    pub(crate) fn of_gateway(client: Option<&str>) -> Self {
        Self {
            client: Some(client.unwrap_or("local").into()),
            is_local: client.is_none(),
            token: None,
            session: None,
        }
    }

    /// Returns true if a run of `owner` is visible.
    pub(crate) fn may_see(&self, owner: &RunOwner) -> bool {
        let Some(own) = self.client.as_deref() else {
            return true;
        };
        match owner {
            RunOwner::Local => self.is_local,
            RunOwner::Client(client) => !self.is_local && **client == *own,
            RunOwner::Imported | RunOwner::Unknown => false,
        }
    }

    /// The signed-in client, if there are several.
    pub(crate) fn client(&self) -> Option<&str> {
        self.client.as_deref()
    }

    /// The party that limits apply to.
    pub(crate) fn party(&self) -> Option<Arc<str>> {
        self.client.clone()
    }
}

/// The open sessions.
pub(crate) struct Sessions {
    access: Access,
    /// By the digest of the cookie's value, so that a lookup reveals nothing about it.
    open: Mutex<IndexMap<[u8; 32], Session>>,
    wrong: WrongAttempts,
}

/// An open session.
struct Session {
    visitor: Visitor,
    /// The digest of the key.
    key: [u8; 32],
    /// The time of its last request.
    used: Instant,
}

impl Session {
    fn is_idle(&self) -> bool {
        self.used.elapsed() >= IDLE_TIME
    }
}

/// The two secrets of a session. Each request must have both.
pub(crate) struct NewSession {
    /// The value of the cookie.
    pub(crate) cookie: String,
    /// The value of the header.
    pub(crate) key: String,
}

/// The wrong tokens or passphrases of the last minute, by party.
#[derive(Debug)]
pub(crate) struct WrongAttempts {
    limit: u32,
    attempts: Mutex<HashMap<Option<Arc<str>>, RecentAttempts>>,
}

/// The time of the first attempt of a period, and the number of attempts since then.
type RecentAttempts = (Instant, u32);

impl WrongAttempts {
    /// Creates a counter that allows each party `limit` wrong attempts per minute.
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            limit,
            attempts: Mutex::default(),
        }
    }

    /// Counts an attempt of `party` as wrong. Rejects it if there were too many wrong ones before.
    pub(crate) fn count(&self, party: Option<&Arc<str>>, what: &str) -> Result<(), ApiError> {
        let mut wrong = lock(&self.attempts);
        let now = Instant::now();
        wrong.retain(|_, (since, _)| now.duration_since(*since) < WRONG_PERIOD);
        let (_, count) = wrong.entry(party.cloned()).or_insert((now, 0));
        *count = count.saturating_add(1);
        if *count > self.limit {
            let message = format!("too many wrong {what}");
            return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, message).help("wait a minute"));
        }
        Ok(())
    }

    /// Uncounts the last attempt of `party`, because it was right.
    pub(crate) fn uncount(&self, party: Option<&Arc<str>>) {
        if let Some((_, count)) = lock(&self.attempts).get_mut(&party.cloned()) {
            *count = count.saturating_sub(1);
        }
    }
}

impl Sessions {
    pub(crate) fn new(access: Access) -> Self {
        Self {
            access,
            open: Mutex::default(),
            wrong: WrongAttempts::new(MAX_WRONG_TOKENS),
        }
    }

    /// Opens a session for the owner of `token`.
    pub(crate) fn open(&self, token: &str) -> Result<NewSession, ApiError> {
        let visitor = match &self.access {
            Access::Owner(own) => {
                let is_own: bool = own.as_str().as_bytes().ct_eq(token.as_bytes()).into();
                is_own.then_some((None, None))
            }
            Access::Clients(clients) => {
                let token = digest(token);
                let client = clients.client(&token);
                client.map(|client| (Some(client), Some(token)))
            }
        };
        let Some((client, token)) = visitor else {
            return Err(self.refused());
        };
        let new = || {
            random().map_err(|error| {
                let message = format!("the system has no random numbers: {error}");
                ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, message)
            })
        };
        let (cookie, key) = (new()?, new()?);
        let visitor = Visitor {
            client,
            is_local: false,
            token,
            session: Some(digest(&cookie)),
        };
        let mut open = lock(&self.open);
        open.retain(|_, other| !other.is_idle() && self.has_token(&other.visitor));
        let own = |other: &Session| other.visitor.client == visitor.client;
        if open.values().filter(|other| own(other)).count() >= MAX_SESSIONS
            && let Some(oldest) = open.values().position(own)
        {
            open.shift_remove_index(oldest);
        }
        open.insert(
            digest(&cookie),
            Session {
                visitor,
                key: digest(&key),
                used: Instant::now(),
            },
        );
        Ok(NewSession { cookie, key })
    }

    /// The visitor with the cookie `name` and the key of a request.
    pub(crate) fn visitor(&self, headers: &HeaderMap, name: &str) -> Option<Visitor> {
        let value = cookie(headers, name)?;
        let key = headers.get(&KEY_HEADER)?.as_bytes();
        let visitor = {
            let mut open = lock(&self.open);
            let session = open.get_mut(&digest(value))?;
            let is_own: bool = session.key.ct_eq(&digest(key)).into();
            if !is_own || session.is_idle() {
                return None;
            }
            session.used = Instant::now();
            session.visitor.clone()
        };
        self.has_token(&visitor).then_some(visitor)
    }

    /// Ends the session of a visitor.
    pub(crate) fn close(&self, visitor: &Visitor) {
        if let Some(session) = &visitor.session {
            lock(&self.open).shift_remove(session);
        }
    }

    /// Returns true if the session of a visitor has not ended.
    pub(crate) fn is_open(&self, visitor: &Visitor) -> bool {
        let is_open = visitor.session.is_none_or(|session| {
            let open = lock(&self.open);
            open.get(&session).is_some_and(|open| !open.is_idle())
        });
        is_open && self.has_token(visitor)
    }

    /// Returns true if the token that opened the session of a visitor is valid.
    fn has_token(&self, visitor: &Visitor) -> bool {
        match (&self.access, &visitor.token) {
            (Access::Clients(clients), Some(token)) => {
                clients.client(token).as_deref() == visitor.client()
            }
            (Access::Clients(_), None) => false,
            (Access::Owner(_), _) => true,
        }
    }

    /// Advice how to open a session.
    pub(crate) fn help(&self) -> &'static str {
        match self.access {
            Access::Owner(_) => "open the address that the program has printed",
            Access::Clients(_) => "log in with the token of your client",
        }
    }

    fn refused(&self) -> ApiError {
        // A valid token is accepted after any number of wrong ones.
        if let Err(refused) = self.wrong.count(None, "tokens") {
            return refused;
        }
        ApiError::new(StatusCode::UNAUTHORIZED, "the token is wrong").help(self.help())
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions")
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

/// The value of the only cookie with this name.
fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).iter();
    let mut found = all
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(key, _)| *key == name)
        .map(|(_, value)| value);
    match (found.next(), found.next()) {
        (Some(value), None) => Some(value),
        _ => None,
    }
}

fn digest(value: impl AsRef<[u8]>) -> [u8; 32] {
    Sha256::digest(value).into()
}

fn random() -> Result<String, getrandom::Error> {
    use base64::Engine as _;
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(session: &NewSession) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let cookie = format!("page={}", session.cookie);
        headers.insert(header::COOKIE, HeaderValue::try_from(cookie).unwrap());
        headers.insert(KEY_HEADER, HeaderValue::try_from(&session.key).unwrap());
        headers
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_ends_some_time_after_its_last_request() {
        let token = PageToken::random().unwrap();
        let sessions = Sessions::new(Access::Owner(token.clone()));
        let session = headers(&sessions.open(token.as_str()).unwrap());
        for _ in 0..3 {
            tokio::time::advance(IDLE_TIME.saturating_sub(Duration::from_secs(1))).await;
            let visitor = sessions.visitor(&session, "page").unwrap();
            assert!(sessions.is_open(&visitor));
        }
        let visitor = sessions.visitor(&session, "page").unwrap();
        tokio::time::advance(IDLE_TIME).await;
        assert!(!sessions.is_open(&visitor));
        assert_eq!(sessions.visitor(&session, "page"), None);
        // It is not in the list of sessions any more once another one is opened.
        sessions.open(token.as_str()).unwrap();
        assert_eq!(lock(&sessions.open).len(), 1);
    }
}
