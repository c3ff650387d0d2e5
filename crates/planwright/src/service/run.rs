//! A run under way.

use std::pin::Pin;
use std::sync::Arc;

use planwright_core::{CheckedPlan, Object};
use planwright_dialects::native::Native;
use planwright_dialects::{ParseResult, ReadOptions};
use planwright_engine::{Canceller, RunHandle, RunSummary, StampedEvent};
use tokio::sync::mpsc::UnboundedReceiver;

use super::planwright::sound;
use super::{Error, Planwright};

/// A run under way. It goes on whether or not anybody listens.
///
/// Dropping it gives the run up: calls under way are cancelled, nothing new starts.
#[derive(Debug)]
#[must_use = "dropping a run gives it up"]
pub struct Run {
    handle: RunHandle,
    events: UnboundedReceiver<StampedEvent>,
    id: Arc<str>,
    plan: CheckedPlan,
    // Keeps the servers alive.
    planwright: Planwright,
}

impl Run {
    pub(super) fn new(
        planwright: Planwright,
        id: Arc<str>,
        plan: CheckedPlan,
        handle: RunHandle,
        events: UnboundedReceiver<StampedEvent>,
    ) -> Self {
        Self {
            handle,
            events,
            id,
            plan,
            planwright,
        }
    }

    /// The run's id.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The plan, with all that was added to it.
    pub fn plan(&self) -> &CheckedPlan {
        &self.plan
    }

    /// The next thing that happens; nothing once the run has ended. Dropping the future loses no event.
    ///
    /// Events are kept until somebody asks for them.
    pub async fn next_event(&mut self) -> Option<StampedEvent> {
        self.events.recv().await
    }

    /// Adds the steps of a further text in Planwright's own dialect, which may refer to those before. Where the text is
    /// rejected, the run goes on as it was.
    ///
    /// Only a run that [grows](super::RunBuilder::growing) waits for steps. Those that come to another one just as its last
    /// step ends, or to one that was cancelled, may never run: then they are not in its summary.
    ///
    /// # Errors
    ///
    /// [`Error::Rejected`] with every finding, or [`Error::Ended`].
    pub fn extend(&mut self, text: impl AsRef<[u8]>) -> Result<(), Error> {
        let more = planwright_dialects::parse_as(&Native, text.as_ref(), &self.read_options());
        self.extend_with(more)
    }

    /// Adds the steps of a plan that was read in another dialect, with [these options](Self::read_options), or built.
    ///
    /// # Errors
    ///
    /// [`Error::Rejected`] with every finding, or [`Error::Ended`].
    pub fn extend_with(&mut self, more: impl Into<ParseResult>) -> Result<(), Error> {
        let given: &Object = self.plan.inputs();
        let ParseResult {
            plan, diagnostics, ..
        } = more.into();
        let extended = sound(diagnostics, |found| {
            let (extended, more) = self.plan.extend(plan?, &self.planwright.context(given));
            found.extend(more);
            extended
        })?;
        self.handle
            .extend(extended.clone())
            .map_err(|_| Error::Ended)?;
        self.plan = extended;
        Ok(())
    }

    /// How a text has to be read that adds to this run, so that its places are told from those of the texts before.
    pub fn read_options(&self) -> ReadOptions<'static> {
        ReadOptions {
            base: self.plan.plan().sources.next_base(),
            ..ReadOptions::new("more")
        }
    }

    /// Says that no further steps will come: a [growing](super::RunBuilder::growing) run ends with its last step.
    pub fn close(&self) {
        self.handle.close();
    }

    /// Ends the run now: calls under way are cancelled, nothing new starts. The summary tells how far it came.
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// Somebody else's means to cancel the run.
    pub fn canceller(&self) -> Canceller {
        self.handle.canceller()
    }

    /// Waits for the end, without further steps and without the events that nobody asked for.
    pub async fn finish(self) -> RunSummary {
        let Self {
            handle,
            events,
            planwright,
            ..
        } = self;
        drop(events);
        handle.close();
        let summary = handle.await;
        drop(planwright);
        summary
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
