//! Malformed and malicious requests.

use proptest::prelude::*;
use tokio::runtime::Builder;

use super::*;

#[tokio::test]
async fn whatever_is_sent_it_goes_on() {
    let (server, _) = Server::start(&[], "max_body = '64KiB'").await;
    let endless_head = format!("GET / HTTP/1.1\r\n{}", "x: y\r\n".repeat(100_000));
    let long_line = format!(
        "GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "x".repeat(200_000)
    );
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\ncontent-length: 5\r\n\r\nhello",
        b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\nzz\r\n",
        endless_head.as_bytes(),
        long_line.as_bytes(),
    ] {
        let answer = server.raw(bytes).await;
        assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    check(
        &server.post(&[], "hello").await,
        "200 OK",
        &["local false hello"],
    );
    check(
        &server.get("/../../etc/passwd", &[]).await,
        "404 Not Found",
        &[],
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_bytes_get_past_it(start in 0_usize..4, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (server, _) = Server::start(&["ada"], "request_time = '2s'").await;
            let begin = [
                &b""[..],
                b"POST /mcp HTTP/1.1\r\nhost: localhost\r\n",
                b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ",
                b"GET /",
            ][start];
            let mut stream = server.connect().await;
            let _ = stream.write_all(&[begin, &bytes, b"\r\n\r\n"].concat()).await;
            let _ = stream.shutdown().await;
            let answer = read(stream).await;
            assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
            check(&server.get("/healthz", &[]).await, "200 OK", &["ok"]);
        });
    }
}
