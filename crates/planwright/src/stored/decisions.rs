//! Decisions about the calls of a stored run: those that any process stored, and those that are pending; and the approval of its whole plan.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures::future::{BoxFuture, pending};
use planwright_core::PlanConsent;
use planwright_engine::Decision;
use planwright_engine::RunId;
use planwright_engine::approval::{ApprovalRequest, Approver, CallSubject};
use planwright_engine::event::Address;
use planwright_engine::journal::Entry;
use planwright_engine::run::History;
use planwright_store::{NewDecision, PlanApproval, Store, StoreError};
use tokio::sync::{Mutex, watch};

use super::{Decider, StoredRun, StoredRunError};

/// An approver by the decisions in the store about the calls of a run, and of the run that reverts it: it uses the unused decision about
/// exactly this call. Calls without one are left to [another approver](Self::or), or postponed.
///
/// Decisions that the journal of the run contains are [forgotten](Store::delete_used_decisions) when it is opened, so each counts
/// once.
pub struct StoreApprover {
    store: Store,
    fallback: Option<Arc<dyn Approver>>,
    watch: Watch,
    on_error: Option<Report>,
    /// Changes with each stored decision about calls of a run, once a call of the run waits for one.
    changes: StdMutex<HashMap<RunId, watch::Receiver<Change>>>,
    /// First reads of the store take turns, so that calls are asked about in their order.
    turn: Mutex<()>,
}

/// The time to wait for a decision in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watch {
    Never,
    WhileAsking,
    UntilDecided,
}

/// The pause before a store that could not be read is read again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// A report of an error of the store.
type Report = Box<dyn Fn(&StoreError) + Send + Sync>;

/// A confirmation that a change was stored, or the reason why it is unknown.
type Change = Result<(), StoreError>;

impl StoreApprover {
    /// Decides about calls of runs in `store`. Calls without a decision are put off.
    pub fn new(store: Store) -> Self {
        Self {
            store,
            fallback: None,
            watch: Watch::Never,
            on_error: None,
            changes: StdMutex::default(),
            turn: Mutex::default(),
        }
    }

    /// Leaves calls without a decision to `approver`.
    #[must_use]
    pub fn or(mut self, approver: Arc<dyn Approver>) -> Self {
        self.fallback = Some(approver);
        self
    }

    /// Watches the store while the other approver is asked: the first decision counts.
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

    /// Reports errors of the store, after which the other approver is asked.
    #[must_use]
    pub fn on_error(mut self, report: impl Fn(&StoreError) + Send + Sync + 'static) -> Self {
        self.on_error = Some(Box::new(report));
        self
    }

    /// The latest decision about just this call.
    async fn stored(&self, request: &ApprovalRequest) -> Result<Option<Decision>, StoreError> {
        let run = request.run.clone();
        let decisions = self
            .store
            .run_blocking(move |store| store.decisions(run.as_str()))
            .await?;
        let digest = request.digest();
        let mut decisions = decisions.into_iter().rev();
        let latest = decisions.find(|decision| decision.digest == digest);
        Ok(latest.map(|decision| decision.decision))
    }

