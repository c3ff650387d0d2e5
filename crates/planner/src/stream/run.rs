//! From a question to a run: asked for, run ahead while it is written, made good where it was not sound.

use std::sync::Arc;

use futures::StreamExt;
use planwright_core::StepId;
use planwright_core::plan::Mode;
use planwright_engine::journal::{Entry, HeldBack};
use planwright_engine::run::History;
use planwright_engine::{Canceller, Engine, JournalError, RunSummary, StampedEvent, Start};

use super::ahead::Ahead;
use super::early::{EarlyCall, Notes};
use super::keeper::{Keeper, Kept};
use super::reading::Reading;
use super::same::{forgotten, goes_on};
use crate::create::{Attempt, Created, CreatedPlan, Creation, Dialogue};
use crate::model::{Delivery, ModelError, ModelErrorKind, ModelRequest, Piece, Reply, answer};

/// A plan that is to be created and run.
pub struct Streaming<'a> {
    /// How the plan is created.
    pub creation: Creation<'a>,
    /// What runs it.
    pub engine: &'a Engine,
    /// The run's id.
    pub run: Arc<str>,
    /// Who keeps the run, if anybody.
    pub keeper: Option<&'a dyn Keeper>,
    /// Who is told of what happens.
    pub listener: &'a mut (dyn FnMut(Told<'_>) + Send),
}

