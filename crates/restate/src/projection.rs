//! The journal of the store as a projection. A workflow that is executed again produces the same entries again; those that the store
//! has are skipped.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use planwright_core::CheckedPlan;
use planwright_engine::RunId;
use planwright_engine::journal::{Entry, Journal, JournalError, Record};
use planwright_store::{LeaseHolder, LeasedRun, NewRun, Store, StoreError};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

use crate::calls::unix_time;
use crate::request::RunRequestV1;

/// The time between two writes. A commit for each step would take a third of the machine from Restate, which has stored the step already;
/// this is how far the store, and all that read it, may lag.
const PAUSE: Duration = Duration::from_millis(20);

/// The reason why the journal cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProjectionError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the store has another run `{0}`")]
    OtherRun(RunId),
}

/// The journal of one run. If it is dropped before [`finish`](Self::finish), the entries so far are still written.
#[derive(Debug)]
pub(crate) struct Projection {
    /// The number of entries that the store had before.
    stored: usize,
    holder: LeaseHolder,
    /// The number of the next entry.
    next: usize,
    turn: u64,
    /// True if the turn has records.
    has_records: bool,
    batch: Vec<Entry>,
    queue: Queue,
    writer: JoinHandle<Result<(), JournalError>>,
}

/// The way to the task that writes.
#[derive(Debug)]
struct Queue {
    batches: mpsc::UnboundedSender<Vec<Entry>>,
    closing: Arc<Notify>,
}

impl Drop for Queue {
    /// Ends the pause of the writer, which writes the rest and ends.
    fn drop(&mut self) {
        self.closing.notify_one();
    }
}

/// Writes batches until the queue is closed and empty. After an error, later entries are not stored either.
async fn write(
    journal: LeasedRun,
    mut batches: mpsc::UnboundedReceiver<Vec<Entry>>,
    closing: Arc<Notify>,
) -> Result<(), JournalError> {
    while let Some(mut entries) = batches.recv().await {
        while let Ok(more) = batches.try_recv() {
            entries.extend(more);
        }
        journal.append(entries).await?;
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = closing.notified() => {}
        }
    }
    Ok(())
}

impl Projection {
    /// Leases the run in the store, or creates it there.
    pub(crate) fn open(
        store: &Store,
        id: &RunId,
        request: &RunRequestV1,
        plan: &CheckedPlan,
    ) -> Result<Self, ProjectionError> {
        let holder = LeaseHolder::this_process("", UNIX_EPOCH + unix_time());
        let header = request.run.to_value();
        let leased = match store.lease_run(id.as_str(), &holder) {
            Ok(leased) if leased.id() == id => {
                if store.header(id.as_str())? != header {
                    return Err(ProjectionError::OtherRun(id.clone()));
                }
                leased
            }
            // A store accepts the beginning of an id, which is only for people.
            Ok(_) | Err(StoreError::Missing { .. }) => {
                let new = NewRun {
                    id: id.clone(),
                    plan: plan.plan().name.as_deref().map(str::to_owned),
                    digest: plan.digest().clone(),
                    dialect: Some(request.run.plan.dialect.clone()),
                    steps: plan.steps().len(),
                    created: UNIX_EPOCH + Duration::from_millis(request.process.began_unix_ms),
                    header,
                };
                store.create_run(new, &holder)?
            }
            Err(error) => return Err(error.into()),
        };
        let (batches, queued) = mpsc::unbounded_channel();
        let closing = Arc::new(Notify::new());
        Ok(Self {
            stored: leased.entries(),
            holder: leased.holder().clone(),
            next: 0,
            turn: 0,
            has_records: false,
            batch: Vec::new(),
            writer: tokio::spawn(write(leased, queued, Arc::clone(&closing))),
            queue: Queue { batches, closing },
        })
    }

    pub(crate) fn holder(&self) -> &LeaseHolder {
        &self.holder
    }

    /// Returns true if the store had entries of an earlier execution.
    pub(crate) fn is_continued(&self) -> bool {
        0 < self.stored
    }

    /// Returns true if the store has all entries so far from an earlier execution.
    pub(crate) fn is_stored(&self) -> bool {
        self.next <= self.stored
    }

    pub(crate) fn add(&mut self, at: Duration, record: Record) {
        self.has_records = true;
        if self.stored <= self.next {
            self.batch.push(Entry {
                at,
                turn: self.turn,
                record,
            });
        }
        self.next += 1;
    }

    /// Ends the turn, and passes its entries on. Nothing waits for them: Restate has the inputs that they follow from.
    pub(crate) fn end_turn(&mut self) {
        if std::mem::take(&mut self.has_records) {
            self.turn += 1;
        }
        if !self.batch.is_empty() {
            // A writer that has failed takes no more; `finish` returns its error.
            let _ = self.queue.batches.send(std::mem::take(&mut self.batch));
        }
    }

    /// Waits until all entries are stored.
    pub(crate) async fn finish(mut self) -> Result<(), ProjectionError> {
        self.end_turn();
        drop(self.queue);
        match self.writer.await {
            Ok(written) => Ok(written?),
            Err(stopped) => {
                Err(JournalError::new(format!("the writer has stopped: {stopped}")).into())
            }
        }
    }
}
