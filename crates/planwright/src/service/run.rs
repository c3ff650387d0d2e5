//! A run in progress.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::{CheckedPlan, Object};
use planwright_dialects::native::Native;
use planwright_dialects::{ParseResult, ReadOptions};
use planwright_engine::RunId;
#[cfg(feature = "store")]
use planwright_engine::RunStatus;
use planwright_engine::{Canceller, Journal, RunHandle, RunSummary, StampedEvent};
use tokio::sync::mpsc::UnboundedReceiver;

use super::Error;
use super::observer::EventObserver;
use super::planwright::{Planwright, sound};
#[cfg(feature = "store")]
use super::store::RevertOnFailure;
use super::store::StoreLink;

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
    pub(super) store: StoreLink,
    #[cfg(feature = "store")]
    pub(super) revert: Option<RevertOnFailure>,
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
    /// continues unchanged. Only a run that [grows](super::RunBuilder::growing) waits for steps. Steps that are added to another run
    /// just as its last step ends, or to a cancelled run, may never run. Then they are not in its summary.
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
        self.store.extend();
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
    ///
    /// If the run has failed and its plan has `on_failure: revert`, it also undoes what the run did, by a run of its own, and waits for
    /// the end of that run, which the [summary](RunSummary::revert) names.
    pub async fn finish(self) -> RunSummary {
        let never = std::future::pending::<Infallible>();
        match Box::pin(self.finish_unless(never, &mut |_| ())).await {
            Ok(summary) => summary,
            Err(never) => match never {},
        }
    }

    /// Waits for the end as [`finish`](Self::finish) does, or for `stop`: once that has ended, the run is [abandoned](Self::abandon), and so is
    /// the one that undoes it. `idles` receives whether only a decision of a person can continue the latter, after each of its events.
    ///
    /// # Errors
    ///
    /// The output of `stop`, if that ended first.
    #[cfg_attr(
        not(feature = "store"),
        expect(
            unused_mut,
            unused_variables,
            reason = "no run is reverted without a store"
        )
    )]
    pub async fn finish_unless<T>(
        mut self,
        stop: impl Future<Output = T> + Send,
        idles: &mut (dyn FnMut(bool) + Send),
    ) -> Result<RunSummary, T> {
        let mut stop = std::pin::pin!(stop);
        if self.observers.is_empty() {
            // Nothing receives the events: they need not be stored until the end.
            self.events.close();
        }
        let (mut ended, mut summary) = self.end_unless(stop.as_mut(), &mut |_| ()).await?;
        #[cfg(feature = "store")]
        if summary.journal_error.is_none()
            && !summary.is_handed_over
            && summary.status == RunStatus::Failed
            && let Some(revert) = ended.revert.take()
        {
            // The journal has the lease, so that no other process resumes the run meanwhile.
            let failed = (&ended.id, &ended.handle);
            let reverted = revert.revert(&ended.planwright, failed, (stop, idles));
            summary.revert = Some(Box::new(Box::pin(reverted).await?));
        }
        Ok(summary)
    }

    /// Waits for the end of this run alone, and passes its events to `observe`, or abandons it once `stop` has ended.
    ///
    /// # Errors
    ///
    /// The output of `stop`, if that ended first.
    pub(in crate::service) async fn end_unless<T>(
        mut self,
        stop: Pin<&mut (dyn Future<Output = T> + Send)>,
        observe: &mut (dyn FnMut(&StampedEvent) + Send),
    ) -> Result<(Self, RunSummary), T> {
        self.handle.close();
        let end = async {
            while let Some(event) = self.next_event().await {
                observe(&event);
            }
            (&mut self.handle).await
        };
        let ended = tokio::select! {
            biased;
            stopped = stop => Err(stopped),
            summary = end => Ok(summary),
        };
        match ended {
            Ok(summary) => {
                if summary.journal_error.is_none() {
                    self.store.learn(&summary.durations).await;
                }
                Ok((self, summary))
            }
            Err(stopped) => {
                self.abandon().await;
                Err(stopped)
            }
        }
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
