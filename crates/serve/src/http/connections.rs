//! Connections: how many there are, how long a head may take, and how they end.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tower::ServiceExt;

use super::gate::Peer;
use super::metrics::Metrics;
use super::unadmitted::{UnadmittedConnection, UnadmittedConnections};

/// The longest head of a request. No client of ours comes near it.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The pause if the system has no more room for connections.
const PAUSE: Duration = Duration::from_millis(100);

/// The response to a connection beyond the limit.
const FULL_RESPONSE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// A port, and what is behind it.
#[derive(Debug)]
pub(super) struct ConnectionServer {
    pub(super) listener: TcpListener,
    pub(super) routes: Router,
    pub(super) most: u32,
    pub(super) metrics: Metrics,
    /// The time limit for the head of a request, the first one or the next.
    pub(super) head_time: Duration,
}

impl ConnectionServer {
    /// Takes connections until `end`. Then those that are idle are closed at once, those with something under way when it
    /// is answered, and all of them when the time for that is over.
    pub(super) async fn serve(
        self,
        end: impl Future<Output = ()>,
        drain: impl Future<Output = ()>,
        drain_timeout: Duration,
    ) {
        let places = Arc::new(Semaphore::new(
            usize::try_from(self.most).unwrap_or(usize::MAX),
        ));
        let newcomers = UnadmittedConnections::new(self.most);
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
                            let open = self.metrics.connected();
                            let metrics = self.metrics.clone();
                            connections.spawn(async move {
                                tokio::select! {
                                    // What goes wrong with a connection is its client's affair.
                                    ended = watched => if let Err(error) = ended {
                                        tracing::debug!(%error, "a connection broke");
                                    },
                                    () = newcomer.evicted() => metrics.refused("newcomers"),
                                }
                                drop((place, open));
                            });
                        }
                        None => turn_away(stream, &self.metrics).await,
                    },
                    Err(error) => {
                        tracing::warn!(%error, "a connection cannot be taken");
                        tokio::time::sleep(PAUSE).await;
                    }
                },
                Some(_) = connections.join_next() => {}
            }
        }
        drop(self.listener);
        // Clients that have not been authorised by now are not waited for.
        while newcomers.evict_oldest() {}
        let all_done = async { tokio::join!(drain, graceful.shutdown()) };
        if tokio::time::timeout(drain_timeout, all_done).await.is_err() {
            tracing::warn!("some requests were not answered in time, and are given up");
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

/// Returns a place for one more connection. If there is none, an unauthorised connection is closed.
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

/// Tells a client that there is no room, without waiting for it.
async fn turn_away(mut stream: TcpStream, metrics: &Metrics) {
    metrics.refused("connections");
    let _ = tokio::time::timeout(PAUSE, stream.write_all(FULL_RESPONSE)).await;
}
