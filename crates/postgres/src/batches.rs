//! Requests of several threads that share a transaction: those that arrive during one transaction go into the next.

use std::sync::mpsc::{self, SyncSender};
use std::sync::{Mutex, MutexGuard, PoisonError};

use planwright_engine::RunId;
use planwright_store::database::QueryError;

/// Requests that wait for a transaction, and their answers.
pub(crate) struct RequestBatches<Q, A>(Mutex<State<Q, A>>);

struct State<Q, A> {
    waiting: Vec<Waiting<Q, A>>,
    /// True while a thread answers requests.
    is_led: bool,
}

struct Waiting<Q, A> {
    run: RunId,
    request: Q,
    turn: SyncSender<Turn<A>>,
}

/// The turn of a waiting thread.
enum Turn<A> {
    Answer(Result<A, QueryError>),
    /// Answer the requests that wait, its own among them.
    Lead,
}

impl<Q, A> RequestBatches<Q, A> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(State {
            waiting: Vec::new(),
            is_led: false,
        }))
    }

    /// Waits for the answer to a request about a run. The thread that comes first answers all that wait, with `answer`, which gets them by
    /// the order of their runs and returns their answers in this order.
    pub(crate) fn submit(
        &self,
        run: &RunId,
        request: Q,
        answer: impl FnOnce(Vec<Q>) -> Vec<Result<A, QueryError>>,
    ) -> Result<A, QueryError> {
        // One turn to lead, and one answer.
        let (turn, turns) = mpsc::sync_channel(2);
        let mut state = self.state();
        let leads = !std::mem::replace(&mut state.is_led, true);
        state.waiting.push(Waiting {
            run: run.clone(),
            request,
            turn,
        });
        drop(state);
        let stopped = || QueryError::failed("the thread of its transaction has stopped");
        if !leads && let Turn::Answer(answer) = turns.recv().map_err(|_| stopped())? {
            return answer;
        }
        let _leadership = Leadership(self);
        let mut batch = std::mem::take(&mut self.state().waiting);
        // Processes that lock the same rows in the same order cannot wait for each other forever.
        batch.sort_by(|a, b| a.run.as_str().cmp(b.run.as_str()));
        let (requests, senders): (Vec<Q>, Vec<_>) = batch
            .into_iter()
            .map(|waiting| (waiting.request, waiting.turn))
            .unzip();
        for (answer, sender) in answer(requests).into_iter().zip(senders) {
            // All of them wait.
            let _ = sender.send(Turn::Answer(answer));
        }
        match turns.recv() {
            Ok(Turn::Answer(answer)) => answer,
            Ok(Turn::Lead) | Err(_) => Err(stopped()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<Q, A>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turn of a thread. Its end, in whichever way, is the turn of the first one that waits.
struct Leadership<'a, Q, A>(&'a RequestBatches<Q, A>);

impl<Q, A> Drop for Leadership<'_, Q, A> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        match state.waiting.first() {
            Some(next) => drop(next.turn.send(Turn::Lead)),
            None => state.is_led = false,
        }
    }
}
