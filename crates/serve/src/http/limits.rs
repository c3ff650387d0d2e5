//! Limits of the HTTP server, for one client and for all; and refusals of requests, as HTTP and as JSON-RPC.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use planwright::config::Serve;
use planwright::engine::Rate;
use planwright_mcp::gateway::ClientId;
use serde_json::json;

/// The rate limit of wrong tokens of one address.
const WRONG_TOKEN_RATE: Rate = Rate {
    calls: NonZeroU32::new(10).unwrap(),
    per: Duration::from_mins(1),
};

/// The number of addresses or clients above which idle ones are removed.
pub(super) const MAX_RATE_KEYS: usize = 10_000;

/// The effective limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct HttpLimits {
    pub(super) body: usize,
    pub(super) requests: u32,
    pub(super) connections: u32,
    pub(super) rate: Option<Rate>,
    pub(super) request_time: Duration,
    pub(super) shutdown_time: Duration,
}

impl HttpLimits {
    /// Returns the limits. An `open` server serves this machine only, whose processes can overload it in other ways: it has no rate
    /// limit unless one is set.
    pub(super) fn of(serve: &Serve, open: bool) -> Self {
        let count = |bound: &Option<planwright::engine::Bound<NonZeroU32>>, default: NonZeroU32| {
            bound.as_ref().map_or(default, |bound| bound.limit).get()
        };
        let rate = serve.rate.as_ref().map(|bound| bound.limit);
        let body = serve.max_body.as_ref();
        let body = body.map_or(Serve::MAX_BODY, |bound| bound.limit);
        Self {
            body: usize::try_from(body).unwrap_or(usize::MAX),
            requests: count(&serve.max_requests, Serve::MAX_REQUESTS),
            connections: count(&serve.max_connections, Serve::MAX_CONNECTIONS),
            rate: rate.or((!open).then_some(Serve::RATE)),
            request_time: serve
                .request_time
                .as_ref()
                .map_or(Serve::REQUEST_TIME, |time| time.limit),
            shutdown_time: serve
                .shutdown_time
                .as_ref()
                .map_or(Serve::SHUTDOWN_TIME, |time| time.limit),
        }
    }
}

/// A rate limit for each of many keys.
#[derive(Debug)]
pub(super) struct KeyedRateLimiter<K: std::hash::Hash + Eq + Clone> {
    limiter: DefaultKeyedRateLimiter<K>,
}

impl<K: std::hash::Hash + Eq + Clone> KeyedRateLimiter<K> {
    pub(super) fn new(rate: Rate) -> Self {
        let gap = rate.per / rate.calls.get();
        let quota = Quota::with_period(gap.max(Duration::from_nanos(1)));
        let quota = quota.unwrap_or(Quota::per_second(rate.calls));
        Self {
            limiter: RateLimiter::keyed(quota.allow_burst(rate.calls)),
        }
    }

    /// Counts a request of `who`. At the limit, fails with the time until the next one is allowed.
    pub(super) fn take(&self, who: &K) -> Result<(), Duration> {
        if self.limiter.len() > MAX_RATE_KEYS {
            self.limiter.retain_recent();
        }
        self.limiter
            .check_key(who)
            .map_err(|until| until.wait_time_from(DefaultClock::default().now()))
    }
}

/// Wrong tokens by the address that they come from.
#[derive(Debug)]
pub(super) struct WrongTokens(KeyedRateLimiter<IpAddr>);

impl WrongTokens {
    pub(super) fn new() -> Self {
        Self(KeyedRateLimiter::new(WRONG_TOKEN_RATE))
    }

    pub(super) fn take(&self, from: IpAddr) -> Result<(), Duration> {
        self.0.take(&network_of(from))
    }
}

/// Returns the /64 network of an IPv6 address: its owner has all of it.
pub(super) fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}

/// The number of requests in progress of each client. Clones share the counts.
#[derive(Clone, Debug)]
pub(crate) struct InFlightRequests {
    limit: u32,
    counts: Arc<Mutex<HashMap<ClientId, u32>>>,
}

/// A request in progress, until it is dropped.
#[derive(Debug)]
#[must_use = "it counts as long as this is kept"]
pub(crate) struct InFlightPermit {
    client: ClientId,
    counts: Arc<Mutex<HashMap<ClientId, u32>>>,
}

impl InFlightRequests {
    pub(super) fn new(limit: u32) -> Self {
        let counts = Arc::default();
        Self { limit, counts }
    }

    /// Counts a request, or returns `None` at the limit.
    pub(crate) fn enter(&self, client: &ClientId) -> Option<InFlightPermit> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(client.clone()).or_default();
        if *count >= self.limit {
            return None;
        }
        *count += 1;
        Some(InFlightPermit {
            client: client.clone(),
            counts: Arc::clone(&self.counts),
        })
    }
}

impl Drop for InFlightPermit {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.client);
            }
        }
    }
}

/// The reason why a request is refused. It reveals nothing that the client does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The host name is not the server's own.
    Host,
    /// The origin is a web page that is not allowed.
    Origin,
    /// The request has no token. `challenge` may follow the scheme in `WWW-Authenticate`.
    NoToken { challenge: Arc<str> },
    /// The token is wrong.
    WrongToken { challenge: Arc<str> },
    /// The access token lacks a scope.
    Scope { challenge: Arc<str> },
    /// The address has shown too many wrong tokens.
    TooManyWrong { wait: Duration },
    /// The client's requests come too fast.
    TooFast { wait: Duration },
    /// The client has too many requests in flight.
    TooMany,
    /// The request is too large.
    TooLarge { limit: usize },
    /// The request did not arrive in time.
    TooSlow,
    /// The request broke off.
    Broken,
}

