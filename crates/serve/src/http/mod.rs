//! The HTTP server of `serve`: access, limits, and shutdown. The only module that uses `axum`.
//!
//! A request passes, in this order: the number of connections, the time to send its head, `Host` and `Origin`, who it is, how
//! many that client has under way and how fast they come, its size. The rest is passed to the service.

mod access;
mod connections;
mod gate;
mod limits;
mod metrics;
mod origin;
mod refusal;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use axum::response::IntoResponse;
use planwright::config::Serve;
use planwright::telemetry::Telemetry;
use planwright_mcp::gateway::ClientId;
use tokio::net::TcpListener;
use tower::Service;

use planwright::terminal_text::io_reason;

use crate::error::ServeError;
use crate::tokens::{TokenCache, TokenFile};
use access::ClientAccess;
use gate::RequestGate;
use limits::HttpLimits;

pub use metrics::Metrics;
pub use origin::listen_address;

/// The address of a server, and its clients.
#[derive(Debug)]
pub struct HttpSettings {
    pub listen: SocketAddr,
    pub tokens: TokenFile,
    pub serve: Serve,
    /// Receives the metrics of the server.
    pub telemetry: Telemetry,
}

/// A server that has its port and has not begun to take requests.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    gate: Arc<RequestGate>,
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
            shutdown_time: limits.shutdown_time,
            connections: limits.connections,
            gate: Arc::new(RequestGate::new(listen, access, limits, &serve, telemetry)),
        })
    }

    /// Returns the address.
    pub fn address(&self) -> Result<SocketAddr, ServeError> {
        self.listener
            .local_addr()
            .map_err(|error| ServeError::new(format!("the port is gone: {}", io_reason(&error))))
    }

    /// Returns the metrics, for `/metrics`.
    pub fn metrics(&self) -> Metrics {
        self.gate.metrics.clone()
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
                for client in gate.access.revoked(&mut known).await {
                    end(client).await;
                }
            }
        }
    }

    /// Serves until `end`. Then nothing new is taken, `drain` suspends the work in flight, and once all is answered, or
    /// its time is over, the connections are closed.
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
        let routes = gate::routes(service, Arc::clone(&self.gate));
        let connections = connections::ConnectionServer {
            listener: self.listener,
            routes,
            most: self.connections,
            metrics: self.gate.metrics.clone(),
            head_time: self.gate.limits.request_time,
        };
        connections.serve(end, drain, self.shutdown_time).await;
    }
}

#[cfg(test)]
mod tests;
