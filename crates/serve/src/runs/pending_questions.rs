//! Pending questions of a run to people, for clients that poll its state.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use planwright_core::{Object, Value};
use tokio::sync::oneshot;

/// Open questions of a run that has become a task.
#[derive(Debug, Default)]
pub(crate) struct PendingQuestions(Mutex<Questions>);

type Questions = BTreeMap<String, (Value, oneshot::Sender<Value>)>;

/// The key of a question about `subject`, the same in each process: an answer that comes late is never taken for that to another
/// question.
pub(crate) fn key(subject: &str) -> String {
    let start = subject.get(..32).unwrap_or(subject);
    format!("question-{start}")
}

impl PendingQuestions {
    /// Adds a request to the client about `subject`, the digest of a call, and returns the receiver of its answer.
    pub(crate) fn ask(&self, request: Value, subject: &str) -> oneshot::Receiver<Value> {
        let (answer, answered) = oneshot::channel();
        self.lock().insert(key(subject), (request, answer));
        answered
    }

    /// The open questions, by their keys: `inputRequests` as MCP writes them. `None` if there are none.
    pub(crate) fn open(&self) -> Option<Value> {
        let mut questions = self.lock();
        // A closed receiver got its answer elsewhere.
        questions.retain(|_, (_, answer)| !answer.is_closed());
        let requests = questions.iter();
        let requests: Object = requests
            .map(|(key, (request, _))| (key.as_str().into(), request.clone()))
            .collect();
        (!requests.is_empty()).then(|| Value::from(requests))
    }

    /// Delivers answers by the keys of their questions.
    pub(crate) fn answer(&self, responses: &Value) {
        let mut questions = self.lock();
        for (key, response) in responses.as_object().into_iter().flatten() {
            if let Some((_, answer)) = questions.remove(&**key) {
                // As above.
                let _ = answer.send(response.clone());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Questions> {
        // Nothing that may panic happens while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