impl Refusal {
    /// Returns the reason as a keyword for metrics.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::NoToken { .. } => "no_token",
            Self::WrongToken { .. } => "wrong_token",
            Self::Scope { .. } => "scope",
            Self::TooManyWrong { .. } => "wrong_tokens",
            Self::TooFast { .. } => "rate",
            Self::TooMany => "under_way",
            Self::TooLarge { .. } => "size",
            Self::TooSlow => "time",
            Self::Broken => "broken",
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Host | Self::Origin | Self::Scope { .. } => StatusCode::FORBIDDEN,
            Self::NoToken { .. } | Self::WrongToken { .. } => StatusCode::UNAUTHORIZED,
            Self::TooManyWrong { .. } | Self::TooFast { .. } | Self::TooMany => {
                StatusCode::TOO_MANY_REQUESTS
            }
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Broken => StatusCode::BAD_REQUEST,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Host => "unknown host name".to_owned(),
            Self::Origin => "this web page may not send requests".to_owned(),
            Self::NoToken { .. } => "a token is needed".to_owned(),
            Self::WrongToken { .. } => "the token is not valid".to_owned(),
            Self::Scope { .. } => "the token lacks a scope".to_owned(),
            Self::TooManyWrong { .. } => "too many wrong tokens".to_owned(),
            Self::TooFast { .. } => "too many requests in a short time".to_owned(),
            Self::TooMany => "too many requests in flight".to_owned(),
            Self::TooLarge { limit } => format!("the request has more than {limit} bytes"),
            Self::TooSlow => "the request did not arrive in time".to_owned(),
            Self::Broken => "the request was interrupted".to_owned(),
        }
    }

    /// Returns the time after which another try is worthwhile.
    fn wait(&self) -> Option<Duration> {
        match self {
            Self::TooManyWrong { wait } | Self::TooFast { wait } => Some(*wait),
            Self::TooMany => Some(Duration::from_secs(1)),
            Self::Host
            | Self::Origin
            | Self::NoToken { .. }
            | Self::WrongToken { .. }
            | Self::Scope { .. }
            | Self::TooLarge { .. }
            | Self::TooSlow
            | Self::Broken => None,
        }
    }

    fn challenge(&self) -> Option<&str> {
        match self {
            Self::NoToken { challenge }
            | Self::WrongToken { challenge }
            | Self::Scope { challenge } => Some(challenge),
            Self::Host
            | Self::Origin
            | Self::TooManyWrong { .. }
            | Self::TooFast { .. }
            | Self::TooMany
            | Self::TooLarge { .. }
            | Self::TooSlow
            | Self::Broken => None,
        }
    }
}

impl IntoResponse for Refusal {
    /// Converts the refusal to a JSON-RPC error without a request id, because the request has not been read.
    fn into_response(self) -> Response {
        let wait = self.wait().map(|wait| wait.as_secs_f64().ceil().max(1.0));
        let mut error = json!({"code": -32000, "message": self.message()});
        if let Some(seconds) = wait {
            error["data"] = json!({"retryAfterSeconds": seconds});
        }
        let body = json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string();
        let kind = [(header::CONTENT_TYPE, "application/json")];
        let mut response = (self.status(), kind, body).into_response();
        let headers = response.headers_mut();
        if let Some(value) = wait.and_then(|wait| HeaderValue::from_str(&wait.to_string()).ok()) {
            headers.insert(header::RETRY_AFTER, value);
        }
        if let Some(challenge) = self.challenge()
            && let Ok(value) = HeaderValue::from_str(challenge)
        {
            headers.insert(header::WWW_AUTHENTICATE, value);
        }
        if matches!(self, Self::TooLarge { .. } | Self::TooSlow | Self::Broken) {
            // The rest of the request is not read.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response.extensions_mut().insert(Refused(self.reason()));
        response
    }
}

/// Marks a response as a refusal of this server, for metrics.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refused(pub(super) &'static str);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_by_client() {
        let in_flight = InFlightRequests::new(2);
        let (ada, bob) = (ClientId::new("ada"), ClientId::new("bob"));
        let first = in_flight.enter(&ada);
        let second = in_flight.enter(&ada);
        assert!(first.is_some() && second.is_some());
        assert!(in_flight.enter(&ada).is_none());
        assert!(in_flight.enter(&bob).is_some());
        drop(first);
        assert!(in_flight.enter(&ada).is_some());
        drop(second);
        assert!(in_flight.counts.lock().unwrap().is_empty());
    }

    #[test]
    fn paces_are_kept_by_each() {
        let rate = KeyedRateLimiter::new(Rate {
            calls: NonZeroU32::new(2).unwrap(),
            per: Duration::from_hours(1),
        });
        assert!(rate.take(&"ada").is_ok() && rate.take(&"ada").is_ok());
        let wait = rate.take(&"ada").unwrap_err();
        assert!(wait > Duration::from_mins(1), "{wait:?}");
        assert!(rate.take(&"bob").is_ok());
    }

    #[test]
    fn neighbours_count_together() {
        let same = |one: &str, other: &str| {
            network_of(one.parse().unwrap()) == network_of(other.parse().unwrap())
        };
        assert!(same("2001:db8::1", "2001:db8::ffff:2"));
        assert!(!same("2001:db8::1", "2001:db8:0:1::1"));
        assert!(same("::ffff:10.0.0.1", "10.0.0.1"));
        assert!(!same("10.0.0.1", "10.0.0.2"));
    }
}
