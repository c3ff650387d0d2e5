//! A run in progress.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::{CheckedPlan, Object};
use planwright_dialects::native::Native;
use planwright_dialects::{ParseResult, ReadOptions};
use planwright_engine::RunId;
use planwright_engine::{Canceller, Journal, RunHandle, RunSummary, StampedEvent};
#[cfg(feature = "store")]
use planwright_engine::{Durations, Engine, RunOptions};
#[cfg(feature = "store")]
use planwright_store::Store;
use tokio::sync::mpsc::UnboundedReceiver;

#[cfg(feature = "store")]
use super::answers::{AnswerRecord, RecordingBackend};
#[cfg(feature = "store")]
use super::launch::BoundBackend;
use super::planwright::sound;
#[cfg(feature = "store")]
use super::requests::RequestWatch;
use super::spec::EventObserver;
#[cfg(feature = "store")]
use super::spec::{RunSpec, RunStorage};
#[cfg(feature = "store")]
use super::stored_runs;
use super::{Error, Planwright};
#[cfg(feature = "store")]
use crate::stored::StoredRunError;

/// A run in progress. It continues whether or not its events are read.
///
/// Dropping it abandons the run: calls in flight are cancelled, nothing new starts.
#[must_use = "dropping a run abandons it"]
pub struct Run {
    pub(super) handle: RunHandle,
    pub(super) events: UnboundedReceiver<StampedEvent>,
    pub(super) id: RunId,
    pub(super) plan: CheckedPlan,
    // Keeps the servers alive.
    pub(super) planwright: Planwright,
    pub(super) observers: Vec<EventObserver>,
    pub(super) journal: Option<Arc<dyn Journal>>,
    /// The requests of other processes, for as long as the run lasts.
    #[cfg(feature = "store")]
    pub(super) requests: Option<RequestWatch>,
    #[cfg(feature = "store")]
    /// The store that records the durations of calls.
    pub(super) learning: Option<Learning>,
}

/// The recorder of a run: the durations of calls that the store had before, the answers of the run's tools, and the store.
#[cfg(feature = "store")]
pub(super) struct Learning {
    store: Store,
    before: Durations,
    answers: Arc<AnswerRecord>,
    secrets: Vec<Arc<str>>,
}

#[cfg(feature = "store")]
impl Learning {
    /// Completes the options of a stored run from its store: the key that seals consent, and durations unless the caller has set some or
    /// the run is
    /// resumed.
    pub(super) fn new(spec: &mut RunSpec) -> Result<Option<Self>, Error> {
        let Some(store) = spec.storage.store().cloned() else {
            return Ok(None);
        };
        // The header of a resumed process already has its durations, and a replay uses them.
        let is_new = matches!(spec.storage, RunStorage::New { .. });
        let options = &mut spec.options;
        complete_options(options, &store, is_new)?;
        Ok(Some(Self {
            store,
            before: options.durations.clone(),
            answers: Arc::default(),
            secrets: options.secrets.clone(),
        }))
    }

    /// The engine of the run, which records the answers of its tools.
    pub(super) fn engine(&self, bound: BoundBackend) -> Engine {
        Engine::new(RecordingBackend {
            bound,
            record: Arc::clone(&self.answers),
        })
    }

    /// Stores the durations and the answers of a run that has ended. They only affect the order of later runs and help to write further
    /// plans, so
    /// an error here does not fail the run.
    fn save(self, durations: &Durations) {
        if let Err(error) = self.store.save_durations(&self.before, durations) {
            tracing::warn!(%error, "the durations of calls were not stored");
        }
        let now = stored_runs::now();
        if let Err(error) = self.answers.save(&self.store, &self.secrets, now) {
            tracing::warn!(%error, "the structure of answers was not stored");
        }
    }
}

/// Completes the options of a stored run: the key that consent is sealed with, and for a new run the durations, unless there are some.
#[cfg(feature = "store")]
pub(super) fn complete_options(
    options: &mut RunOptions,
    store: &Store,
    is_new: bool,
) -> Result<(), StoredRunError> {
    options.seal_key = Some(store.seal_key()?);
    if is_new && options.durations.is_empty() {
        options.durations = store.durations()?;
    }
    Ok(())
}

impl Run {
    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The plan, with all added steps.
    pub fn plan(&self) -> &CheckedPlan {
        &self.plan
    }

    /// The journal of the run. A caller that starts the same run again with another plan holds the journal meanwhile, so that the run stays
    /// leased.
    pub fn journal(&self) -> Option<Arc<dyn Journal>> {
        self.journal.clone()
    }

