//! A run that begins while its plan is still being written, and its storage once the plan is known.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use planwright::config::Config;
use planwright::core::{StepId, Value};
use planwright::dialects::{ReadOptions, parse};
use planwright::engine::RunId;
use planwright::engine::options::RunOptions;
use planwright::engine::{Journal, JournalError, MemoryJournal, RunSummary};
use planwright::format::{ProcessV1, ToolSourcesV1};
use planwright::loaded_plan::LoadedPlan;
use planwright::planner::create::CreatedPlan;
use planwright::planner::stream::{EarlyRunStorage, RunJournal, StreamedRunError};
use planwright::stored::{self, StreamedRunStore};
use planwright_store::Store;

use crate::error::CommandError;
use crate::runs::store;
use crate::system::environment;
use crate::view::printer::Printer;

/// Stores a run whose plan is still being written, in the store or in memory.
pub(crate) struct EarlyRunStore<'a> {
    /// The run's id.
    pub(crate) id: &'a RunId,
    /// The name of the plan in messages.
    pub(crate) source: &'a str,
    pub(crate) store: Option<&'a Store>,
    pub(crate) sources: ToolSourcesV1,
    pub(crate) options: &'a RunOptions,
    pub(crate) config: &'a Config,
    /// The journal of a run that is not stored.
    pub(crate) memory: MemoryJournal,
    pub(crate) state: Mutex<EarlyRunState>,
}

/// The progress of an early run.
#[derive(Default)]
pub(crate) struct EarlyRunState {
    /// The journal of the run, once its plan is complete.
    journal: Option<Arc<dyn Journal>>,
    is_unfinished: bool,
    /// The reason why a valid plan cannot run.
    problem: Option<CommandError>,
}

impl EarlyRunStore<'_> {
    /// The journal of the run once its plan is complete, for revised plans.
    pub(crate) fn journal(&self) -> Option<Arc<dyn Journal>> {
        self.state().journal.clone()
    }

    /// Returns the reason why a valid plan did not run.
    pub(crate) fn launch_error(&self, error: &StreamedRunError) -> CommandError {
        let problem = self.state().problem.take();
        problem.unwrap_or_else(|| {
            CommandError::new(match error {
                StreamedRunError::Storage(error) => {
                    format!("the run was ended, since it cannot be stored: {error}")
                }
                StreamedRunError::Launch(error) => error.to_string(),
            })
        })
    }

    /// Reports the state of an interrupted run, with or without calls.
    pub(crate) fn report_interruption(&self, has_called: bool, printer: Printer) {
        let state = self.state();
        if state.is_unfinished {
            self.unfinished(printer);
        } else if state.journal.is_some() {
            store::print_resume_hint(self.id, self.store.is_some(), printer);
        } else if has_called {
            printer.status(
                "the plan was incomplete: only read-only calls were made, and nothing was stored",
            );
        }
    }

    /// Reports the options for a run whose plan was never complete.
    pub(crate) fn unfinished(&self, printer: Printer) {
        if self.store.is_some() {
            let id = store::short_id(self.id);
            printer.quote(&format!(
                "`planwright show {id}` shows what was called; the run cannot be resumed, since its plan was never complete"
            ));
        }
    }

    fn state(&self) -> MutexGuard<'_, EarlyRunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the run like any other.
    fn in_store<T>(&self, store: &Store, write: impl FnOnce(&StreamedRunStore<'_>) -> T) -> T {
        write(&StreamedRunStore {
            store,
            holder: &store::this_process(),
            id: self.id,
            sources: self.sources.clone(),
            client: None,
            options: self.options,
            loaded: &|text| created(self.source, text),
            now: &store::now,
        })
    }

    fn in_memory(&self, process: &ProcessV1) -> RunJournal {
        RunJournal {
            journal: Arc::new(self.memory.clone()),
            header: process.to_value(),
        }
    }

    fn process(&self, plan: &CreatedPlan) -> ProcessV1 {
        stored::process(&plan.checked, self.options, store::now())
    }

    fn begun(&self, run_journal: RunJournal, is_unfinished: bool) -> RunJournal {
        let mut state = self.state();
        state.journal = Some(Arc::clone(&run_journal.journal));
        state.is_unfinished = is_unfinished;
        run_journal
    }

    /// Checks that the external values of the plan are available.
    fn check_external_values(&self, plan: &CreatedPlan) -> Result<(), JournalError> {
        let Err(problem) = environment::get(&plan.checked, self.config) else {
            return Ok(());
        };
        let error = JournalError::new(problem.to_string());
        self.state().problem = Some(problem);
        Err(error)
    }
}

/// Returns a line about the calls of an early run that the final plan did not continue; `None` if there were none.
pub(crate) fn abandoned_calls(abandoned: &RunSummary) -> Option<String> {
    let mut steps: Vec<String> = Vec::new();
    for call in &abandoned.calls {
        let step = format!("`{}`", call.at);
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    (!steps.is_empty()).then(|| {
        format!(
            "the finished plan differs from its beginning; the calls made before are read-only: {}",
            steps.join(", ")
        )
    })
}

/// A created plan as it is loaded and stored; `source` is the name that messages use.
pub(crate) fn created(source: &str, text: &str) -> LoadedPlan {
    let options = ReadOptions::new(source).in_dialect("native");
    LoadedPlan::new(source, parse(text.as_bytes(), &options))
}

impl EarlyRunStorage for EarlyRunStore<'_> {
    fn begin(
        &self,
        plan: &CreatedPlan,
        beginning: Option<usize>,
    ) -> Result<RunJournal, JournalError> {
        self.check_external_values(plan)?;
        let run_journal = match self.store {
            Some(store) => self.in_store(store, |storage| storage.begin(plan, beginning))?,
            None => self.in_memory(&ProcessV1 {
                beginning,
                ..self.process(plan)
            }),
        };
        Ok(self.begun(run_journal, false))
    }

    fn abandon(&self, plan: &CreatedPlan, beginning: usize) -> Result<RunJournal, JournalError> {
        let run_journal = match self.store {
            Some(store) => self.in_store(store, |storage| storage.abandon(plan, beginning))?,
            None => self.in_memory(&ProcessV1 {
                beginning: Some(beginning),
                ..self.process(plan)
            }),
        };
        Ok(self.begun(run_journal, true))
    }

    fn go_on(&self, plan: &CreatedPlan, forgotten: &[StepId]) -> Result<Value, JournalError> {
        self.check_external_values(plan)?;
        let header = match self.store {
            Some(store) => self.in_store(store, |storage| storage.go_on(plan, forgotten))?,
            None => {
                let forgotten = forgotten.iter().map(|step| step.as_str().to_owned());
                let process = ProcessV1 {
                    forgotten: forgotten.collect(),
                    ..self.process(plan)
                };
                process.to_value()
            }
        };
        self.state().is_unfinished = false;
        Ok(header)
    }
}
