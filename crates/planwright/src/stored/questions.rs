//! The calls of a stored run that wait for a decision.

use std::sync::Arc;
use std::time::SystemTime;

use planwright_engine::Decision;
use planwright_engine::approval::CallSubject;
use planwright_engine::event::Address;
use planwright_engine::journal::Entry;
use planwright_engine::run::History;
use planwright_store::{NewDecision, Store, StoreError};

use super::{StoredRun, StoredRunError};

/// A call of a stored run that waits for a decision.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpenQuestion {
    /// The run's whole id.
    pub run: String,
    /// The step, item or round that wants to call.
    pub at: Arc<Address>,
    /// The exact call.
    pub subject: CallSubject,
}

impl OpenQuestion {
    /// The digest of the call: what a decision has to name.
    pub fn digest(&self) -> String {
        self.subject.digest(&self.run, &self.at)
    }

    /// Stores a decision about the call, for whichever process has the run or resumes it. `by` says who decided.
    ///
    /// # Errors
    ///
    /// Those of [`Store::decide`].
    pub fn decide(
        &self,
        store: &Store,
        decision: Decision,
        by: Option<String>,
        now: SystemTime,
    ) -> Result<(), StoreError> {
        let new = NewDecision {
            at: Arc::clone(&self.at),
            digest: self.digest(),
            decision,
            by,
            decided: now,
        };
        store.decide(&self.run, &new)
    }
}

/// The calls of a run that wait for a decision, by address; none of an imported run that was not resumed since. Those that were decided about and not resumed since are among them.
///
/// # Errors
///
/// If there is no such run, or it cannot be read.
pub fn open_questions(store: &Store, selector: &str) -> Result<Vec<OpenQuestion>, StoredRunError> {
    let info = store.run(selector)?;
    let run = info.id;
    let history = match StoredRun::read(store, &run) {
        Ok(kept) => kept.history()?,
        // A program that drives the store by itself stores headers of its own.
        Err(StoredRunError::Unreadable(_)) => {
            let entries = store
                .entries(&run)
                .and_then(Iterator::collect::<Result<Vec<Entry>, _>>)?;
            let (imported, own) = entries.split_at(info.imported.unwrap_or(0).min(entries.len()));
            let mut history = History::new(imported);
            if info.imported.is_some() {
                history.revoke_consent();
            }
            for entry in own {
                history.add(entry);
            }
            history
        }
        Err(error) => return Err(error),
    };
    let mut questions: Vec<OpenQuestion> = history
        .steps()
        .filter_map(|(at, past)| {
            Some(OpenQuestion {
                run: run.clone(),
                at: Arc::clone(at),
                subject: past.open_question()?.clone(),
            })
        })
        .collect();
    questions.sort_by_key(|question| question.at.to_string());
    Ok(questions)
}
