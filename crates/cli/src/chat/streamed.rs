//! A plan that runs while it is written.

use std::sync::{Arc, Mutex, PoisonError};

use planwright::engine::MemoryJournal;
use planwright::planner::create::PlanAttempt;
use planwright::planner::stream::{StreamEvent, StreamOutcome};
use planwright::service::{EventObserver, ObservedRun, random_id};

use super::calls::{CallHandler, CallOutcome};
use super::plans::{headline, without_plan};
use crate::approval::approver::ApprovalSubject;
use crate::args::RunFormat;
use crate::error::CommandError;
use crate::planning::create::RunAhead;
use crate::planning::progress;
use crate::run::early_run::{EarlyRunStore, in_vain};
use crate::runs::{run_storage, store};
use crate::system::{environment, telemetry};
use crate::view::live::{EndedStepLines, Live};

impl CallHandler<'_> {
    /// Has a plan written for `goal`, and runs it meanwhile.
    pub(super) async fn stream(&self, goal: &str) -> Result<CallOutcome, CommandError> {
        let context = self.context;
        let run = random_id();
        let mut options = context.options(environment::all(context.config));
        if let Some(store) = &context.store {
            options.durations = store.durations().map_err(store::explain)?;
            options.seal_key = store::seal_key(Some(store))?;
        }
        let keeper = EarlyRunStore {
            id: &run,
            source: "plan",
            store: context.store.as_ref(),
            sources: run_storage::sources(&context.arguments.tools)?,
            options: &options,
            config: context.config,
            memory: MemoryJournal::new(),
            state: Mutex::default(),
        };
        // Several runs may be in progress at once: lines are printed as steps end, and nothing is drawn.
        let live = Live::written_by(context.model.name(), RunFormat::Events, context.printer);
        let subject = ApprovalSubject {
            toolbox: &context.toolbox,
            stored: context.store.clone().map(|store| (store, &*run)),
            is_approved: false,
            live: &live,
        };
        let service = context.service();
        let engine = service
            .engine()
            .with_options(options.clone())
            .with_approver(context.approver(subject)?);
        let observed = ObservedRun::new(Arc::clone(&run), telemetry::parent());
        let observe = || service.observe(&observed);
        let mut hearing = ChatStreamListener {
            calling: self,
            goal,
            run: &run,
            lines: EndedStepLines::of_nothing(context.printer),
            observers: observe(),
            observe: &observe,
            waiting: Some(progress::Waiting::new(&format!(
                "{} writes a plan",
                context.model.name()
            ))),
            attempts: Vec::new(),
            is_announced: false,
            id: None,
        };
        let mut listener = |event: StreamEvent<'_>| hearing.hear(event);
        let ahead = RunAhead {
            engine: &engine,
            run: &run,
            keeper: &keeper,
            listener: &mut listener,
        };
        let streamed = self
            .requirements(goal)?
            .run(context.model.as_ref(), &context.arguments.planning, ahead)
            .await;
        let id = hearing.end();
        let StreamOutcome {
            created,
            summary,
            journal_error,
            ..
        } = streamed;
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner) += created.usage;
        match &id {
            Some(_) => progress::end(&created, context.model.name(), context.printer),
            None => progress::tell(&created, context.model.name(), context.printer),
        }
        if let Some(error) = journal_error {
            return Err(keeper.fault(&error));
        }
        Ok(match (id, summary, &created.plan) {
            (Some(id), Some(summary), _) => {
                if let Some(store) = &context.store {
                    run_storage::learn(store, &options.durations, &summary, context.printer);
                }
                self.outcome_of(&id, &summary)
            }
            // The plan asks to be shown without a run.
            (_, _, Some(plan)) => self.described(&self.add(goal, plan.text.clone())),
            (_, _, None) => {
                keeper.left(false, context.printer);
                without_plan(&created)
            }
        })
    }
}

/// Shows the events of the model and the run.
struct ChatStreamListener<'a> {
    calling: &'a CallHandler<'a>,
    goal: &'a str,
    run: &'a str,
    lines: EndedStepLines,
    observers: Vec<EventObserver>,
    /// Makes the observers of another run.
    observe: &'a (dyn Fn() -> Vec<EventObserver> + Sync),
    /// Until the plan is there.
    waiting: Option<progress::Waiting>,
    /// The model's answers so far.
    attempts: Vec<PlanAttempt>,
    is_announced: bool,
    /// The plan's id, once it is there.
    id: Option<String>,
}

impl ChatStreamListener<'_> {
    fn hear(&mut self, event: StreamEvent<'_>) {
        let context = self.calling.context;
        match event {
            StreamEvent::PlanAttempt(attempt) => self.attempts.push(attempt.clone()),
            StreamEvent::RunStarted(_) if !self.is_announced => {
                self.is_announced = true;
                let run = run_storage::short(self.run);
                self.print(|| {
                    context
                        .shown
                        .line(&format!("  a plan that is still being written, run {run}"));
                });
            }
            StreamEvent::PlanGrew(plan) => self.lines.grow(&plan.checked),
            StreamEvent::Planned(plan) => {
                self.lines.grow(&plan.checked);
                if let Some(waiting) = self.waiting.take() {
                    waiting.end();
                }
                progress::attempts(&self.attempts, context.printer);
                let id = self.calling.add(self.goal, plan.text.clone());
                if !self.is_announced {
                    self.is_announced = true;
                    let line = headline(&id, &plan.checked, self.run);
                    context.shown.line(&line);
                }
                self.id = Some(id);
            }
            StreamEvent::Run(event) => {
                for observer in &mut self.observers {
                    observer(event);
                }
                context.shown.run(self.run, event);
                self.print(|| self.lines.event(event));
            }
            StreamEvent::Abandoned(summary) => {
                self.lines.begin_again();
                self.observers = (self.observe)();
                if let Some(line) = in_vain(summary) {
                    self.print(|| context.shown.line(&format!("  {line}")));
                }
            }
            _ => {}
        }
    }

    /// Prints above the line that names the pending model.
    fn print(&self, print: impl FnOnce()) {
        match &self.waiting {
            Some(waiting) => waiting.suspend(print),
            None => print(),
        }
    }

    /// Ends the output. Returns the plan's id, if there is a plan.
    fn end(mut self) -> Option<String> {
        if let Some(waiting) = self.waiting.take() {
            waiting.end();
        }
        self.id
    }
}
