//! The link between a stored run and its store: the requests of other processes to the run, and what the store learns from it, which is the
//! durations of calls and the structure of the answers of tools that declare no output schema.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use planwright_core::{Catalog, SeenAnswers, Tool, ToolName};
use planwright_engine::{Approver, Canceller, Durations, Engine, RunOptions, ToolOutput};
use planwright_store::{RecordedAnswers, Store, StoreError};

use super::Planwright;
use super::requests::{RequestWatch, RunRequests};
use crate::stored::StoredRunError;

/// The maximum number of answers of one tool that a run records.
const MAX_ANSWERS: u64 = 1_000;

/// The link of a run to its store, for as long as the run lasts. A run that is not stored has an empty one.
pub(super) struct StoreLink {
    learning: Option<Learning>,
    requests: Option<RunRequests>,
    watch: Option<RequestWatch>,
}

impl StoreLink {
    /// Links a run to the store that records what it teaches and to the one with requests of other processes, if it has them.
    pub(super) fn new(learning: Option<Learning>, requests: Option<RunRequests>) -> Self {
        Self {
            learning,
            requests,
            watch: None,
        }
    }

    /// Returns the engine of the run, which records the answers of its tools.
    pub(super) fn engine(&self, planwright: &Planwright) -> Engine {
        match &self.learning {
            None => planwright.plain_engine(),
            Some(learning) => {
                let bound = planwright.open().bound_backend();
                Engine::new(bound.recording(Arc::clone(&learning.answers)))
            }
        }
    }

    /// Returns the approver of the run, which also follows approvals of the whole plan by other processes.
    pub(super) fn approver(&self, approver: Arc<dyn Approver>) -> Arc<dyn Approver> {
        match &self.requests {
            None => approver,
            Some(requests) => requests.approver(approver),
        }
    }

    /// Watches for requests to the run from now on.
    pub(super) fn watch(&mut self, canceller: Canceller) {
        let requests = self.requests.take();
        self.watch = requests.map(|requests| requests.watch(move || canceller.cancel()));
    }

    /// Ends approvals of the whole plan: it has steps that were not shown.
    pub(super) fn extend(&self) {
        if let Some(watch) = &self.watch {
            watch.extend();
        }
    }

    /// Stores what the run has taught, once it has ended.
    pub(super) async fn learn(&mut self, durations: &Durations) {
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
pub(super) struct Learning {
    store: Store,
    before: Durations,
    answers: Arc<AnswerRecord>,
    secrets: Vec<Arc<str>>,
}

impl Learning {
    /// Creates the recorder of a run that begins with these options.
    pub(super) fn new(store: Store, options: &RunOptions) -> Self {
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

/// The answers of one run.
#[derive(Debug, Default)]
pub(super) struct AnswerRecord(Mutex<HashMap<ToolName, (Arc<Tool>, SeenAnswers)>>);

impl AnswerRecord {
    pub(super) fn add(&self, tool: &Arc<Tool>, output: &ToolOutput) {
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
pub(super) fn now() -> SystemTime {
    SystemTime::now()
}
