//! The server with its port, and its connections: their number, their protection against slow and unadmitted clients, and their end.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::IntoResponse;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use planwright::config::Serve;
use planwright::telemetry::Telemetry;
use planwright::terminal_text::io_reason;
use planwright_mcp::gateway::ClientId;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::{Service, ServiceExt};

use super::gate::{ClientAccess, RequestGate};
use super::limits::{HttpLimits, network_of};
use super::metrics::Metrics;
use super::page::{PageRoutes, TokenClients};
use crate::tokens::ServeError;
use crate::tokens::{TokenCache, TokenFile};

/// The address of a server, and its clients.
#[derive(Debug)]
pub struct HttpSettings {
    pub listen: SocketAddr,
    pub tokens: TokenFile,
    pub serve: Serve,
    /// Receives the metrics of the server.
    pub telemetry: Telemetry,
}

/// A server with a bound port that does not accept requests yet.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    gate: Arc<RequestGate>,
    page: Option<PageRoutes>,
    shutdown_time: Duration,
    connections: u32,
}

impl HttpServer {
    /// Binds the port. It refuses one that other machines can reach if clients cannot be identified.
    pub async fn bind(settings: HttpSettings) -> Result<Self, ServeError> {
        let HttpSettings {
            listen,
            tokens,
            serve,
            telemetry,
        } = settings;
        let access = ClientAccess::new(listen, TokenCache::open(tokens)?)?;
        let limits = HttpLimits::of(&serve, access.is_open());
        let listener = TcpListener::bind(listen).await.map_err(|error| {
            let reason = io_reason(&error);
            ServeError::new(format!("cannot listen on `{listen}`: {reason}"))
                .hint("choose another port, or 0 for any that is free")
        })?;
        Ok(Self {
            listener,
            page: None,
            shutdown_time: limits.shutdown_time,
            connections: limits.connections,
            gate: Arc::new(RequestGate::new(listen, access, limits, &serve, telemetry)),
        })
    }

    /// Returns the address.
    pub fn address(&self) -> Result<SocketAddr, ServeError> {
        self.listener
            .local_addr()
            .map_err(|error| ServeError::new(format!("the listener failed: {}", io_reason(&error))))
    }

    /// Returns the metrics, for `/metrics`.
    pub fn metrics(&self) -> Metrics {
        self.gate.metrics.clone()
    }

    /// Serves the page of runs as well, at `/`.
    #[must_use]
    pub fn with_page(mut self, page: PageRoutes) -> Self {
        self.page = Some(page);
        self
    }

    /// Returns the clients; `None` if all processes of this machine count as one client.
    pub fn clients(&self) -> Option<TokenClients> {
        (!self.gate.access.is_open()).then(|| TokenClients(Arc::clone(&self.gate)))
    }

    /// Returns a function that is true for the host names of the server: its address and the configured names.
    pub fn host_rule(&self) -> Arc<dyn Fn(&str) -> bool + Send + Sync> {
        let gate = Arc::clone(&self.gate);
        Arc::new(move |host| gate.is_known_host(host))
    }

    /// Calls `end` for each client whose token is taken back, for as long as this is awaited.
    pub fn revocations<E, F>(&self, end: E) -> impl Future<Output = Infallible> + use<E, F>
    where
        E: Fn(ClientId) -> F,
        F: Future<Output = ()>,
    {
        let gate = Arc::clone(&self.gate);
        let mut known = None;
        async move {
            loop {
                for client in gate.access.wait_for_revocations(&mut known).await {
                    end(client).await;
                }
            }
        }
    }

    /// Serves until `end` completes. Then the server accepts no more requests, and `drain` suspends the work in flight. The
    /// connections are closed once all requests are answered, or the time for that is over.
    pub async fn serve<S>(
        self,
        service: S,
        end: impl Future<Output = ()>,
        drain: impl Future<Output = ()>,
    ) where
        S: Service<Request<Body>, Error = Infallible> + Clone + Send + Sync + 'static,
        S::Response: IntoResponse,
        S::Future: Send + 'static,
    {
        let routes = super::gate::routes(service, Arc::clone(&self.gate), self.page);
        let connections = ConnectionServer {
            listener: self.listener,
            routes,
            limit: self.connections,
            metrics: self.gate.metrics.clone(),
            head_time: self.gate.limits.request_time,
        };
        connections.serve(end, drain, self.shutdown_time).await;
    }
}

