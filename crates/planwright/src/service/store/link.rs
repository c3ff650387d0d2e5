//! The link between a stored run and its store: the requests of other processes to the run, which are to cancel it and approvals of its
//! whole plan, and what the store learns from it, which is the durations of calls and the structure of the answers of tools that declare no
//! output schema.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures::future::{BoxFuture, pending};
use planwright_core::{Catalog, PlanConsent, SeenAnswers, Tool, ToolName};
use planwright_engine::approval::ApprovalRequest;
use planwright_engine::{Approver, Canceller, Decision, Durations, RunId, RunOptions, ToolOutput};
use planwright_store::{LeaseHolder, RecordedAnswers, RunInfo, Store, StoreError};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::stored::StoredRunError;

/// The maximum number of answers of one tool that a run records.
const MAX_ANSWERS: u64 = 1_000;

/// The link of a run to its store, for as long as the run lasts. A run that is not stored has an empty one.
pub(in crate::service) struct StoreLink {
    learning: Option<Learning>,
    requests: Option<RunRequests>,
    watch: Option<RequestWatch>,
}

impl StoreLink {
    /// Links a run to the store that records what it teaches and to the one with requests of other processes, if it has them.
    pub(in crate::service) fn new(
        learning: Option<Learning>,
        requests: Option<RunRequests>,
    ) -> Self {
        Self {
            learning,
            requests,
            watch: None,
        }
    }

    /// Returns the record of the answers of the run's tools, if the store learns from the run.
    pub(in crate::service) fn answers(&self) -> Option<Arc<AnswerRecord>> {
        let learning = self.learning.as_ref()?;
        Some(Arc::clone(&learning.answers))
    }

    /// Returns the approver of the run, which also follows approvals of the whole plan by other processes.
    pub(in crate::service) fn approver(&self, approver: Arc<dyn Approver>) -> Arc<dyn Approver> {
        match &self.requests {
            None => approver,
            Some(requests) => requests.approver(approver),
        }
    }

    /// Watches for requests to the run from now on.
    pub(in crate::service) fn watch(&mut self, canceller: Canceller) {
        let requests = self.requests.take();
        self.watch = requests.map(|requests| requests.watch(move || canceller.cancel()));
    }

    /// Ends approvals of the whole plan: it has steps that were not shown.
    pub(in crate::service) fn extend(&self) {
        if let Some(watch) = &self.watch {
            watch.extend();
        }
    }

    /// Stores what the run has taught, once it has ended.
    pub(in crate::service) async fn learn(&mut self, durations: &Durations) {
        let Some(learning) = self.learning.take() else {
            return;
        };
        let durations = durations.clone();
        // This waits for the store, so that a process that ends after its run has stored the durations.
        let saved = tokio::task::spawn_blocking(move || learning.save(&durations));
        if let Err(error) = saved.await {
            tracing::warn!(%error, "what was learned from a run was not stored");
        }
    }
}

/// The recorder of a run: the durations of calls that the store had before, the answers of the run's tools, and the store.
pub(in crate::service) struct Learning {
    store: Store,
    before: Durations,
    answers: Arc<AnswerRecord>,
    secrets: Vec<Arc<str>>,
}

impl Learning {
    /// Creates the recorder of a run that begins with these options.
    pub(in crate::service) fn new(store: Store, options: &RunOptions) -> Self {
        Self {
            store,
            before: options.durations.clone(),
            answers: Arc::default(),
            secrets: options.secrets.clone(),
        }
    }

    /// Stores the durations and the answers of a run that has ended. They only affect the order of later runs and help to write further
    /// plans, so an error here does not fail the run.
    fn save(self, durations: &Durations) {
        if let Err(error) = self.store.save_durations(&self.before, durations) {
            tracing::warn!(%error, "the durations of calls were not stored");
        }
        let now = now();
        if let Err(error) = self.answers.save(&self.store, &self.secrets, now) {
            tracing::warn!(%error, "the structure of answers was not stored");
        }
    }
}

/// Completes the options of a stored run: the key that consent is sealed with, and for a new run the durations, unless there are some.
pub(in crate::service) fn complete_options(
    options: &mut RunOptions,
    store: &Store,
    is_new: bool,
) -> Result<(), StoredRunError> {
    options.seal_key = Some(store.seal_key()?);
    if is_new && options.durations.is_empty() {
        options.durations = store.durations_for_run()?;
    }
    Ok(())
}

/// The answers of one run.
#[derive(Debug, Default)]
pub(in crate::service) struct AnswerRecord(Mutex<HashMap<ToolName, (Arc<Tool>, SeenAnswers)>>);

