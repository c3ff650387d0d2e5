//! The journal of the store as a projection. A workflow that is executed again produces the same entries again; those that the store
//! has are skipped.

use std::time::{Duration, UNIX_EPOCH};

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{FuturesOrdered, StreamExt};
use planwright_core::CheckedPlan;
use planwright_engine::RunId;
use planwright_engine::journal::{Entry, Journal, JournalError, Record};
use planwright_store::{LeaseHolder, LeasedRun, NewRun, Store, StoreError};

use crate::calls::unix_time;
use crate::request::RunRequestV1;

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

/// The journal of one run.
#[derive(Debug)]
pub(crate) struct Projection {
    journal: LeasedRun,
    /// The number of the next entry.
    next: usize,
    turn: u64,
    /// True if the turn has records.
    has_records: bool,
    batch: Vec<Entry>,
    writes: FuturesOrdered<BoxFuture<'static, Result<(), JournalError>>>,
    /// The first error of a write. Later entries are not stored either.
    failure: Option<JournalError>,
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
        Ok(Self {
            journal: leased,
            next: 0,
            turn: 0,
            has_records: false,
            batch: Vec::new(),
            writes: FuturesOrdered::new(),
            failure: None,
        })
    }

    pub(crate) fn holder(&self) -> &LeaseHolder {
        self.journal.holder()
    }

    /// Returns true if the store had entries of an earlier execution.
    pub(crate) fn is_continued(&self) -> bool {
        0 < self.journal.entries()
    }

    /// Returns true if the store has all entries so far from an earlier execution.
    pub(crate) fn is_stored(&self) -> bool {
        self.next <= self.journal.entries()
    }

    pub(crate) fn add(&mut self, at: Duration, record: Record) {
        self.has_records = true;
        if self.journal.entries() <= self.next {
            self.batch.push(Entry {
                at,
                turn: self.turn,
                record,
            });
        }
        self.next += 1;
    }

    /// Ends the turn, and passes its entries to the store. Nothing waits for them: Restate has the inputs that they follow from.
    pub(crate) fn end_turn(&mut self) {
        if std::mem::take(&mut self.has_records) {
            self.turn += 1;
        }
        if !self.batch.is_empty() {
            let batch = std::mem::take(&mut self.batch);
            self.writes.push_back(self.journal.append(batch));
        }
        // The results are collected as they arrive, so that a long run does not accumulate them.
        while self.failure.is_none()
            && let Some(Some(written)) = self.writes.next().now_or_never()
        {
            self.failure = written.err();
        }
    }

    /// Waits until all entries are stored.
    pub(crate) async fn finish(mut self) -> Result<(), ProjectionError> {
        self.end_turn();
        if let Some(failure) = self.failure {
            return Err(failure.into());
        }
        while let Some(written) = self.writes.next().await {
            written?;
        }
        Ok(())
    }
}