/// The maximum size of the head of a request, far above that of real clients.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The pause if the system cannot accept more connections.
const PAUSE: Duration = Duration::from_millis(100);

/// The response to a connection beyond the limit.
const FULL_RESPONSE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// A port, and its service.
#[derive(Debug)]
pub(super) struct ConnectionServer {
    pub(super) listener: TcpListener,
    pub(super) routes: Router,
    pub(super) limit: u32,
    pub(super) metrics: Metrics,
    /// The time limit for the head of a request, the first one or the next.
    pub(super) head_time: Duration,
}

impl ConnectionServer {
    /// Takes connections until `end`. Then idle ones are closed immediately, those with requests in flight once these are answered,
    /// and all of them when the time for that is over.
    pub(super) async fn serve(
        self,
        end: impl Future<Output = ()>,
        drain: impl Future<Output = ()>,
        drain_timeout: Duration,
    ) {
        let places = Arc::new(Semaphore::new(
            usize::try_from(self.limit).unwrap_or(usize::MAX),
        ));
        let newcomers = UnadmittedConnections::new(self.limit);
        let graceful = GracefulShutdown::new();
        let mut connections = JoinSet::new();
        tokio::pin!(end);
        loop {
            tokio::select! {
                () = &mut end => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, peer)) => match place(&places, &newcomers).await {
                        Some(place) => {
                            let newcomer = newcomers.enter(peer.ip());
                            let connection = self.connection(stream, Peer(peer.ip()), newcomer.clone());
                            let watched = graceful.watch(connection);
                            let open = self.metrics.track_connection();
                            let metrics = self.metrics.clone();
                            connections.spawn(async move {
                                tokio::select! {
                                    // Errors of a connection concern only its client.
                                    ended = watched => if let Err(error) = ended {
                                        tracing::debug!(%error, "a connection broke");
                                    },
                                    () = newcomer.wait_for_eviction() => metrics.record_refusal("newcomers"),
                                }
                                drop((place, open));
                            });
                        }
                        None => turn_away(stream, &self.metrics).await,
                    },
                    Err(error) => {
                        tracing::warn!(%error, "a connection cannot be accepted");
                        tokio::time::sleep(PAUSE).await;
                    }
                },
                Some(_) = connections.join_next() => {}
            }
        }
        drop(self.listener);
        // The server does not wait for clients without an authorised request.
        while newcomers.evict_oldest() {}
        let all_done = async { tokio::join!(drain, graceful.shutdown()) };
        if tokio::time::timeout(drain_timeout, all_done).await.is_err() {
            tracing::warn!("some requests did not end in time and are cancelled");
        }
        connections.shutdown().await;
    }

    fn connection(
        &self,
        stream: TcpStream,
        peer: Peer,
        newcomer: UnadmittedConnection,
    ) -> http1::Connection<
        TokioIo<TcpStream>,
        impl hyper::service::HttpService<Incoming, ResBody = Body, Error = Infallible, Future: Send>
        + use<>,
    > {
        // Small answers are sent at once.
        let _ = stream.set_nodelay(true);
        let routes = self.routes.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(newcomer.clone());
            routes.clone().oneshot(request)
        });
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.head_time)
            .max_buf_size(MAX_HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service)
    }
}

/// Returns a permit for one more connection. If there is none, an unauthorised connection is closed.
async fn place(
    places: &Arc<Semaphore>,
    newcomers: &UnadmittedConnections,
) -> Option<OwnedSemaphorePermit> {
    let free = Arc::clone(places).try_acquire_owned();
    if free.is_err() && newcomers.evict_oldest() {
        let freed = Arc::clone(places).acquire_owned();
        return tokio::time::timeout(PAUSE, freed).await.ok()?.ok();
    }
    free.ok()
}

/// Sends a 503 response to a client, without waiting for it to be read.
async fn turn_away(mut stream: TcpStream, metrics: &Metrics) {
    metrics.record_refusal("connections");
    let _ = tokio::time::timeout(PAUSE, stream.write_all(FULL_RESPONSE)).await;
}

