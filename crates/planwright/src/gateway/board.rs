//! What a run wants to know of people, for whoever asks how it stands.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use planwright_core::{Object, Value};
use tokio::sync::oneshot;

/// Open questions of a run that has become a task.
#[derive(Debug, Default)]
pub(super) struct Board(Mutex<Questions>);

#[derive(Debug, Default)]
struct Questions {
    asked: u64,
    open: BTreeMap<String, (Value, oneshot::Sender<Value>)>,
}

impl Board {
    /// Puts up a request to the client; its answer comes where that is said.
    pub(super) fn ask(&self, request: Value) -> oneshot::Receiver<Value> {
        let (answer, answered) = oneshot::channel();
        let mut questions = self.lock();
        questions.asked += 1;
        let key = format!("question-{}", questions.asked);
        questions.open.insert(key, (request, answer));
        answered
    }

    /// The open questions, by their keys: `inputRequests` as MCP writes them. Nothing where there are none.
    pub(super) fn open(&self) -> Option<Value> {
        let mut questions = self.lock();
        // Who does not wait any more has got the answer elsewhere.
        questions.open.retain(|_, (_, answer)| !answer.is_closed());
        let requests = questions.open.iter();
        let requests: Object = requests
            .map(|(key, (request, _))| (key.as_str().into(), request.clone()))
            .collect();
        (!requests.is_empty()).then(|| Value::from(requests))
    }

    /// Takes answers in, by the keys of their questions.
    pub(super) fn answer(&self, responses: &Value) {
        let mut questions = self.lock();
        for (key, response) in responses.as_object().into_iter().flatten() {
            if let Some((_, answer)) = questions.open.remove(&**key) {
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