    /// Asks the other approver.
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        match &self.fallback {
            Some(fallback) => fallback.decide(request).await,
            None => Decision::Later,
        }
    }

    /// Waits for a decision about this call; `None` if the run was removed from the store, or cannot be read.
    async fn stored_later(&self, request: &ApprovalRequest) -> Option<Decision> {
        let mut changes = {
            let mut known = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
            let changes = known.entry(request.run.clone());
            changes
                .or_insert_with(|| listen(&self.store, &request.run))
                .clone()
        };
        loop {
            changes.changed().await.ok()?;
            let change = changes.borrow_and_update().clone();
            let mut error = change.err();
            // The stored decision is read again, since it may have been used in the meantime.
            loop {
                if let Some(error) = error.take() {
                    self.report(&error);
                    if is_final(&error) {
                        return None;
                    }
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
                match self.stored(request).await {
                    Ok(Some(decision)) => return Some(decision),
                    Ok(None) => break,
                    Err(found) => error = Some(found),
                }
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
            let turn = self.turn.lock().await;
            let stored = self.stored(&request).await;
            drop(turn);
            match stored {
                Ok(Some(decision)) => return decision,
                Ok(None) => {}
                Err(error) => self.report(&error),
            }
            if self.watch == Watch::Never {
                return self.ask(request).await;
            }
            let asked = async {
                match self.ask(request.clone()).await {
                    Decision::Later if self.watch == Watch::UntilDecided => pending().await,
                    decision @ (Decision::Approve { .. }
                    | Decision::Reject { .. }
                    | Decision::Later) => decision,
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
            .field("watch", &self.watch)
            .finish_non_exhaustive()
    }
}

/// Returns true if the store will not become readable again.
fn is_final(error: &StoreError) -> bool {
    matches!(error, StoreError::Missing { .. } | StoreError::Format(_))
}

/// Reports the existing decisions first, then changes. One task watches for all calls that wait. It begins anew after an error.
fn listen(store: &Store, run: &RunId) -> watch::Receiver<Change> {
    let (sender, receiver) = watch::channel(Ok(()));
    let (store, run) = (store.clone(), run.clone());
    tokio::spawn(async move {
        let watched = async {
            loop {
                let Err(error) = report_decisions(&store, &run, &sender).await;
                let is_over = is_final(&error);
                drop(sender.send_replace(Err(error)));
                if is_over {
                    return;
                }
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        };
        tokio::select! {
            () = sender.closed() => {}
            () = watched => {}
        }
    });
    receiver
}

/// Reports all decisions about calls of a run, up to an error.
async fn report_decisions(
    store: &Store,
    run: &RunId,
    sender: &watch::Sender<Change>,
) -> Result<Infallible, StoreError> {
    let run = run.clone();
    let mut decisions = store
        .run_blocking(move |store| store.watch_decisions(run.as_str()))
        .await?;
    loop {
        decisions.next().await?;
        drop(sender.send_replace(Ok(())));
    }
}

/// A call of a stored run that waits for a decision.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpenQuestion {
    /// The run.
    pub run: RunId,
    /// The calling step, item or round.
    pub at: Arc<Address>,
    /// The exact call.
    pub subject: CallSubject,
    /// The reason why a person is asked, if it is known.
    pub reason: Option<Arc<str>>,
    /// The differences from the call of the previous decision, one clause each.
    pub changes: Vec<String>,
}

impl OpenQuestion {
    /// The question about a call of `run` that waits.
    pub fn new(run: RunId, at: Arc<Address>, subject: CallSubject) -> Self {
        Self {
            run,
            at,
            subject,
            reason: None,
            changes: Vec::new(),
        }
    }

    /// The open questions of a run with this history, by address.
    pub fn of(run: &RunId, history: &History) -> Vec<Self> {
        let mut questions: Vec<Self> = history
            .steps()
            .filter_map(|(at, past)| {
                let subject = past.open_question()?.clone();
                Some(Self {
                    reason: past.reason.clone(),
                    changes: history.changes_since_question(at, &subject, true),
                    ..Self::new(run.clone(), Arc::clone(at), subject)
                })
            })
            .collect();
        questions.sort_by_key(|question| question.at.to_string());
        questions
    }

    /// The digest of the call, which a decision has to name.
    pub fn digest(&self) -> String {
        self.subject.digest(&self.run, &self.at)
    }

    /// Stores a decision of `decider` about the call, for the process that has the run or resumes it. The command line, the gateway and
    /// [`Planwright::decide`](crate::Planwright::decide) store their decisions through it.
    ///
    /// # Errors
    ///
    /// [`StoredRunError::Passphrase`] if the store has a passphrase that `decider` has not entered; those of [`Store::decide`].
    pub fn decide(
        &self,
        store: &Store,
        decision: Decision,
        decider: &Decider,
        now: SystemTime,
    ) -> Result<(), StoredRunError> {
        Self::decide_all(&[self], store, &decision, decider, now)
    }

    /// Stores one decision of `decider` about each of the calls, or nothing.
    ///
    /// # Errors
    ///
    /// Those of [`OpenQuestion::decide`]. If a call already has a decision, nothing is stored.
    pub fn decide_all(
        questions: &[&Self],
        store: &Store,
        decision: &Decision,
        decider: &Decider,
        now: SystemTime,
    ) -> Result<(), StoredRunError> {
        decider.check(store, false)?;
        let new = questions
            .iter()
            .map(|question| question.decided(decision, decider, now));
        Ok(store.decide_all(&new.collect::<Vec<_>>())?)
    }

    /// The decision of `decider` about the call, as it is stored.
    fn decided(
        &self,
        decision: &Decision,
        decider: &Decider,
        now: SystemTime,
    ) -> (RunId, NewDecision) {
        let new = NewDecision {
            at: Arc::clone(&self.at),
            digest: self.digest(),
            decision: decision.clone(),
            by: decider.name(),
            decided: now,
        };
        (self.run.clone(), new)
    }
}

/// The calls of a run that wait for a decision, by address; none for an imported run that was never resumed here. Calls that have
/// been decided since the last resumption are included.
///
/// # Errors
///
/// If there is no such run, or it cannot be read.
pub fn open_questions(store: &Store, selector: &str) -> Result<Vec<OpenQuestion>, StoredRunError> {
    let info = store.run(selector)?;
    let run = info.id;
    let history = match StoredRun::read(store, run.as_str()) {
        Ok(stored) => stored.history()?,
        // A program that uses the store directly writes other headers.
        Err(StoredRunError::Unreadable(_)) => {
            let entries = store
                .entries(run.as_str())
                .and_then(Iterator::collect::<Result<Vec<Entry>, _>>)?;
            let (imported, own) = entries.split_at(info.imported.unwrap_or(0).min(entries.len()));
            let mut history = History::new(imported);
            if info.imported.is_some() {
                history.revoke_consent();
            }
            for entry in own {
                history.add(entry);
            }
            history
        }
        Err(error) => return Err(error),
    };
    Ok(OpenQuestion::of(&run, &history))
}

/// Stores the approval by `decider` of the whole plan of a run, and of the calls `shown` that wait: all of its calls are made without
/// further decisions, as long as the run is that of `consent`. The command line and
/// [`Planwright::approve_plan`](crate::Planwright::approve_plan) store their approvals through it.
///
/// # Errors
///
/// [`StoredRunError::OtherPlan`] if `consent` is not that of the latest plan; [`StoredRunError::NotShown`] if another call waits for a
/// decision; [`StoredRunError::Passphrase`]; those of [`Store::approve_plan_and_calls`]. After an error, nothing is stored.
pub fn approve_plan(
    store: &Store,
    run: &str,
    (consent, shown): (&PlanConsent, &[&OpenQuestion]),
    decider: &Decider,
    now: SystemTime,
) -> Result<(), StoredRunError> {
    decider.check(store, false)?;
    let stored = StoredRun::read(store, run)?;
    if stored.plan_consent() != Some(consent) {
        return Err(StoredRunError::OtherPlan);
    }
    let id = store.run(run)?.id;
    let decided = store.decisions(run)?;
    let left_out = OpenQuestion::of(&id, &stored.history()?)
        .into_iter()
        .find(|open| {
            let digest = open.digest();
            decided.iter().all(|decision| decision.digest != digest)
                && shown.iter().all(|shown| shown.digest() != digest)
        });
    if let Some(OpenQuestion { at, .. }) = left_out {
        return Err(StoredRunError::NotShown { at });
    }
    let approval = PlanApproval {
        consent: consent.clone(),
        by: decider.name(),
        approved: now,
    };
    let approve = Decision::Approve { args: None };
    let calls = shown
        .iter()
        .map(|call| call.decided(&approve, decider, now));
    let calls: Vec<_> = calls.collect();
    Ok(store.approve_plan_and_calls(run, &approval, &calls)?)
}