/// The share of all connections that one address may have without an authorised request.
const CONNECTIONS_PER_SHARE: u32 = 8;

/// The minimum of that number: a client may open several connections at once.
const MIN_CONNECTIONS: usize = 4;

/// The connections without an authorised request, by address, the oldest first.
#[derive(Clone, Debug)]
pub(super) struct UnadmittedConnections {
    limit: usize,
    waiting: Arc<Mutex<HashMap<IpAddr, VecDeque<CancellationToken>>>>,
}

/// A connection without an authorised request, until it has one or is dropped.
#[derive(Clone, Debug)]
pub(super) struct UnadmittedConnection(Arc<UnadmittedEntry>);

#[derive(Debug)]
struct UnadmittedEntry {
    address: IpAddr,
    end: CancellationToken,
    newcomers: UnadmittedConnections,
}

impl UnadmittedConnections {
    /// Creates the list for a port that takes `connections`.
    pub(super) fn new(connections: u32) -> Self {
        Self {
            limit: usize::try_from(connections / CONNECTIONS_PER_SHARE)
                .map_or(usize::MAX, |limit| limit.max(MIN_CONNECTIONS)),
            waiting: Arc::default(),
        }
    }

    /// Adds a connection. If its address has too many, the oldest of them is closed.
    pub(super) fn enter(&self, address: IpAddr) -> UnadmittedConnection {
        let address = network_of(address);
        let end = CancellationToken::new();
        let mut waiting = self.lock();
        let of_address = waiting.entry(address).or_default();
        if of_address.len() >= self.limit
            && let Some(oldest) = of_address.pop_front()
        {
            oldest.cancel();
        }
        of_address.push_back(end.clone());
        drop(waiting);
        UnadmittedConnection(Arc::new(UnadmittedEntry {
            address,
            end,
            newcomers: self.clone(),
        }))
    }

    /// Closes the oldest connection of the address that has the most. Returns false if there was none.
    pub(super) fn evict_oldest(&self) -> bool {
        let mut waiting = self.lock();
        let limit = waiting
            .values_mut()
            .max_by_key(|of_address| of_address.len());
        let oldest = limit.and_then(VecDeque::pop_front);
        oldest.inspect(CancellationToken::cancel).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, VecDeque<CancellationToken>>> {
        // No code that may panic runs while the lock is held.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnadmittedConnection {
    /// Marks the connection as authorised, so that it is no longer closed in favour of others.
    pub(super) fn admit(&self) {
        self.0.leave();
    }

    /// Waits until the connection has to give way.
    pub(super) async fn wait_for_eviction(&self) {
        self.0.end.cancelled().await;
    }
}

impl UnadmittedEntry {
    fn leave(&self) {
        let mut waiting = self.newcomers.lock();
        if let Some(of_address) = waiting.get_mut(&self.address) {
            of_address.retain(|end| *end != self.end);
            if of_address.is_empty() {
                waiting.remove(&self.address);
            }
        }
    }
}

impl Drop for UnadmittedEntry {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The address of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) IpAddr);

#[cfg(test)]
mod tests {
    use super::{UnadmittedConnection, UnadmittedConnections};

    fn has_ended(newcomer: &UnadmittedConnection) -> bool {
        newcomer.0.end.is_cancelled()
    }

    #[test]
    fn the_oldest_of_an_address_gives_way() {
        let newcomers = UnadmittedConnections::new(16);
        let (here, there) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let known = newcomers.enter(here);
        let first = newcomers.enter(here);
        known.admit();
        let others = [here; 3].map(|here| newcomers.enter(here));
        let far = newcomers.enter(there);
        assert!(!has_ended(&known) && !has_ended(&first));
        let late = newcomers.enter(here);
        assert!(has_ended(&first) && !has_ended(&known) && !has_ended(&far));
        assert!(!others.iter().any(has_ended));
        assert!(newcomers.evict_oldest() && has_ended(&others[0]) && !has_ended(&far));
        drop((others, late, far));
        assert!(!newcomers.evict_oldest() && !has_ended(&known));
        assert!(newcomers.lock().is_empty());
    }
}