/// What happens while a plan is written and run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Told<'a> {
    /// The model has written this.
    Text(&'a str),
    /// The model has answered, and this was made of it.
    Attempt(&'a Attempt),
    /// A run begins, which this cancels. It is the second one where the first was abandoned.
    Launched(&'a Canceller),
    /// The plan is sound as far as it goes, and its run goes on with it. It has more steps each time.
    Grown(&'a CreatedPlan),
    /// The plan is there. From now on everything may be called.
    Planned(&'a CreatedPlan),
    /// Something happened in the run.
    Run(&'a StampedEvent),
    /// What ran early was of no plan that is sound. Where one comes, the run begins again with what of it can be used.
    Abandoned(&'a RunSummary),
}

/// What came of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Streamed {
    /// How the plan was created.
    pub created: Created,
    /// What the run came to; nothing where there is no plan to run.
    pub summary: Option<RunSummary>,
    /// What was called before the plan was whole. All of it merely reads.
    pub early: Vec<EarlyCall>,
    /// What the run had come to that the plan did not go on with.
    pub abandoned: Option<RunSummary>,
    /// Why nothing was run though there is a plan: the run cannot be kept.
    pub unkept: Option<JournalError>,
    /// How much of the model's answer was there when the first call was sent, between 0 and 1; nothing where all of it was.
    pub first_call_at: Option<f64>,
}

/// Has a plan written, and runs it: steps that change nothing as soon as the plan is sound up to them, all others once it is whole
/// and sound.
///
/// Dropping the future gives up the model's answer and the run.
pub async fn stream(streaming: Streaming<'_>) -> Streamed {
    let Streaming {
        creation,
        engine,
        run,
        keeper,
        listener,
    } = streaming;
    let mut course = Course {
        creation: &creation,
        engine,
        run,
        keeper,
        listener,
        notes: Notes::default(),
        written: 0,
        first_call: None,
        abandoned: None,
    };
    let mut dialogue = Dialogue::new(&creation);
    let mut ahead = None;
    if let Some(request) = dialogue.request() {
        match course.first(request, &mut ahead).await {
            // Only calls that merely read can have been made by then: the question is asked again.
            Err(error) if error.kind == ModelErrorKind::Interrupted && course.written > 0 => {
                dialogue.created.usage += error.usage;
            }
            answer => course.take(&mut dialogue, answer),
        }
    }
    let ran = course.last(&mut dialogue, ahead).await;
    let (summary, unkept) = match ran {
        Ok(summary) => (summary, None),
        Err(error) => (None, Some(error)),
    };
    Streamed {
        created: dialogue.created,
        summary,
        first_call_at: course.first_call_at(),
        early: course.notes.calls,
        abandoned: course.abandoned,
        unkept,
    }
}

/// What goes along from the question to the end of the run.
struct Course<'a> {
    creation: &'a Creation<'a>,
    engine: &'a Engine,
    run: Arc<str>,
    keeper: Option<&'a dyn Keeper>,
    listener: &'a mut (dyn FnMut(Told<'_>) + Send),
    notes: Notes,
    /// How many bytes the model has written.
    written: usize,
    /// How many there were when the first call was sent.
    first_call: Option<usize>,
    abandoned: Option<RunSummary>,
}

impl Course<'_> {
    /// Listens to the first answer, and runs ahead.
    async fn first(
        &mut self,
        request: ModelRequest,
        ahead: &mut Option<Ahead>,
    ) -> Result<Reply, ModelError> {
        let mut pieces = self.creation.model.ask(ModelRequest {
            delivery: Delivery::Live,
            ..request
        });
        let settings = self.creation.settings;
        let mut reader = Reading::new(settings.notation, settings.reply_bytes);
        loop {
            let piece = tokio::select! {
                biased;
                Some(event) = next_event(ahead.as_mut()) => {
                    self.hear(&event);
                    continue;
                }
                piece = pieces.next() => piece,
            };
            match piece {
                Some(Ok(Piece::Text(text))) => {
                    self.written += text.len();
                    (self.listener)(Told::Text(&text));
                    if reader.feed(&text) > 0 {
                        self.look(&reader, ahead);
                    }
                }
                Some(Ok(Piece::Done(reply))) => return Ok(reply),
                Some(Err(error)) => return Err(error),
                None => return Err(ModelError::broken_off(self.creation.model.name())),
            }
        }
    }

    /// Looks at the plan as far as it is there.
    fn look(&mut self, reader: &Reading, ahead: &mut Option<Ahead>) {
        let Some(written) = reader.beginning() else {
            return;
        };
        let has_grown = match ahead {
            Some(ahead) => ahead.grow(written, self.creation),
            None => {
                *ahead = Ahead::begin(written, self.creation, self.engine, &self.run);
                if let Some(ahead) = ahead {
                    (self.listener)(Told::Launched(&ahead.handle.canceller()));
                }
                ahead.is_some()
            }
        };
        if let Some(ahead) = ahead.as_ref().filter(|_| has_grown) {
            (self.listener)(Told::Grown(&ahead.plan));
        }
    }

    /// Goes on from the first answer to the end of the run; nothing where there is no plan to run.
    async fn last(
        &mut self,
        dialogue: &mut Dialogue<'_>,
        ahead: Option<Ahead>,
    ) -> Result<Option<RunSummary>, JournalError> {
        let Some(ahead) = ahead else {
            self.ask(dialogue).await;
            return match runnable(&dialogue.created) {
                Some(plan) => self.whole(&plan).await.map(Some),
                None => Ok(None),
            };
        };
        if let Some(plan) = runnable(&dialogue.created)
            && goes_on(&ahead.plan.checked, &plan.checked, &self.creation.check)
        {
            return self.confirmed(plan, ahead).await.map(Some);
        }
        let (before, first) = (ahead.plan.clone(), ahead.first);
        let held = self.abandon(ahead).await;
        let entries = held.entries();
        let journal = match self.keeper {
            Some(keeper) => {
                let kept = keeper.abandon(&before, first)?;
                held.pass_on(Arc::clone(&kept.journal), kept.header).await?;
                Some((keeper, kept.journal))
            }
            None => None,
        };
        self.ask(dialogue).await;
        let Some(plan) = runnable(&dialogue.created) else {
            return Ok(None);
        };
        let forgotten = forgotten(&before.checked, &plan.checked);
        self.notes.answers_count(&forgotten);
        let mut start = self.again(&plan, &entries, &forgotten);
        if let Some((keeper, journal)) = journal {
            start = start.with_journal(journal, keeper.go_on(&plan, &forgotten)?);
        }
        Ok(Some(self.drive(start, &plan).await))
    }

    /// Asks on, without running ahead, until there is a plan or no further try.
    async fn ask(&mut self, dialogue: &mut Dialogue<'_>) {
        while let Some(request) = dialogue.request() {
            let answer = answer(self.creation.model, request).await;
            self.take(dialogue, answer);
        }
    }

    fn take(&mut self, dialogue: &mut Dialogue<'_>, answer: Result<Reply, ModelError>) {
        let before = dialogue.created.attempts.len();
        dialogue.take(answer);
        for attempt in dialogue.created.attempts.iter().skip(before) {
            (self.listener)(Told::Attempt(attempt));
        }
    }

    /// Runs a plan of which nothing ran ahead.
    async fn whole(&mut self, plan: &CreatedPlan) -> Result<RunSummary, JournalError> {
        let mut start = Start::new(Arc::clone(&self.run), plan.checked.clone());
        if let Some(keeper) = self.keeper {
            let Kept { journal, header } = keeper.begin(plan, None)?;
            start = start.with_journal(journal, header);
        }
        Ok(self.drive(start, plan).await)
    }

    /// Goes on with the whole plan, of which the first steps run already.
    async fn confirmed(
        &mut self,
        plan: CreatedPlan,
        mut ahead: Ahead,
    ) -> Result<RunSummary, JournalError> {
        if let Some(keeper) = self.keeper {
            let kept = match keeper.begin(&plan, Some(ahead.first)) {
                Ok(kept) => ahead.journal.pass_on(kept.journal, kept.header).await,
                Err(error) => Err(error),
            };
            if let Err(error) = kept {
                self.abandon(ahead).await;
                return Err(error);
            }
        } else {
            ahead.journal.forget();
        }
        (self.listener)(Told::Planned(&plan));
        ahead.extend(plan);
        self.notes.whole_after(ahead.grown);
        ahead.handle.close();
        while let Some(event) = ahead.events.recv().await {
            self.hear(&event);
        }
        self.notes.all_count();
        Ok(ahead.handle.await)
    }

    /// Ends what ran ahead of a plan that does not come. What is under way is given up.
    async fn abandon(&mut self, mut ahead: Ahead) -> HeldBack {
        ahead.handle.cancel();
        while let Some(event) = ahead.events.recv().await {
            self.hear(&event);
        }
        let summary = ahead.handle.await;
        (self.listener)(Told::Abandoned(&summary));
        self.abandoned = Some(summary);
        ahead.journal
    }

    /// The same run with another plan, after what of it can be used.
    fn again(&self, plan: &CreatedPlan, entries: &[Entry], forgotten: &[StepId]) -> Start {
        let mut history = History::new(entries);
        for step in forgotten {
            history.forget(step);
        }
        Start::new(Arc::clone(&self.run), plan.checked.clone()).after(history)
    }

    async fn drive(&mut self, start: Start, plan: &CreatedPlan) -> RunSummary {
        (self.listener)(Told::Planned(plan));
        self.notes.whole_after(0);
        let (handle, mut events) = self.engine.launch(start);
        (self.listener)(Told::Launched(&handle.canceller()));
        while let Some(event) = events.recv().await {
            self.hear(&event);
        }
        handle.await
    }

    fn hear(&mut self, event: &StampedEvent) {
        if self.notes.hear(&event.event) {
            self.first_call.get_or_insert(self.written);
        }
        (self.listener)(Told::Run(event));
    }

    fn first_call_at(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "answers are shorter than that")]
        self.first_call
            .map(|first| first as f64 / self.written.max(1) as f64)
    }
}

/// The plan, where there is one that wants to be run.
fn runnable(created: &Created) -> Option<CreatedPlan> {
    let plan = created.plan.as_ref()?;
    (plan.checked.plan().mode == Mode::Run).then(|| plan.clone())
}

async fn next_event(ahead: Option<&mut Ahead>) -> Option<StampedEvent> {
    match ahead {
        Some(ahead) => ahead.events.recv().await,
        None => None,
    }
}

impl std::fmt::Debug for Streaming<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Streaming")
            .field("creation", &self.creation)
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}
