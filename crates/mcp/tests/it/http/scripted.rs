//! An HTTP server that answers as a test specifies.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use planwright_mcp::{HttpConfig, ServerConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// A received request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) headers: HashMap<String, String>,
    pub(super) body: Value,
}

/// A response: status, headers and body. The connection is closed after it.
#[derive(Debug)]
pub(super) struct Answer(
    pub(super) &'static str,
    pub(super) &'static [(&'static str, &'static str)],
    pub(super) String,
);

/// The place in a body at which the server pauses until [`Scripted::resume`].
pub(super) const PAUSE: &str = "\u{1}";

/// The server and its received requests.
pub(super) struct Scripted {
    pub(super) url: String,
    pub(super) requests: Arc<Mutex<Vec<Request>>>,
    resumed: Arc<Notify>,
}

impl Request {
    /// Returns the method of MCP, or else that of HTTP.
    pub(super) fn what(&self) -> &str {
        self.body["method"].as_str().unwrap_or(&self.method)
    }

    /// Returns the response with this result.
    pub(super) fn result(&self, result: Value) -> Answer {
        let message = json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result});
        Answer(
            "200 OK",
            &[("content-type", "application/json")],
            message.to_string(),
        )
    }
}

impl Scripted {
    /// Starts the server. It answers requests that `answer` does not handle like a server of 2025-11-25 with one tool.
    pub(super) async fn start(
        answer: impl Fn(&Request) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp?key=k-123456", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let seen = Arc::clone(&requests);
        let answer = Arc::new(answer);
        let resumed: Arc<Notify> = Arc::default();
        let pauses = Arc::clone(&resumed);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
                tokio::spawn(serve(stream, answer, seen, Arc::clone(&pauses)));
            }
        });
        Self {
            url,
            requests,
            resumed,
        }
    }

    /// Continues the body that is, or will be, at a pause.
    pub(super) fn resume(&self) {
        self.resumed.notify_one();
    }

    /// Returns the methods of the received requests.
    pub(super) fn asked(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests
            .iter()
            .map(|request| request.what().to_owned())
            .collect()
    }

    pub(super) fn config(&self, headers: &[(&str, &str)]) -> ServerConfig {
        let headers = headers.iter();
        let http = HttpConfig {
            url: self.url.clone(),
            headers: headers
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..HttpConfig::default()
        };
        ServerConfig::http("far", http)
    }
}

async fn serve(
    mut stream: TcpStream,
    answer: Arc<impl Fn(&Request) -> Option<Answer>>,
    seen: Arc<Mutex<Vec<Request>>>,
    resumed: Arc<Notify>,
) {
    let Some(request) = read(&mut stream).await else {
        return;
    };
    seen.lock().unwrap().push(request.clone());
    let Answer(status, headers, body) =
        answer(&request).unwrap_or_else(|| answer_by_default(&request));
    let mut head = format!("HTTP/1.1 {status}\r\nconnection: close\r\n");
    for (name, value) in headers {
        head = format!("{head}{name}: {value}\r\n");
    }
    let answer = format!("{head}\r\n{body}");
    for (index, part) in answer.split(PAUSE).enumerate() {
        if index > 0 {
            resumed.notified().await;
        }
        // The client may have disconnected.
        let _ = stream.write_all(part.as_bytes()).await;
    }
    let _ = stream.shutdown().await;
}

fn answer_by_default(request: &Request) -> Answer {
    match request.what() {
        "initialize" => {
            let answer = request.result(json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "scripted", "version": "1"},
            }));
            Answer(
                answer.0,
                &[
                    ("content-type", "application/json"),
                    ("mcp-session-id", "first"),
                ],
                answer.2,
            )
        }
        "tools/list" => request.result(json!({"tools": [{"name": "echo", "inputSchema": {}}]})),
        "tools/call" => request.result(json!({"content": [{"type": "text", "text": "done"}]})),
        "GET" => Answer("405 Method Not Allowed", &[], String::new()),
        "server/discover" => Answer("400 Bad Request", &[], "no session".to_owned()),
        _ => Answer("202 Accepted", &[], String::new()),
    }
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let end = loop {
        let length = stream
            .read(&mut piece)
            .await
            .ok()
            .filter(|length| *length > 0)?;
        bytes.extend_from_slice(&piece[..length]);
        if let Some(end) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let method = lines.next()?.split(' ').next()?.to_owned();
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    while bytes.len() < end + length {
        let length = stream
            .read(&mut piece)
            .await
            .ok()
            .filter(|length| *length > 0)?;
        bytes.extend_from_slice(&piece[..length]);
    }
    let body = serde_json::from_slice(&bytes[end..]).unwrap_or_default();
    Some(Request {
        method,
        headers,
        body,
    })
}