impl AnswerRecord {
    pub(in crate::service) fn add(&self, tool: &Arc<Tool>, output: &ToolOutput) {
        let mut tools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = tools.entry(tool.qualified_name());
        let (_, answers) = entry.or_insert_with(|| (Arc::clone(tool), SeenAnswers::default()));
        if answers.calls < MAX_ANSWERS {
            answers.add(&output.value);
        }
    }

    /// Stores the answers, except those with one of `secrets` among the names of fields.
    fn save(&self, store: &Store, secrets: &[Arc<str>], now: SystemTime) -> Result<(), StoreError> {
        let tools = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let recorded = tools.into_values().filter_map(|(tool, answers)| {
            let json = answers.to_value().to_json();
            let is_secret = |secret: &Arc<str>| !secret.is_empty() && json.contains(&**secret);
            let record = RecordedAnswers {
                digest: tool.definition_digest(),
                tool: tool.qualified_name(),
                answers,
            };
            (!secrets.iter().any(is_secret)).then_some(record)
        });
        store.add_answers(recorded.collect(), now)
    }
}

/// Returns `catalog` with the answers that `store` has of those tools of servers that declare no output schema. Runs over the catalog record
/// further ones.
///
/// # Errors
///
/// Those of the store.
pub fn with_seen_answers(catalog: &Catalog, store: &Store) -> Result<Catalog, StoreError> {
    let mut seen = HashMap::new();
    for tool in catalog.tools() {
        // Functions and simulated tools have no origin.
        if tool.output.is_any() && !tool.origin.is_empty() {
            let answers = store.seen_answers(&tool.definition_digest())?;
            let key = (tool.server.clone(), Arc::clone(&tool.name));
            seen.insert(key, Arc::new(answers.unwrap_or_default()));
        }
    }
    Ok(catalog.map(|tool| {
        let key = (tool.server.clone(), Arc::clone(&tool.name));
        tool.seen = seen.get(&key).cloned();
    }))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a program that stores a run does it now"
)]
pub(in crate::service) fn now() -> SystemTime {
    SystemTime::now()
}

/// The age of a run at which the watch for requests begins. Most runs are shorter, and need none. It is below the time in which a person sees
/// that a request has an effect, and above that of a short run of a process with hundreds of them.
const QUIET_TIME: Duration = Duration::from_millis(400);

/// The pause after each read of the store.
const READ_PAUSE: Duration = Duration::from_millis(250);

/// The pause before a store that could not be read is read again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The requests of other processes to a stored run.
#[derive(Clone)]
pub struct RunRequests {
    store: Store,
    run: RunId,
    /// The process that the requests name, which is this one; `None` if it has to be read from the store.
    holder: Option<LeaseHolder>,
    /// The digest that an approval of the whole plan is bound to; `None` if the plan cannot be approved as a whole.
    consent: Option<PlanConsent>,
    /// True once the plan has steps that were added after the approval.
    is_extended: Arc<AtomicBool>,
    /// True once the whole plan is approved.
    approved: watch::Sender<bool>,
}

impl RunRequests {
    /// The requests to `run` in `store`. They name `holder`, which is this process; without it, the holder is read from the store. `consent` is the digest that an
    /// approval of the whole plan is bound to; `None` if the plan cannot be approved as a whole.
    pub fn new(
        store: Store,
        run: RunId,
        holder: Option<LeaseHolder>,
        consent: Option<PlanConsent>,
    ) -> Self {
        Self {
            store,
            run,
            holder,
            consent,
            is_extended: Arc::default(),
            approved: watch::Sender::new(false),
        }
    }

    /// Returns the approver of the run. An approval of the whole plan applies to calls without a decision of their own.
    pub fn approver(&self, approver: Arc<dyn Approver>) -> Arc<dyn Approver> {
        Arc::new(PlanApprover {
            approver,
            requests: self.clone(),
            turn: tokio::sync::Mutex::default(),
        })
    }

    /// Watches for requests until the result is dropped. A request to cancel the run calls `cancel`.
    pub fn watch(self, cancel: impl Fn() + Send + Sync + 'static) -> RequestWatch {
        let is_extended = Arc::clone(&self.is_extended);
        let task = tokio::spawn(async move {
            tokio::time::sleep(QUIET_TIME).await;
            loop {
                match self.follow(&cancel).await {
                    // Without the run there are no requests to it.
                    Ok(()) | Err(StoreError::Missing { .. }) => return,
                    Err(error) => {
                        let run = &self.run;
                        tracing::warn!(%run, %error, "requests of other processes to the run are not noticed; trying again");
                        tokio::time::sleep(RETRY_PAUSE).await;
                    }
                }
            }
        });
        RequestWatch {
            task: task.abort_handle(),
            is_extended,
        }
    }