    /// The next event; `None` once the run has ended. Dropping the future loses no event: events wait until they are read.
    pub async fn next_event(&mut self) -> Option<StampedEvent> {
        let event = self.events.recv().await?;
        for observer in &mut self.observers {
            observer(&event);
        }
        Some(event)
    }

    /// Adds the steps of a further text in Planwright's own dialect, which may refer to earlier steps. If the text is rejected, the run
    /// continues
    /// unchanged.
    /// Only a run that [grows](super::RunBuilder::growing) waits for steps. Steps that are added to another run just as its last step
    /// ends, or to a
    /// cancelled run, may never run. Then they are not in its summary.
    ///
    /// # Errors
    ///
    /// [`Error::Rejected`] with every diagnostic, or [`Error::Ended`].
    pub fn extend(&mut self, text: impl AsRef<[u8]>) -> Result<(), Error> {
        let more = planwright_dialects::parse_as(&Native, text.as_ref(), &self.read_options());
        self.extend_with(more)
    }

    /// Adds the steps of a plan that was read in another dialect, with [these options](Self::read_options), or built.
    ///
    /// # Errors
    ///
    /// [`Error::Rejected`] with every diagnostic, or [`Error::Ended`].
    pub fn extend_with(&mut self, more: impl Into<ParseResult>) -> Result<(), Error> {
        let inputs: &Object = self.plan.inputs();
        let ParseResult {
            plan, diagnostics, ..
        } = more.into();
        let extended = sound(diagnostics, |found| {
            let (extended, more) = self.plan.extend(plan?, &self.planwright.context(inputs));
            found.extend(more);
            extended
        })?;
        self.extend_checked(extended)
    }

    /// Continues with `extended`, which begins with the steps of the running plan.
    pub(super) fn extend_checked(&mut self, extended: CheckedPlan) -> Result<(), Error> {
        #[cfg(feature = "store")]
        if let Some(requests) = &self.requests {
            requests.extend();
        }
        self.handle
            .extend(extended.clone())
            .map_err(|_| Error::Ended)?;
        self.plan = extended;
        Ok(())
    }

    /// The options for reading a text that extends this run. They distinguish its places from those of earlier texts.
    pub fn read_options(&self) -> ReadOptions<'static> {
        ReadOptions {
            base: self.plan.plan().sources.next_base(),
            ..ReadOptions::new("more")
        }
    }

    /// Ends the input of steps: a [growing](super::RunBuilder::growing) run ends with its last step.
    pub fn close(&self) {
        self.handle.close();
    }

    /// Drains the run: nothing new starts, and the run ends once the calls in progress have ended. Those that take longer than `limit` from now are
    /// cancelled. The rest of the run can be resumed.
    pub fn drain(&self, limit: Duration) {
        self.handle.drain(limit);
    }

    /// Cancels the run: calls in progress are cancelled, no new ones start. The summary has the results so far.
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// A handle that cancels the run.
    pub fn canceller(&self) -> Canceller {
        self.handle.canceller()
    }

    /// Waits for the end, without further steps. Only the observers of the service receive the events that were not read.
    pub async fn finish(mut self) -> RunSummary {
        self.handle.close();
        if self.observers.is_empty() {
            // Nothing receives the events: they need not be stored until the end.
            self.events.close();
        }
        while self.next_event().await.is_some() {}
        let summary = (&mut self.handle).await;
        #[cfg(feature = "store")]
        if let Some(learning) = self.learning.take()
            && summary.journal_error.is_none()
        {
            let durations = summary.durations.clone();
            // This waits for the store, so that a process that ends after its run has stored the durations.
            let saved = tokio::task::spawn_blocking(move || learning.save(&durations));
            if let Err(error) = saved.await {
                tracing::warn!(%error, "what was learned from a run was not stored");
            }
        }
        summary
    }

    /// Stops driving the run as if the process had died: calls in flight are dropped, and the journal ends where it is, so that another process can
    /// resume the run.
    pub async fn abandon(self) {
        self.handle.abandon().await;
    }
}

impl IntoFuture for Run {
    type Output = RunSummary;
    type IntoFuture = Pin<Box<dyn Future<Output = RunSummary> + Send>>;

    /// [`Run::finish`]
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.finish())
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("id", &self.id)
            .field("plan", &self.plan.plan().name)
            .finish_non_exhaustive()
    }
}
