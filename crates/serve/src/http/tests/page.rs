//! The page of runs on the server's own port, before a page that tells what reaches it. A session is the header `cookie: NAME`.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};

use super::*;
use crate::http::PageRoutes;

/// Takes the token `right`.
async fn log_in(body: String) -> StatusCode {
    if body.contains("right") {
        StatusCode::OK
    } else {
        StatusCode::UNAUTHORIZED
    }
}

async fn start(clients: &[&str], text: &str) -> (Server, Vec<String>) {
    let router = Router::new()
        .route("/", get(async || "the page"))
        .route("/api/runs", get(async || "runs"))
        .route("/api/decisions", post(async |body: String| body))
        .route("/api/session", post(log_in));
    let page = PageRoutes {
        router,
        client: Arc::new(|headers: &HeaderMap| {
            let name = headers.get("cookie")?.to_str().ok()?;
            Some(ClientId::new(name))
        }),
    };
    Server::start_as(clients, text, async {}, |edge| edge.with_page(page)).await
}

fn write(path: &str, headers: &[&str], body: &str) -> String {
    let (headers, length) = (lines(headers), body.len());
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
}

#[tokio::test]
async fn without_a_page_there_is_none() {
    let (server, _) = Server::start(&[], "").await;
    check(&server.get("/", &[]).await, "404 Not Found", &[]);
    check(&server.get("/api/runs", &[]).await, "404 Not Found", &[]);
}

#[tokio::test]
async fn the_page_is_beside_the_service() {
    let (server, tokens) = start(&["ada"], "").await;
    check(
        &server.get("/", &[]).await,
        "200 OK",
        &["the page", "nosniff"],
    );
    let token = format!("authorization: Bearer {}", tokens[0]);
    check(
        &server.post(&[&token], "hello").await,
        "200 OK",
        &["token:ada"],
    );
    // A session of the page is none of the service.
    let cookie = server.post(&["cookie: token:ada"], "hello").await;
    check(&cookie, "401 Unauthorized", &[]);
}

#[tokio::test]
async fn no_other_origin_reads_the_page() {
    let text = "origins = [\"https://chat.example.com\"]";
    let (server, _) = start(&["ada"], text).await;
    let origin = "origin: https://chat.example.com";
    let headers = [origin, "cookie: token:ada"];
    let read = server.get("/api/runs", &headers).await;
    assert!(!read.contains("access-control"), "{read}");
    let ask = "OPTIONS /api/runs HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\norigin: https://chat.example.com\r\naccess-control-request-method: POST\r\n\r\n";
    let answer = server.raw(ask.as_bytes()).await;
    check(&answer, "405 Method Not Allowed", &[]);
    assert!(!answer.contains("access-control"), "{answer}");
}

#[tokio::test]
async fn a_session_has_the_limits_of_its_client() {
    let (server, _) = start(&["ada", "bob"], "rate = '2/h'\nmax_body = '1kB'").await;
    let (ada, bob) = (["cookie: token:ada"], ["cookie: token:bob"]);
    let large = write("/api/decisions", &ada, &"x".repeat(2000));
    check(
        &server.raw(large.as_bytes()).await,
        "413 Payload Too Large",
        &[],
    );
    check(&server.get("/api/runs", &ada).await, "200 OK", &["runs"]);
    check(
        &server.get("/api/runs", &ada).await,
        "429 Too Many Requests",
        &["retry-after: "],
    );
    check(&server.get("/api/runs", &bob).await, "200 OK", &[]);
    let metrics = server.get("/metrics", &[]).await;
    let refused = "planwright_http_refusals_total{reason=\"rate\"} 1";
    check(&metrics, "200 OK", &[refused]);
}

#[tokio::test]
async fn strangers_are_limited_by_their_address() {
    let (server, _) = start(&["ada"], "").await;
    let mut refused = Vec::new();
    for _ in 0..30 {
        let login = write("/api/session", &[], "{\"token\": \"wrong\"}");
        let answer = server.raw(login.as_bytes()).await;
        if answer.starts_with("HTTP/1.1 429") {
            refused.push(answer);
        } else {
            check(&answer, "401 Unauthorized", &[]);
        }
    }
    // A minute gives room for ten, and for those that were due since.
    assert!((10..=20).contains(&refused.len()), "{}", refused.len());
    check(
        &refused[0],
        "429 Too Many Requests",
        &["too many wrong tokens"],
    );
    let mut limited = false;
    for _ in 0..100 {
        let answer = server.get("/api/runs", &[]).await;
        limited |= answer.starts_with("HTTP/1.1 429");
    }
    assert!(limited);
    // A client with a session is not locked out.
    let own = server.get("/api/runs", &["cookie: token:ada"]).await;
    check(&own, "200 OK", &[]);
}

#[tokio::test]
async fn a_stranger_locks_no_client_of_its_address_out() {
    let (server, _) = start(&["ada"], "").await;
    for _ in 0..100 {
        server.get("/", &[]).await;
        server.get("/api/runs", &[]).await;
        let login = write("/api/session", &[], "{\"token\": \"wrong\"}");
        server.raw(login.as_bytes()).await;
    }
    check(&server.get("/", &[]).await, "200 OK", &["the page"]);
    let login = write("/api/session", &[], "{\"token\": \"right\"}");
    check(&server.raw(login.as_bytes()).await, "200 OK", &[]);
}
