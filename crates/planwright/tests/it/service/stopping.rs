//! Dropped runs and services leave no call and no process behind.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planwright::{Function, Functions, Planwright, ToolError, parse};
use planwright_testkit::fake_server::Recorder;
use serde_json::json;
use tokio::sync::Notify;

use super::support::fake;

const STUCK: &str = r#"{"steps": [{"id": "a", "tool": "stuck", "args": {}}]}"#;

/// A server with a tool that never answers, open.
async fn stuck_server(address: &str) -> Planwright {
    let script = json!({
        "record": address,
        "tools": [{"name": "stuck", "does": {"never": true}}],
    });
    let opened = Planwright::builder()
        .servers_json(fake(&script))
        .open()
        .await;
    opened.unwrap()
}

/// The notifications of a server, awaited outside of the runtime.
struct Watched {
    address: String,
    recorder: Arc<Mutex<Recorder>>,
}

impl Watched {
    fn new() -> Self {
        let recorder = Recorder::new();
        Self {
            address: recorder.address().to_owned(),
            recorder: Arc::new(Mutex::new(recorder)),
        }
    }

    async fn tells<T: Send + 'static>(
        &self,
        wait: impl FnOnce(&Recorder) -> T + Send + 'static,
    ) -> T {
        let recorder = Arc::clone(&self.recorder);
        let waiting = tokio::task::spawn_blocking(move || wait(&recorder.lock().unwrap()));
        waiting.await.unwrap()
    }
}

#[tokio::test]
async fn a_dropped_future_cancels_its_call() {
    let server = Watched::new();
    let planwright = stuck_server(&server.address).await;
    let plan = planwright.check(parse(STUCK)).unwrap();
    let run = planwright.run(plan).into_future();
    tokio::select! {
        _ = run => panic!("the tool has answered"),
        _ = server.tells(|recorder| recorder.message("tools/call")) => {}
    }
    server
        .tells(|recorder| recorder.message("notifications/cancelled"))
        .await;
    planwright.close().await;
    server.tells(Recorder::ended).await;
}

#[tokio::test]
async fn a_dropped_run_leaves_no_process() {
    let server = Watched::new();
    let planwright = stuck_server(&server.address).await;
    let plan = planwright.check(parse(STUCK)).unwrap();
    let run = planwright.start(plan).unwrap();
    // The run alone keeps the server.
    drop(planwright);
    server
        .tells(|recorder| recorder.message("tools/call"))
        .await;
    drop(run);
    server.tells(Recorder::ended).await;
}

#[tokio::test]
async fn a_dropped_opening_leaves_no_process() {
    let server = Watched::new();
    let script = json!({"record": server.address, "hang": true});
    let opening = Planwright::builder().servers_json(fake(&script)).open();
    tokio::select! {
        _ = opening => panic!("the server has answered"),
        _ = server.tells(Recorder::started) => {}
    }
    server.tells(Recorder::ended).await;
}

#[test]
fn a_runtime_that_ends_leaves_no_process() {
    let server = Watched::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let planwright = runtime.block_on(stuck_server(&server.address));
    let plan = planwright.check(parse(STUCK)).unwrap();
    let run = {
        let _inside = runtime.enter();
        planwright.start(plan).unwrap()
    };
    drop(runtime);
    drop((run, planwright));
    server.recorder.lock().unwrap().ended();
}

#[tokio::test]
async fn a_cancelled_run_drops_its_calls() {
    calls_are_gone_when_a_cancelled_run_is().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_run_drops_its_calls_on_other_threads() {
    calls_are_gone_when_a_cancelled_run_is().await;
}

async fn calls_are_gone_when_a_cancelled_run_is() {
    /// Reports when it is dropped: once the summary exists, or after a timeout.
    struct Guard {
        dropped: Arc<AtomicBool>,
        summary: Receiver<()>,
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            let _ = self.summary.recv_timeout(Duration::from_millis(200));
            self.dropped.store(true, Ordering::SeqCst);
        }
    }

    let dropped = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&dropped);
    let (is_there, summary) = channel();
    let inbox = Mutex::new(Some(summary));
    let begun = Arc::new(Notify::new());
    let tell = Arc::clone(&begun);
    let stuck = Function::new("stuck", move |(): ()| {
        let guard = Guard {
            dropped: Arc::clone(&seen),
            summary: inbox.lock().unwrap().take().unwrap(),
        };
        let tell = Arc::clone(&tell);
        async move {
            let _guard = guard;
            tell.notify_one();
            std::future::pending::<Result<(), ToolError>>().await
        }
    });
    let functions = Functions::new().with(stuck);
    let planwright = Planwright::builder()
        .functions(functions)
        .open()
        .await
        .unwrap();
    let run = planwright
        .start(planwright.check(parse(STUCK)).unwrap())
        .unwrap();
    begun.notified().await;
    run.cancel();
    let summary = run.await;
    assert_eq!(summary.status.as_str(), "cancelled");
    assert!(dropped.load(Ordering::SeqCst));
    drop(is_there);
}
