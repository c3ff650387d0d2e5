//! The edge, before a service that tells what reaches it.

mod access_tokens;
mod bounds;
mod connections;
mod hostile;
mod page;
mod strangers;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use http_body_util::BodyExt;
use planwright::config::{Config, ConfigSource, Origin, Serve};
use planwright::telemetry::Telemetry;
use planwright_mcp::gateway::ClientId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tower::service_fn;
use tower::util::BoxCloneSyncService;

use super::{HttpServer, HttpSettings};
use crate::tokens::TokenFile;

/// The timeout of each wait, ample for a busy machine.
const SOON: Duration = Duration::from_secs(30);

/// `[serve]` of one's own file.
fn serve(text: &str) -> Serve {
    let text = format!("[serve]\n{text}");
    let source = ConfigSource::read(Origin::User, "planwright.toml", &text).unwrap();
    Config::of([&source]).serve().clone()
}

fn settings(folder: &Path, listen: &str, text: &str) -> HttpSettings {
    HttpSettings {
        listen: listen.parse().unwrap(),
        tokens: tokens(folder),
        serve: serve(text),
        telemetry: Telemetry::off(),
        shared_store: None,
    }
}

fn tokens(folder: &Path) -> TokenFile {
    TokenFile::at(folder.join("tokens.json"))
}

/// A server that runs until it is shut down or dropped.
struct Server {
    address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    running: JoinHandle<()>,
    _folder: tempfile::TempDir,
    tokens: TokenFile,
}

impl Server {
    /// Starts a server on this machine, with a token for each of `clients`.
    async fn start(clients: &[&str], text: &str) -> (Self, Vec<String>) {
        Self::start_with(clients, text, async {}).await
    }

    async fn start_with(
        clients: &[&str],
        text: &str,
        drain: impl Future<Output = ()> + Send + 'static,
    ) -> (Self, Vec<String>) {
        Self::start_as(clients, text, drain, |edge| edge).await
    }

    async fn start_as(
        clients: &[&str],
        text: &str,
        drain: impl Future<Output = ()> + Send + 'static,
        change: impl FnOnce(HttpServer) -> HttpServer,
    ) -> (Self, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let tokens = tokens(folder.path());
        let made = clients.iter().map(|name| tokens.create(name).unwrap());
        let made = made.collect();
        let settings = settings(folder.path(), "127.0.0.1:0", text);
        let edge = change(HttpServer::bind(settings).await.unwrap());
        let address = edge.address().unwrap();
        let (end, ended) = oneshot::channel::<()>();
        let running = tokio::spawn(async move {
            let ended = async {
                let _ = ended.await;
            };
            let service = BoxCloneSyncService::new(service_fn(tell));
            edge.serve(service, Box::pin(ended), Box::pin(drain)).await;
        });
        let end = Some(end);
        let server = Self {
            address,
            end,
            running,
            _folder: folder,
            tokens,
        };
        (server, made)
    }

    /// Sends bytes, and gives back what comes until the server closes the connection.
    async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        // A server that has heard enough may close before all is sent.
        let _ = stream.write_all(bytes).await;
        read(stream).await
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends a request as MCP clients do, and returns the response.
    async fn post(&self, headers: &[&str], body: &str) -> String {
        self.raw(post(headers, body).as_bytes()).await
    }

    async fn get(&self, path: &str, headers: &[&str]) -> String {
        let headers = lines(headers);
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n");
        self.raw(request.as_bytes()).await
    }

    async fn end(mut self) {
        let _ = self.end.take().map(|end| end.send(()));
        tokio::time::timeout(SOON, &mut self.running)
            .await
            .expect("it ends")
            .unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.running.abort();
    }
}

fn lines(headers: &[&str]) -> String {
    headers.join("\r\n") + if headers.is_empty() { "" } else { "\r\n" }
}

fn post(headers: &[&str], body: &str) -> String {
    let names_host = headers.iter().any(|header| header.starts_with("host:"));
    let host = if names_host {
        ""
    } else {
        "host: localhost\r\n"
    };
    let (headers, length) = (lines(headers), body.len());
    format!(
        "POST /mcp HTTP/1.1\r\n{host}connection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
}

async fn read(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let loaded = stream.read_to_end(&mut answer);
    // A connection that the server resets has still said what it said.
    let _ = tokio::time::timeout(SOON, loaded)
        .await
        .expect("it answers or closes");
    String::from_utf8_lossy(&answer).into_owned()
}

/// Echoes the client of a request, whether its token came along, and its body. The body `hang` is never answered.
async fn tell(request: Request<Body>) -> Result<Response<Body>, Infallible> {
    let client = request.extensions().get::<ClientId>().cloned();
    let token = request.headers().contains_key("authorization");
    let body = request.into_body().collect().await.unwrap().to_bytes();
    if &*body == b"hang" {
        std::future::pending::<()>().await;
    }
    let client = client.map(|client| client.to_string()).unwrap_or_default();
    let text = format!("{client} {token} {}", String::from_utf8_lossy(&body));
    Ok(Response::new(Body::from(text)))
}

/// Checks the first line of an answer, and that it contains all of `parts`, in any case.
#[track_caller]
fn check(answer: &str, status: &str, parts: &[&str]) {
    let first = answer.lines().next().unwrap_or_default();
    assert_eq!(first, format!("HTTP/1.1 {status}"), "{answer}");
    for part in parts {
        assert!(answer.contains(part), "`{part}` in {answer}");
    }
}
