//! The session of a streamed run: requests the plan, runs it early, and recovers if the plan turns out invalid; with the
//! events, the storage and the outcome of the run.

use std::fmt;
use std::sync::Arc;

use futures::StreamExt;
use planwright_core::plan::Mode;
use planwright_core::{StepId, Value};
use planwright_engine::RunId;
use planwright_engine::journal::BufferedJournal;
use planwright_engine::run::History;
use planwright_engine::{Canceller, Journal, JournalError, RunSummary, StampedEvent};

use super::early_run::{EarlyCall, EarlyCallLog, EarlyRun, discarded_steps, extends};
use super::launcher::{LaunchError, LaunchRequest, LaunchedRun, RunLauncher};
use super::plan_reader::ReplyParser;
use crate::create::{CreatedPlan, PlanAttempt, PlanConversation, PlanRequest, PlanResponse};
use crate::model::{Delivery, ModelError, ModelErrorKind, ModelRequest, Reply, ReplyChunk, answer};

/// A request to create a plan and run it while it is being written.
pub struct StreamRequest<'a> {
    /// The plan to create.
    pub creation: PlanRequest<'a>,
    /// The service that starts the run: an [`Engine`](planwright_engine::Engine), or one that does more.
    pub launcher: &'a dyn RunLauncher,
    /// Id of the run.
    pub run: RunId,
    /// Storage of the run, if it is stored.
    pub storage: Option<&'a dyn EarlyRunStorage>,
    /// Receiver of events.
    pub listener: &'a mut (dyn FnMut(StreamEvent<'_>) + Send),
}

