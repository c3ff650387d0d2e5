//! Authentication of clients.

use super::*;

#[tokio::test]
async fn without_tokens_all_local_processes_are_one_client() {
    let (server, _) = Server::start(&[], "").await;
    check(
        &server.post(&[], "hello").await,
        "200 OK",
        &["local false hello"],
    );
    let token = "authorization: Bearer whatever";
    check(
        &server.post(&[token], "hello").await,
        "200 OK",
        &["local false hello"],
    );
}

#[tokio::test]
async fn each_token_is_a_client_of_its_own() {
    let (server, tokens) = Server::start(&["ada", "bob"], "").await;
    for (token, name) in tokens.iter().zip(["ada", "bob"]) {
        let header = format!("Authorization: Bearer {token}");
        let expected = format!("token:{name} false hello");
        check(
            &server.post(&[&header], "hello").await,
            "200 OK",
            &[&expected],
        );
    }
}

#[tokio::test]
async fn strangers_learn_nothing() {
    let (server, tokens) = Server::start(&["ada"], "").await;
    let answer = server.post(&[], "hello").await;
    check(
        &answer,
        "401 Unauthorized",
        &["www-authenticate: Bearer\r\n", "a token is needed"],
    );
    let (token, other) = (&tokens[0], "x".repeat(68));
    let shorter = &token[..67];
    for wrong in [
        "Bearer",
        "Bearer ",
        &format!("Basic {token}"),
        &format!("Bearer {other}"),
        &format!("Bearer {shorter}"),
        &format!("Bearer {token} {token}"),
    ] {
        let header = format!("authorization: {wrong}");
        let answer = server.post(&[&header], "hello").await;
        check(&answer, "401 Unauthorized", &["www-authenticate: Bearer"]);
        assert!(
            !answer.contains("ada") && !answer.contains(&token[8..]),
            "{answer}"
        );
    }
    let header = format!("authorization: Bearer {token}");
    let twice = server.post(&[&header, &header], "hello").await;
    check(&twice, "401 Unauthorized", &[]);
    let metrics = server.get("/metrics", &[]).await;
    check(
        &metrics,
        "200 OK",
        &["planwright_http_refusals_total{reason=\"wrong_token\"} 3"],
    );
    assert!(!metrics.contains("ada"), "{metrics}");
}

#[tokio::test]
async fn a_token_that_is_taken_back_is_refused_at_once() {
    let (server, tokens) = Server::start(&["ada"], "").await;
    let header = format!("authorization: Bearer {}", tokens[0]);
    check(&server.post(&[&header], "hello").await, "200 OK", &[]);
    server.tokens.revoke("ada").unwrap();
    check(
        &server.post(&[&header], "hello").await,
        "401 Unauthorized",
        &["invalid_token"],
    );
    // All tokens are revoked, and requests are still refused.
    check(&server.post(&[], "hello").await, "401 Unauthorized", &[]);
}

#[tokio::test]
async fn guesses_are_limited_and_lock_no_client_out() {
    let (server, tokens) = Server::start(&["ada"], "").await;
    let mut limited = 0;
    for guess in 0..40 {
        let header = format!("authorization: Bearer pwt_{guess:064x}");
        let answer = server.post(&[&header], "hello").await;
        if answer.starts_with("HTTP/1.1 429") {
            limited += 1;
            check(
                &answer,
                "429 Too Many Requests",
                &["retry-after: ", "too many wrong tokens"],
            );
        } else {
            check(&answer, "401 Unauthorized", &[]);
        }
    }
    // A minute gives room for ten, and for those that were due since.
    assert!((20..=30).contains(&limited), "{limited}");
    let header = format!("authorization: Bearer {}", tokens[0]);
    check(&server.post(&[&header], "hello").await, "200 OK", &[]);
}

#[tokio::test]
async fn names_of_others_and_their_pages_are_refused() {
    let text = "hosts = ['plans.example.com']\norigins = ['https://chat.example.com']";
    let (server, _) = Server::start(&[], text).await;
    for (headers, status) in [
        (&["host: evil.example.com"][..], "403 Forbidden"),
        (&["host: localhost", "host: localhost"], "403 Forbidden"),
        (&["host: plans.example.com"], "200 OK"),
        (&["origin: https://evil.example.com"], "403 Forbidden"),
        (&["origin: null"], "403 Forbidden"),
        (&["origin: https://chat.example.com"], "200 OK"),
        (
            &[
                "origin: http://localhost:6274",
                "origin: https://evil.example.com",
            ],
            "403 Forbidden",
        ),
        (&["origin: http://localhost:6274"], "200 OK"),
    ] {
        check(&server.post(headers, "hello").await, status, &[]);
    }
    let absolute =
        "POST http://evil.example.com/mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    check(&server.raw(absolute.as_bytes()).await, "403 Forbidden", &[]);
    let figures = server
        .get("/metrics", &["origin: https://evil.example.com"])
        .await;
    check(&figures, "403 Forbidden", &[]);
    let no_host = "GET /metrics HTTP/1.1\r\nconnection: close\r\n\r\n";
    check(&server.raw(no_host.as_bytes()).await, "403 Forbidden", &[]);
}

#[tokio::test]
async fn a_port_that_others_reach_needs_tokens() {
    let folder = tempfile::tempdir().unwrap();
    for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let error = HttpServer::bind(settings(folder.path(), listen, ""))
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("other machines can reach `{listen}`, but no client has a token")
        );
    }
    tokens(folder.path()).create("ada").unwrap();
    HttpServer::bind(settings(folder.path(), "0.0.0.0:0", ""))
        .await
        .unwrap();
}

#[tokio::test]
async fn pages_of_origins_that_are_let_in_may_send_and_read() {
    let (server, tokens) =
        Server::start(&["ada"], "origins = [\"https://chat.example.com\"]").await;
    let origin = "origin: https://chat.example.com";
    let ask = |origin: &str| {
        format!(
            "OPTIONS /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{origin}\r\naccess-control-request-method: POST\r\naccess-control-request-headers: authorization,mcp-session-id\r\n\r\n"
        )
    };
    let shared = [
        "access-control-allow-origin: https://chat.example.com\r\n",
        "access-control-expose-headers: Mcp-Session-Id,",
        "vary: Origin\r\n",
    ];
    let answer = server.raw(ask(origin).as_bytes()).await;
    check(&answer, "204 No Content", &shared);
    let allowed = [
        "access-control-allow-methods: GET, POST, DELETE\r\n",
        "access-control-allow-headers: authorization,mcp-session-id\r\n",
    ];
    check(&answer, "204 No Content", &allowed);
    let token = format!("authorization: Bearer {}", tokens[0]);
    check(
        &server.post(&[origin, &token], "hello").await,
        "200 OK",
        &shared,
    );
    check(
        &server.post(&[origin], "hello").await,
        "401 Unauthorized",
        &shared,
    );
    let refused = server
        .raw(ask("origin: https://evil.example.com").as_bytes())
        .await;
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    assert!(!refused.contains("access-control"), "{refused}");
    let plain = server.post(&[&token], "hello").await;
    assert!(!plain.contains("access-control"), "{plain}");
}
