//! Metrics, health and shutdown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use planwright::engine::{RunEvent, RunStatus, StampedEvent};

use super::super::metrics::Metrics;
use super::*;

#[tokio::test]
async fn it_tells_that_it_is_well() {
    let (server, _) = Server::start(&["ada"], "").await;
    let answer = server
        .get("/healthz", &["host: whatever.example.com"])
        .await;
    check(
        &answer,
        "200 OK",
        &["\r\n\r\nok\n", "cache-control: no-store"],
    );
    check(
        &server.get("/mcp/elsewhere", &[]).await,
        "404 Not Found",
        &[],
    );
}

#[test]
fn plans_are_counted() {
    let metrics = Metrics::new(Telemetry::off());
    let mut one = metrics.run();
    let other = metrics.run();
    one.event(&StampedEvent {
        at: Duration::from_millis(30),
        event: RunEvent::RunEnded {
            status: RunStatus::Succeeded,
        },
    });
    drop(one);
    let text = metrics.text().unwrap();
    for line in [
        "planwright_plans_in_progress 1",
        "planwright_plans_total{status=\"succeeded\"} 1",
        "planwright_plan_seconds_count 1",
        "planwright_plan_seconds_bucket{le=\"0.1\"} 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
    drop(other);
    assert!(
        metrics
            .text()
            .unwrap()
            .contains("planwright_plans_in_progress 0")
    );
}

#[tokio::test]
async fn what_is_under_way_is_put_away_before_it_ends() {
    let was_put_away = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&was_put_away);
    let drain = async move { flag.store(true, Ordering::SeqCst) };
    let (server, _) = Server::start_with(&[], "shutdown_time = '200ms'", drain).await;
    let mut hanging = server.connect().await;
    hanging
        .write_all(post(&[], "hang").as_bytes())
        .await
        .unwrap();
    let idle = server.connect().await;
    let address = server.address;
    server.end().await;
    assert!(was_put_away.load(Ordering::SeqCst));
    assert_eq!(read(hanging).await, "", "it was given up");
    assert_eq!(read(idle).await, "");
    assert!(TcpStream::connect(address).await.is_err());
}
