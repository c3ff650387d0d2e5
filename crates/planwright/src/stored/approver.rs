//! Decisions that any process has stored about the calls of a run.

use std::fmt;
use std::sync::{Arc, OnceLock};

use futures::future::{BoxFuture, pending};
use planwright_engine::Decision;
use planwright_engine::approval::{ApprovalRequest, Approver};
use planwright_store::{Store, StoreError};
use tokio::sync::watch;

/// Decides by what the store holds about the calls of one run: the decision about just this call that the run has not used. Calls without
/// one are left to [another approver](Self::or), or put off.
///
/// Decisions that the journal of the run has taken in are [forgotten](Store::delete_used_decisions) when it is opened, so each counts once.
pub struct StoreApprover {
    store: Store,
    run: Arc<str>,
    fallback: Option<Arc<dyn Approver>>,
    watch: Watch,
    on_error: Option<Report>,
    /// Changes with each stored decision, once a call waits for one.
    changes: OnceLock<watch::Receiver<Change>>,
}

/// The time for which the store is watched for a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watch {
    Never,
    WhileAsking,
    UntilDecided,
}

/// A report of an error of the store.
type Report = Box<dyn Fn(&StoreError) + Send + Sync>;

/// Something was stored, or nothing can be known of it any more.
type Change = Result<(), StoreError>;

impl StoreApprover {
    /// Decides about the calls of the run `run`, whose whole id this is. Calls without a decision are put off.
    pub fn new(store: Store, run: impl Into<Arc<str>>) -> Self {
        Self {
            store,
            run: run.into(),
            fallback: None,
            watch: Watch::Never,
            on_error: None,
            changes: OnceLock::new(),
        }
    }

    /// Leaves calls without a decision to `approver`.
    #[must_use]
    pub fn or(mut self, approver: Arc<dyn Approver>) -> Self {
        self.fallback = Some(approver);
        self
    }

    /// Watches the store while the other approver is asked: whichever decides first counts.
    #[must_use]
    pub fn watching(mut self) -> Self {
        self.watch = Watch::WhileAsking;
        self
    }

    /// Watches the store while the other approver is asked, and if that puts a call off, until there is a decision.
    #[must_use]
    pub fn waiting(mut self) -> Self {
        self.watch = Watch::UntilDecided;
        self
    }

    /// Reports errors of the store. The other approver is asked then.
    #[must_use]
    pub fn on_error(mut self, report: impl Fn(&StoreError) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Box::new(report));
        self
    }

    /// The latest decision about just this call.
    fn stored(&self, request: &ApprovalRequest) -> Option<Decision> {
        let decisions = match self.store.decisions(&self.run) {
            Ok(decisions) => decisions,
            Err(error) => {
                self.report(&error);
                return None;
            }
        };
        let digest = request.digest();
        let mut decisions = decisions.into_iter().rev();
        let latest = decisions.find(|decision| decision.digest == digest);
        latest.map(|decision| decision.decision)
    }

    /// Asks the other approver.
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        match &self.fallback {
            Some(fallback) => fallback.decide(request).await,
            None => Decision::Later,
        }
    }

    /// Waits for a decision about this call; `None` if the store cannot be watched.
    async fn stored_later(&self, request: &ApprovalRequest) -> Option<Decision> {
        let changes = self.changes.get_or_init(|| listen(&self.store, &self.run));
        let mut changes = changes.clone();
        loop {
            changes.changed().await.ok()?;
            let change = changes.borrow_and_update().clone();
            if let Err(error) = change {
                self.report(&error);
                return None;
            }
            // Read anew: what was stored may have been used in the meantime.
            if let Some(decision) = self.stored(request) {
                return Some(decision);
            }
        }
    }

    fn report(&self, error: &StoreError) {
        if let Some(report) = &self.on_error {
            report(error);
        }
    }
}

impl Approver for StoreApprover {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        Box::pin(async move {
            if let Some(decision) = self.stored(&request) {
                return decision;
            }
            if self.watch == Watch::Never {
                return self.ask(request).await;
            }
            let asked = async {
                match self.ask(request.clone()).await {
                    Decision::Later if self.watch == Watch::UntilDecided => pending().await,
                    decision => decision,
                }
            };
            let stored = async {
                match self.stored_later(&request).await {
                    Some(decision) => decision,
                    // Only the other approver can decide now.
                    None if self.watch == Watch::WhileAsking => pending().await,
                    None => Decision::Later,
                }
            };
            tokio::select! {
                decision = asked => decision,
                decision = stored => decision,
            }
        })
    }
}

impl fmt::Debug for StoreApprover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreApprover")
            .field("store", &self.store)
            .field("run", &self.run)
            .field("watch", &self.watch)
            .finish_non_exhaustive()
    }
}

/// Reports changes from now on, with those that are there first. One task watches for all calls that wait.
fn listen(store: &Store, run: &Arc<str>) -> watch::Receiver<Change> {
    let (sender, receiver) = watch::channel(Ok(()));
    let (store, run) = (store.clone(), Arc::clone(run));
    tokio::spawn(async move {
        let mut decisions = match store.watch_decisions(&run) {
            Ok(decisions) => decisions,
            Err(error) => {
                drop(sender.send_replace(Err(error)));
                return;
            }
        };
        loop {
            tokio::select! {
                () = sender.closed() => return,
                news = decisions.next() => {
                    let is_over = news.is_err();
                    drop(sender.send_replace(news.map(drop)));
                    if is_over {
                        return;
                    }
                }
            }
        }
    });
    receiver
}
