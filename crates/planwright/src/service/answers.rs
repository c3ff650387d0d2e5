//! The record of the answers of tools that declare no output schema. Plans are checked against the recorded structure.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use futures::FutureExt;
use futures::future::BoxFuture;
use planwright_core::{Catalog, SeenAnswers, Tool, ToolName};
use planwright_engine::{ToolBackend, ToolCall, ToolError, ToolOutput};
use planwright_store::{RecordedAnswers, Store, StoreError};

use super::launch::BoundBackend;

/// The maximum number of answers of one tool that a run records.
const MAX_ANSWERS: u64 = 1_000;

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

/// The answers of one run.
#[derive(Debug, Default)]
pub(super) struct AnswerRecord(Mutex<HashMap<ToolName, (Arc<Tool>, SeenAnswers)>>);

impl AnswerRecord {
    fn add(&self, tool: &Arc<Tool>, output: &ToolOutput) {
        let mut tools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = tools.entry(tool.qualified_name());
        let (_, answers) = entry.or_insert_with(|| (Arc::clone(tool), SeenAnswers::default()));
        if answers.calls < MAX_ANSWERS {
            answers.add(&output.value);
        }
    }

    /// Stores the answers, except those with one of `secrets` among the names of fields.
    pub(super) fn save(
        &self,
        store: &Store,
        secrets: &[Arc<str>],
        now: SystemTime,
    ) -> Result<(), StoreError> {
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

/// The backends of a run whose answers are recorded.
pub(super) struct RecordingBackend {
    pub(super) bound: BoundBackend,
    pub(super) record: Arc<AnswerRecord>,
}

impl ToolBackend for RecordingBackend {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        if call.tool.seen.is_none() {
            return self.bound.call(call);
        }
        let tool = Arc::clone(&call.tool);
        let answer = self.bound.call(call);
        async move {
            let output = answer.await?;
            self.record.add(&tool, &output);
            Ok(output)
        }
        .boxed()
    }
}

impl fmt::Debug for RecordingBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordingBackend").finish_non_exhaustive()
    }
}
