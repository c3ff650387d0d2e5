//! Runs that are handed over: calls in flight end, nothing new starts, the journal has no end, and another process gives the same outcome.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::check::CheckedPlan;
use planwright_core::{PlanDigest, Value};
use planwright_engine::backend::{Backends, ToolCall, ToolError, ToolOutput};
use planwright_engine::journal::{MemoryJournal, Record};
use planwright_engine::run::{History, replay};
use planwright_engine::{Engine, RunStatus, RunSummary, SpawnRequest, StepStatus, ToolBackend};

use crate::draining::{answer, header, mixed, outcomes};

/// The time that a call takes.
const CALL: Duration = Duration::from_millis(10);

/// A server that answers as that of the drained runs does, and lists its calls as they begin and as they end.
#[derive(Clone, Default)]
struct Listing {
    began: Arc<Mutex<Vec<String>>>,
    ended: Arc<Mutex<Vec<String>>>,
}

impl ToolBackend for Listing {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let key = format!(
            "{} {} {}",
            call.context.idempotency_key(),
            call.context.attempt,
            call.args.to_json()
        );
        self.began.lock().unwrap().push(key.clone());
        let this = self.clone();
        Box::pin(async move {
            tokio::time::sleep(CALL).await;
            this.ended.lock().unwrap().push(key);
            answer(&call)
        })
    }
}

impl Listing {
    /// The calls, but for the item that fails: a resumed run tries it again.
    fn sorted(&self) -> Vec<String> {
        let mut began = self.began.lock().unwrap().clone();
        began.retain(|key| !key.starts_with("r/each[1]"));
        began.sort();
        began
    }
}

/// Runs the plan after what the journal has, and hands it over after this time.
async fn process(
    plan: &CheckedPlan,
    server: &Listing,
    journal: &MemoryJournal,
    after: Option<(Duration, Duration)>,
) -> RunSummary {
    let mut request = SpawnRequest::new("r".parse().unwrap(), plan.clone())
        .with_journal(Arc::new(journal.clone()), Value::Null);
    let entries = journal.entries();
    if !entries.is_empty() {
        request = request.after(History::new(&entries));
    }
    let engine = Engine::new(Backends::new().with("s", server.clone()));
    let (handle, events) = engine.spawn(request);
    drop(events);
    if let Some((after, limit)) = after {
        tokio::time::sleep(after).await;
        // A second request can only shorten the time.
        handle.hand_over(limit);
        handle.hand_over(Duration::MAX);
    }
    handle.await
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_handed_over_at_any_time_gives_the_same_outcome_in_another_process() {
    let plan = mixed();
    let whole_server = Listing::default();
    let whole = process(&plan, &whole_server, &MemoryJournal::new(), None).await;
    assert_eq!(whole.status, RunStatus::Succeeded);
    let mut handed_over = 0;
    for after in (0..).map(|tick| CALL / 2 * tick) {
        let (server, journal) = (Listing::default(), MemoryJournal::new());
        let first = process(&plan, &server, &journal, Some((after, Duration::MAX))).await;
        let entries = journal.entries();
        let is_ended = entries
            .iter()
            .any(|entry| matches!(entry.record, Record::Ended { .. }));
        assert_eq!(is_ended, !first.is_handed_over, "after {after:?}");
        if !first.is_handed_over {
            assert_eq!(first.status, RunStatus::Succeeded);
            break;
        }
        handed_over += 1;
        // All calls in flight have ended, and the journal has their outcomes.
        let count = |wanted: fn(&Record) -> bool| {
            let found = entries.iter().filter(|entry| wanted(&entry.record));
            found.count()
        };
        let sent = count(|record| matches!(record, Record::Sent { .. }));
        let answered = count(|record| matches!(record, Record::Answered { .. }));
        assert_eq!(sent, answered, "after {after:?}: {entries:#?}");
        assert_eq!(server.began.lock().unwrap().len(), sent);
        assert_eq!(server.ended.lock().unwrap().len(), sent);
        let second = process(&plan, &server, &journal, None).await;
        assert_eq!(
            outcomes(&second.steps),
            outcomes(&whole.steps),
            "after {after:?}"
        );
        assert_eq!(
            server.sorted(),
            whole_server.sorted(),
            "each call happens once"
        );
        let opened = |_: &PlanDigest, _: &Value| Ok::<_, Infallible>(header(&plan));
        let replayed = replay(&"r".parse().unwrap(), &journal.entries(), opened);
        let replayed = replayed.unwrap_or_else(|error| panic!("after {after:?}: {error:#?}"));
        assert_eq!(replayed.processes, 2);
    }
    assert!(handed_over > 10, "{handed_over}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_dropped_and_in_doubt() {
    let plan = mixed();
    let (server, journal) = (Listing::default(), MemoryJournal::new());
    let first = process(&plan, &server, &journal, Some((CALL / 2, CALL / 4))).await;
    assert!(first.is_handed_over);
    assert!(server.ended.lock().unwrap().is_empty());
    let began = server.began.lock().unwrap().len();
    let second = process(&plan, &server, &journal, None).await;
    let unknown = second
        .steps
        .iter()
        .filter(|step| step.status == StepStatus::Unknown);
    assert!(unknown.count() > 0, "{:#?}", outcomes(&second.steps));
    assert!(began > 0);
}