    /// Waits until the run is stored, and returns the process that drives it; `None` if it is over.
    async fn stored_holder(&self) -> Result<Option<LeaseHolder>, StoreError> {
        let mut changes = self.store.watch_changes()?;
        loop {
            changes.next().await?;
            let run = self.run.clone();
            let info = self
                .store
                .run_blocking(move |store| store.run(run.as_str()));
            match info.await {
                Ok(RunInfo { holder, .. }) => return Ok(holder),
                // A run whose plan is still being written is stored later.
                Err(StoreError::Missing { .. }) => tokio::time::sleep(READ_PAUSE).await,
                Err(error) => return Err(error),
            }
        }
    }

    async fn follow(&self, cancel: &(dyn Fn() + Send + Sync)) -> Result<(), StoreError> {
        let holder = match &self.holder {
            Some(holder) => holder.clone(),
            None => match self.stored_holder().await? {
                Some(holder) => holder,
                None => return Ok(()),
            },
        };
        // Before the first read, so that no request is missed.
        let mut changes = self.store.watch_requests()?;
        changes.next().await?;
        loop {
            let (run, holder, consent) = (self.run.clone(), holder.clone(), self.consent.clone());
            let pending = self
                .store
                .run_blocking(move |store| store.pending_requests(&run, &holder, consent.as_ref()));
            let pending = pending.await?;
            if pending.is_cancelled {
                cancel();
                return Ok(());
            }
            // The waiting calls check again whether steps were added since the approval.
            if pending.is_plan_approved {
                self.approved
                    .send_if_modified(|approved| !std::mem::replace(approved, true));
            }
            // Most changes are those of other runs.
            tokio::time::sleep(READ_PAUSE).await;
            changes.next().await?;
        }
    }

    async fn is_approved(&self) -> Result<bool, StoreError> {
        // The steps that were added since were not shown.
        if self.is_extended.load(Ordering::Acquire) {
            return Ok(false);
        }
        let Some(consent) = self.consent.clone() else {
            return Ok(false);
        };
        let run = self.run.clone();
        self.store
            .run_blocking(move |store| store.is_plan_approved(&run, &consent))
            .await
    }

    /// Returns the decision about a call once the whole plan is approved; `None` before.
    async fn decided(&self, request: &ApprovalRequest) -> Result<Option<Decision>, StoreError> {
        if !self.is_approved().await? {
            return Ok(None);
        }
        // The decision is read after the approval, which leaves out calls with a decision of their own.
        let digest = request.digest();
        let run = self.run.clone();
        let decisions = self
            .store
            .run_blocking(move |store| store.decisions(run.as_str()))
            .await?;
        let mut decisions = decisions.into_iter().rev();
        let own = decisions.find(|decision| decision.digest == digest);
        let approve = Decision::Approve { args: None };
        Ok(Some(own.map_or(approve, |own| own.decision)))
    }

    /// Waits until the whole plan is approved, then returns the decision about a call.
    async fn decided_later(&self, request: &ApprovalRequest) -> Decision {
        let mut approved = self.approved.subscribe();
        if approved.wait_for(|approved| *approved).await.is_err() {
            return pending().await;
        }
        loop {
            match self.decided(request).await {
                Ok(Some(decision)) => return decision,
                // The plan was extended meanwhile, which is permanent.
                Ok(None) => return pending().await,
                // The watch for requests reports it.
                Err(_) => tokio::time::sleep(RETRY_PAUSE).await,
            }
        }
    }
}

/// The task that watches for requests to a run. It ends when this is dropped.
#[must_use = "the watch ends when this is dropped"]
#[derive(Debug)]
pub struct RequestWatch {
    task: AbortHandle,
    is_extended: Arc<AtomicBool>,
}

impl RequestWatch {
    /// Ends approvals of the whole plan: it has steps that were not shown.
    pub(in crate::service) fn extend(&self) {
        self.is_extended.store(true, Ordering::Release);
    }
}

impl Drop for RequestWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for RunRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunRequests")
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

struct PlanApprover {
    approver: Arc<dyn Approver>,
    requests: RunRequests,
    /// Reads of the store take turns, so that calls are asked about in their order.
    turn: tokio::sync::Mutex<()>,
}

impl Approver for PlanApprover {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        Box::pin(async move {
            let requests = &self.requests;
            let turn = self.turn.lock().await;
            // The consent to a plan never covers a call that was rejected.
            if request.was_rejected {
                drop(turn);
                return self.approver.decide(request).await;
            }
            // A store that cannot be read is reported where its decisions are read; the plan then counts as not approved.
            if let Ok(Some(decision)) = requests.decided(&request).await {
                return decision;
            }
            drop(turn);
            tokio::select! {
                biased;
                decision = self.approver.decide(request.clone()) => decision,
                decision = requests.decided_later(&request) => decision,
            }
        })
    }
}
