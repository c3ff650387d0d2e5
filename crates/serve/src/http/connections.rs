//! The server with its port, and its connections: their number, their protection against slow and unadmitted clients, and their end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::{IntoResponse, Response};
use futures::future::BoxFuture;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use planwright::config::Serve;
use planwright::telemetry::Telemetry;
use planwright::terminal_text::io_reason;
use planwright_mcp::gateway::{ClientId, HttpService};
use planwright_store::Store;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;

use super::access::ClientAccess;
use super::gate::{RequestGate, routes};
use super::health::HealthNote;
use super::limits::HttpLimits;
use super::metrics::Metrics;
use super::page::{PageRoutes, TokenClients};
use super::unadmitted::{Peer, UnadmittedConnection, UnadmittedConnections};
use crate::access::access_token::AccessTokens;
use crate::tokens::{ServeError, TokenCache, TokenFile};

/// The address of a server, and its clients.
#[derive(Debug)]
pub struct HttpSettings {
    pub listen: SocketAddr,
    pub tokens: TokenFile,
    pub serve: Serve,
    /// Receives the metrics of the server.
    pub telemetry: Telemetry,
    /// The store that this gateway shares with others. The rates of clients hold over all of them.
    pub shared_store: Option<Store>,
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
            shared_store,
        } = settings;
        let access_tokens = serve.oauth.as_ref().map(AccessTokens::new).transpose()?;
        let access = ClientAccess::new(listen, TokenCache::open(tokens)?, access_tokens)?;
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
            gate: Arc::new(RequestGate::new(
                listen,
                access,
                limits,
                &serve,
                (telemetry, shared_store),
            )),
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

    /// Returns the note that health checks show.
    pub fn health_note(&self) -> HealthNote {
        self.gate.note.clone()
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
    ///
    /// The futures have no types of their own, so that the code of requests is generated and optimized in this crate, and not in the
    /// program's.
    pub fn serve<'a>(
        self,
        service: McpService,
        end: BoxFuture<'a, ()>,
        drain: BoxFuture<'a, ()>,
    ) -> BoxFuture<'a, ()> {
        let page = self
            .page
            .map(|page| page.limited_by(Arc::clone(&self.gate)));
        let routes = routes(service, Arc::clone(&self.gate), page.unwrap_or_default());
        let connections = ConnectionServer {
            listener: self.listener,
            routes,
            limit: self.connections,
            metrics: self.gate.metrics.clone(),
            head_time: self.gate.limits.request_time,
        };
        Box::pin(connections.serve(end, drain, self.shutdown_time))
    }
}

/// A service that answers the requests of MCP clients.
pub type McpService = BoxCloneSyncService<Request<Body>, Response, Infallible>;

/// Makes the service of a gateway.
pub fn mcp_service(gateway: HttpService) -> McpService {
    BoxCloneSyncService::new(ServiceExt::<Request<Body>>::map_response(
        gateway,
        IntoResponse::into_response,
    ))
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
