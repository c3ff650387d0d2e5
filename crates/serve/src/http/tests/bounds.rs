//! Limits of size, number and rate.

use super::*;

#[tokio::test]
async fn large_requests_are_refused() {
    let (server, _) = Server::start(&[], "max_body = 1000").await;
    check(&server.post(&[], &"x".repeat(1000)).await, "200 OK", &[]);
    let answer = server.post(&[], &"x".repeat(1001)).await;
    check(&answer, "413 Payload Too Large", &["more than 1000 bytes"]);
    // One that says it is endless is refused before it is read; one that does not say, when it has come to too much.
    let endless = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999\r\n\r\n";
    check(
        &server.raw(endless.as_bytes()).await,
        "413 Payload Too Large",
        &[],
    );
    let chunks = format!("{:x}\r\n{}\r\n", 900, "x".repeat(900)).repeat(2);
    let chunked = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n{chunks}"
    );
    check(
        &server.raw(chunked.as_bytes()).await,
        "413 Payload Too Large",
        &[],
    );
}

#[tokio::test]
async fn slow_clients_are_let_go() {
    let (server, _) = Server::start(&[], "request_time = '100ms'").await;
    assert_eq!(
        server.raw(b"").await,
        "",
        "a connection that says nothing is closed"
    );
    let head = server.raw(b"POST /mcp HTTP/1.1\r\nhost: local").await;
    assert!(!head.contains("200"), "{head}");
    let body = server
        .raw(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\nhel")
        .await;
    check(&body, "408 Request Timeout", &["did not arrive in time"]);
    let idle = server
        .raw(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\nhello")
        .await;
    check(&idle, "200 OK", &["hello"]);
}

#[tokio::test]
async fn each_client_has_so_many_requests_under_way() {
    let (server, tokens) = Server::start(&["ada", "bob"], "max_requests = 2").await;
    let headers: Vec<String> = tokens
        .iter()
        .map(|token| format!("authorization: Bearer {token}"))
        .collect();
    let ada = &headers[0];
    let mut hanging = Vec::new();
    for _ in 0..2 {
        let mut stream = server.connect().await;
        stream
            .write_all(post(&[ada], "hang").as_bytes())
            .await
            .unwrap();
        hanging.push(stream);
    }
    figure(&server, "planwright_http_requests_in_flight 2").await;
    let answer = server.post(&[ada], "hello").await;
    check(
        &answer,
        "429 Too Many Requests",
        &["retry-after: 1", "too many requests in flight"],
    );
    check(&server.post(&[&headers[1]], "hello").await, "200 OK", &[]);
    // A client that disconnects frees its slot.
    drop(hanging);
    figure(&server, "planwright_http_requests_in_flight 0").await;
    check(&server.post(&[ada], "hello").await, "200 OK", &[]);
}

#[tokio::test]
async fn each_client_has_its_pace() {
    let (server, tokens) = Server::start(&["ada", "bob"], "rate = '3/h'").await;
    let headers: Vec<String> = tokens
        .iter()
        .map(|token| format!("authorization: Bearer {token}"))
        .collect();
    for _ in 0..3 {
        check(&server.post(&[&headers[0]], "hello").await, "200 OK", &[]);
    }
    let answer = server.post(&[&headers[0]], "hello").await;
    check(
        &answer,
        "429 Too Many Requests",
        &["retry-after: 1", "\"retryAfterSeconds\":1"],
    );
    check(&server.post(&[&headers[1]], "hello").await, "200 OK", &[]);
}

#[tokio::test]
async fn there_are_so_many_connections() {
    let (server, _) = Server::start(&[], "max_connections = 3").await;
    let mut busy = Vec::new();
    for _ in 0..3 {
        busy.push(admit(&server).await);
    }
    let answer = server.get("/healthz", &[]).await;
    check(&answer, "503 Service Unavailable", &["retry-after: 1"]);
    busy.clear();
    loop {
        if server
            .get("/healthz", &[])
            .await
            .starts_with("HTTP/1.1 200")
        {
            break;
        }
    }
}

#[tokio::test]
async fn refused_clients_do_not_lock_others_out() {
    let (server, tokens) = Server::start(&["ada"], "max_connections = 16").await;
    let mut slow = Vec::new();
    for _ in 0..100 {
        let mut stream = server.connect().await;
        // The server may have closed it already.
        let _ = stream
            .write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\n")
            .await;
        slow.push(stream);
    }
    check(&server.get("/healthz", &[]).await, "200 OK", &["ok"]);
    let token = format!("authorization: Bearer {}", tokens[0]);
    check(
        &server.post(&[&token], "hello").await,
        "200 OK",
        &["token:ada"],
    );
    let mut known = server.connect().await;
    let first = post(&[&token], "hang");
    known.write_all(first.as_bytes()).await.unwrap();
    // An accepted connection stays open, however many others arrive.
    figure(&server, "planwright_http_requests_in_flight 1").await;
    for _ in 0..100 {
        slow.push(server.connect().await);
    }
    check(&server.get("/healthz", &[]).await, "200 OK", &["ok"]);
    figure(&server, "planwright_http_requests_in_flight 1").await;
}

/// Returns a connection that stays open because a request on it was admitted.
async fn admit(server: &Server) -> TcpStream {
    let mut stream = server.connect().await;
    let request = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\nhello";
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"hello") {
        let read = tokio::time::timeout(SOON, stream.read_buf(&mut answer)).await;
        assert_ne!(read.expect("an answer").unwrap(), 0, "it is closed");
    }
    stream
}

/// Waits until a line stands in the figures.
async fn figure(server: &Server, line: &str) {
    let waiting = async {
        loop {
            let figures = server.get("/metrics", &[]).await;
            if figures.lines().any(|found| found == line) {
                return;
            }
        }
    };
    tokio::time::timeout(SOON, waiting).await.expect(line);
}