/// An event while a plan is written and run.
#[derive(Debug)]
pub enum StreamEvent<'a> {
    /// The model has written this text.
    Text(&'a str),
    /// The model has replied, with this outcome.
    PlanAttempt(&'a PlanAttempt),
    /// A run has started, with its canceller. A second one starts if the first was abandoned.
    RunStarted(&'a Canceller),
    /// The plan so far passes the check and its run continues with it. The plan has more steps each time.
    PlanGrew(&'a CreatedPlan),
    /// The plan is complete. All steps may now run.
    Planned(&'a CreatedPlan),
    /// An event of the run.
    Run(&'a StampedEvent),
    /// The early run was cancelled because no valid plan followed. If one follows later, the run restarts and reuses matching results.
    Abandoned(&'a RunSummary),
}

/// The outcome of a streamed run.
#[derive(Debug)]
#[non_exhaustive]
pub struct StreamOutcome {
    /// The outcome of plan creation.
    pub created: PlanResponse,
    /// Summary of the run, if there was a plan to run.
    pub summary: Option<RunSummary>,
    /// Read-only calls made before the plan was complete.
    pub early: Vec<EarlyCall>,
    /// Summary of the early run, if it was abandoned.
    pub abandoned: Option<RunSummary>,
    /// The reason why a valid plan did not run.
    pub error: Option<StreamedRunError>,
    /// Fraction of the reply that had arrived when the first call was sent, from 0 to 1; `None` if the reply was complete.
    pub first_call_at: Option<f64>,
}

/// The reason why a valid plan did not run.
#[derive(Debug, thiserror::Error)]
pub enum StreamedRunError {
    /// The run cannot be stored.
    #[error(transparent)]
    Storage(#[from] JournalError),
    /// The run must not start.
    #[error(transparent)]
    Launch(LaunchError),
}

/// Stores a run once its plan is known. Until then the run has made read-only calls only.
pub trait EarlyRunStorage: Send + Sync {
    /// Starts storing the run of `plan`. `beginning` is the number of steps the run started with if it started while the plan was
    /// still being written.
    ///
    /// # Errors
    ///
    /// The reason why the run cannot be stored. The run is then cancelled.
    fn begin(
        &self,
        plan: &CreatedPlan,
        beginning: Option<usize>,
    ) -> Result<RunJournal, JournalError>;

    /// Stores a run that was cancelled because no valid plan followed. `plan` is the part that had arrived, and `beginning` the number
    /// of steps the run started with.
    ///
    /// # Errors
    ///
    /// The reason why the run cannot be stored. After an error, nothing more is run.
    fn abandon(&self, plan: &CreatedPlan, beginning: usize) -> Result<RunJournal, JournalError>;

    /// Continues the same run with another plan and discards the results of the `forgotten` steps. Returns the header for the second
    /// opening entry of the journal.
    ///
    /// # Errors
    ///
    /// The reason why the run cannot be stored. After an error, the run does not continue.
    fn go_on(&self, plan: &CreatedPlan, forgotten: &[StepId]) -> Result<Value, JournalError>;
}

/// The journal of a stored run, and the header of its first entry.
#[derive(Clone)]
pub struct RunJournal {
    /// Destination of the journal entries.
    pub journal: Arc<dyn Journal>,
    /// Header of the journal's first opening entry.
    pub header: Value,
}

impl fmt::Debug for RunJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunJournal").finish_non_exhaustive()
    }
}

impl fmt::Debug for StreamRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamRequest")
            .field("creation", &self.creation)
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}

/// Requests a plan and runs it: read-only steps as soon as the plan so far passes the check, all other steps once the whole plan has
/// passed.
///
/// Dropping the future cancels the request to the model and the run.
pub async fn stream(streaming: StreamRequest<'_>) -> StreamOutcome {
    let StreamRequest {
        creation,
        launcher,
        run,
        storage,
        listener,
    } = streaming;
    let mut session = StreamSession {
        creation: &creation,
        launcher,
        run,
        storage,
        listener,
        early_calls: EarlyCallLog::default(),
        written: 0,
        first_call: None,
        abandoned: None,
    };
    let mut conversation = PlanConversation::new(&creation);
    let mut early_run = None;
    if let Some(request) = conversation.request() {
        match session.receive_first(request, &mut early_run).await {
            // The early run has made read-only calls only, so asking again repeats no effect.
            Err(error) if error.kind == ModelErrorKind::Interrupted && session.written > 0 => {
                conversation.created.usage += error.usage;
            }
            // Any other error is final: no further request would differ.
            answer => session.process_reply(&mut conversation, answer),
        }
    }
    let outcome = session.finish(&mut conversation, early_run).await;
    let (summary, error) = match outcome {
        Ok(summary) => (summary, None),
        Err(error) => (None, Some(error)),
    };
    StreamOutcome {
        created: conversation.created,
        summary,
        first_call_at: session.first_call_at(),
        early: session.early_calls.calls,
        abandoned: session.abandoned,
        error,
    }
}

/// State of a streamed run, from the request to the end of the run.
struct StreamSession<'a> {
    creation: &'a PlanRequest<'a>,
    launcher: &'a dyn RunLauncher,
    run: RunId,
    storage: Option<&'a dyn EarlyRunStorage>,
    listener: &'a mut (dyn FnMut(StreamEvent<'_>) + Send),
    early_calls: EarlyCallLog,
    /// Number of bytes written by the model.
    written: usize,
    /// Number of bytes written when the first call was sent.
    first_call: Option<usize>,
    abandoned: Option<RunSummary>,
}

impl StreamSession<'_> {
    /// Receives the first reply and runs its steps early.
    async fn receive_first(
        &mut self,
        request: ModelRequest,
        early_run: &mut Option<EarlyRun>,
    ) -> Result<Reply, ModelError> {
        let mut chunks = self.creation.model.ask(ModelRequest {
            delivery: Delivery::Live,
            ..request
        });
        let settings = self.creation.settings;
        let mut parser = ReplyParser::new(settings.dialect, settings.max_reply_bytes);
        loop {
            let chunk = tokio::select! {
                biased;
                // Pending run events are handled before more text is read.
                Some(event) = next_event(early_run.as_mut()) => {
                    self.observe(&event);
                    continue;
                }
                chunk = chunks.next() => chunk,
            };
            match chunk {
                Some(Ok(ReplyChunk::Text(text))) => {
                    self.written += text.len();
                    (self.listener)(StreamEvent::Text(&text));
                    if parser.feed(&text) > 0 {
                        self.advance(&parser, early_run);
                    }
                }
                Some(Ok(ReplyChunk::Done(reply))) => return Ok(reply),
                Some(Err(error)) => return Err(error),
                None => return Err(ModelError::interrupted(self.creation.model.name())),
            }
        }
    }

    /// Starts or extends the early run with the steps that have arrived.
    fn advance(&mut self, parser: &ReplyParser, early_run: &mut Option<EarlyRun>) {
        let Some(text) = parser.beginning() else {
            return;
        };
        let is_extended = match early_run {
            Some(early_run) => early_run.try_extend(text, self.creation),
            None => {
                // The complete plan must not start either, and reports why.
                *early_run = EarlyRun::start(text, self.creation, self.launcher, &self.run)
                    .unwrap_or_default();
                if let Some(early_run) = early_run {
                    (self.listener)(StreamEvent::RunStarted(&early_run.run.canceller()));
                }
                early_run.is_some()
            }
        };
        if let Some(early_run) = early_run.as_ref().filter(|_| is_extended) {
            (self.listener)(StreamEvent::PlanGrew(&early_run.plan));
        }
    }

    /// Completes plan creation and the run. Returns `None` if there is no plan to run.
    async fn finish(
        &mut self,
        conversation: &mut PlanConversation<'_>,
        early_run: Option<EarlyRun>,
    ) -> Result<Option<RunSummary>, StreamedRunError> {
        let Some(early_run) = early_run else {
            self.request_plan(conversation).await;
            return match runnable(&conversation.created) {
                Some(plan) => self.run_complete(&plan).await.map(Some),
                None => Ok(None),
            };
        };
        if let Some(plan) = runnable(&conversation.created)
            // Only a plan that begins with the running steps can continue their run; any other one needs a new run.
            && extends(&early_run.plan.checked, &plan.checked, &self.creation.check)
        {
            return self.run_confirmed(plan, early_run).await.map(Some);
        }
        let (before, first_steps) = (early_run.plan.clone(), early_run.first_steps);
        let buffered = self.abandon(early_run).await;
        let entries = buffered.entries();
        // The abandoned run is stored before the model is asked again, which may take long or fail.
        let journal = match self.storage {
            Some(storage) => {
                let stored = storage.abandon(&before, first_steps)?;
                buffered
                    .forward_to(Arc::clone(&stored.journal), stored.header)
                    .await?;
                Some((storage, stored.journal))
            }
            None => None,
        };
        self.request_plan(conversation).await;
        let Some(plan) = runnable(&conversation.created) else {
            return Ok(None);
        };
        let discarded = discarded_steps(&before.checked, &plan.checked);
        self.early_calls.use_answered(&discarded);
        let mut history = History::new(&entries);
        for step in &discarded {
            history.forget(step);
        }
        let journal = match journal {
            Some((storage, journal)) => Some((journal, storage.go_on(&plan, &discarded)?)),
            None => None,
        };
        self.run_to_end(&plan, journal, Some(history))
            .await
            .map(Some)
    }

    /// Requests plans without running them early, until one is valid or the tries are used up. A model whose first plan was wrong is
    /// likely to be wrong again, and the correct steps of that plan have mostly run already.
    async fn request_plan(&mut self, conversation: &mut PlanConversation<'_>) {
        while let Some(request) = conversation.request() {
            let answer = answer(self.creation.model, request).await;
            self.process_reply(conversation, answer);
        }
    }

    fn process_reply(
        &mut self,
        conversation: &mut PlanConversation<'_>,
        answer: Result<Reply, ModelError>,
    ) {
        let before = conversation.created.attempts.len();
        conversation.process_reply(answer);
        for attempt in conversation.created.attempts.iter().skip(before) {
            (self.listener)(StreamEvent::PlanAttempt(attempt));
        }
    }

    /// Runs a complete plan without an early run before it.
    async fn run_complete(&mut self, plan: &CreatedPlan) -> Result<RunSummary, StreamedRunError> {
        let journal = match self.storage {
            Some(storage) => {
                let RunJournal { journal, header } = storage.begin(plan, None)?;
                Some((journal, header))
            }
            None => None,
        };
        self.run_to_end(plan, journal, None).await
    }

    /// Continues the early run with the complete plan.
    async fn run_confirmed(
        &mut self,
        plan: CreatedPlan,
        mut early_run: EarlyRun,
    ) -> Result<RunSummary, StreamedRunError> {
        if let Some(storage) = self.storage {
            // The entries must reach the store before `close` below lets calls with effects start.
            let stored = match storage.begin(&plan, Some(early_run.first_steps)) {
                Ok(stored) => {
                    early_run
                        .journal
                        .forward_to(stored.journal, stored.header)
                        .await
                }
                Err(error) => Err(error),
            };
            if let Err(error) = stored {
                self.abandon(early_run).await;
                return Err(error.into());
            }
        } else {
            // Without a store, the buffered entries are of no use.
            early_run.journal.forget();
        }
        (self.listener)(StreamEvent::Planned(&plan));
        early_run.extend(plan);
        self.early_calls.complete_after(early_run.extensions);
        early_run.run.close();
        let summary = self.observe_to_end(early_run.run).await;
        self.early_calls.use_all();
        Ok(summary)
    }

    /// Cancels the early run and waits until it has ended.
    async fn abandon(&mut self, early_run: EarlyRun) -> BufferedJournal {
        // The run may begin again under the same id, so this waits until the old one has stopped completely.
        early_run.run.canceller().cancel();
        let summary = self.observe_to_end(early_run.run).await;
        (self.listener)(StreamEvent::Abandoned(&summary));
        self.abandoned = Some(summary);
        early_run.journal
    }

    /// Starts the run of a complete plan, which reuses the results in `history`, and waits for its end.
    async fn run_to_end(
        &mut self,
        plan: &CreatedPlan,
        journal: Option<(Arc<dyn Journal>, Value)>,
        history: Option<History>,
    ) -> Result<RunSummary, StreamedRunError> {
        (self.listener)(StreamEvent::Planned(plan));
        self.early_calls.complete_after(0);
        let run = self.launcher.launch(LaunchRequest {
            run: self.run.clone(),
            plan: plan.checked.clone(),
            journal,
            history,
            is_provisional: false,
        });
        let run = run.map_err(StreamedRunError::Launch)?;
        (self.listener)(StreamEvent::RunStarted(&run.canceller()));
        Ok(self.observe_to_end(run).await)
    }

    async fn observe_to_end(&mut self, mut run: Box<dyn LaunchedRun>) -> RunSummary {
        while let Some(event) = run.next_event().await {
            self.observe(&event);
        }
        run.finish().await
    }

    fn observe(&mut self, event: &StampedEvent) {
        if self.early_calls.observe(&event.event) {
            self.first_call.get_or_insert(self.written);
        }
        (self.listener)(StreamEvent::Run(event));
    }

    fn first_call_at(&self) -> Option<f64> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "replies are shorter than 2^53 bytes"
        )]
        self.first_call
            .map(|first| first as f64 / self.written.max(1) as f64)
    }
}

/// Returns the plan if it is meant to be run.
fn runnable(created: &PlanResponse) -> Option<CreatedPlan> {
    let plan = created.plan.as_ref()?;
    (plan.checked.plan().mode == Mode::Run).then(|| plan.clone())
}

async fn next_event(early_run: Option<&mut EarlyRun>) -> Option<StampedEvent> {
    match early_run {
        Some(early_run) => early_run.run.next_event().await,
        None => None,
    }
}
