//! The journal of a run, from which the run can be inspected, resumed and replayed. A run is a pure function of its timed inputs. So
//! its journal holds exactly the inputs and the decisions of the run. They suffice to resume the run after its process has died, and
//! to verify later that it would decide the same again.
//!
//! Design: [The journal](https://github.com/planwright/planwright/blob/main/docs/design/journal.md).

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use planwright_core::{PlanDigest, ServerName, Value};

use crate::approval::CallSubject;
use crate::backend::{ToolError, ToolOutput};
use crate::event::Address;
use crate::id::RunId;
use crate::run::{Choice, History, RunStatus, SkipReason, StepStatus};
use crate::schedule::Timer;

/// An entry of a journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The time since the start of the run; time between two processes does not count.
    pub at: Duration,
    /// The turn of the driver, from 0. All inputs of a turn were applied before anything new was started.
    pub turn: u64,
    /// The record.
    pub record: Record,
}

/// An input or a decision of a run. Secrets are replaced by `[redacted]`.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A process has begun to drive the run: the first one, or one that resumes it. The owner of the journal stores differences in its
    /// settings.
    Opened {
        /// The run's id, if it is recorded.
        run: Option<RunId>,
        /// The plan's digest.
        digest: PlanDigest,
        /// Further data of the caller, for resuming the run.
        header: Value,
    },
    /// Decision: this call is to be sent.
    Sent {
        /// The step, item or round that called.
        at: Arc<Address>,
        /// The tool's server.
        server: ServerName,
        /// The tool's name at its server.
        tool: Arc<str>,
        /// The number of the attempt over all processes, from 1.
        attempt: u32,
        /// The arguments.
        args: Value,
        /// The [digest of the call](crate::approval::CallSubject::digest), if it needs consent.
        consent: Option<Arc<str>>,
    },
    /// Input: a call was answered.
    Answered {
        /// The step, item or round that called.
        at: Arc<Address>,
        /// The number of the attempt.
        attempt: u32,
        /// The answer.
        result: Result<ToolOutput, ToolError>,
    },
    /// Decision: this call was aborted; its answer is ignored.
    Aborted {
        /// The step, item or round that called.
        at: Arc<Address>,
        /// The number of the attempt.
        attempt: u32,
    },
    /// Decision: a person is to be asked.
    Asked {
        /// The step, item or round that makes the call.
        at: Arc<Address>,
        /// The call to decide about.
        subject: Box<CallSubject>,
        /// The reason for asking, as one clause, if it is known.
        reason: Option<Arc<str>>,
    },
    /// Input: a person has decided about a call.
    Decided {
        /// The step, item or round that makes the call.
        at: Arc<Address>,
        /// True if the call is allowed.
        approved: bool,
        /// The replacement arguments, if any.
        changed_args: Option<Value>,
        /// The reason for a rejection, in the person's words.
        because: Option<Arc<str>>,
    },
    /// Input: a person's choice about a step, made when the run was resumed.
    Chosen {
        /// The step, item or round.
        at: Arc<Address>,
        /// The choice.
        choice: Choice,
    },
    /// Input: a timer has expired.
    TimerFired {
        /// The step, item or round that the timer belongs to.
        at: Arc<Address>,
        /// The timer.
        timer: Timer,
    },
    /// Input: the plan has further steps. The owner of the journal stores the plan itself.
    Extended {
        /// The digest of the longer plan.
        digest: PlanDigest,
        /// The number of its steps.
        steps: usize,
    },
    /// Input: no further steps follow.
    Closed,
    /// Input: the run drains. Nothing new starts from here on, and calls in flight may end.
    Draining,
    /// Input: the run was cancelled.
    Cancelled,
    /// Input: the time limit of the run was exceeded.
    OutOfTime,
    /// Input: the records that follow, up to [`Resumed`](Self::Resumed), arrived while the run was computing.
    Paused {
        /// The number of commands executed since the last input.
        after: u64,
    },
    /// Input: the run resumes the interrupted work.
    Resumed,
    /// Decision: a step, item or round has ended.
    Settled {
        /// The step, item or round.
        at: Arc<Address>,
        /// The final status.
        status: StepStatus,
        /// The output, unless it is the answer to its last call or composed of the outputs of its parts.
        output: Option<Value>,
        /// The error, if it failed.
        error: Option<ToolError>,
        /// True if the plan handles the failure.
        handled: bool,
        /// The reason why it did not run, if it did not.
        reason: Option<SkipReason>,
        /// The time at which it began.
        started: Option<Duration>,
    },
    /// Decision: this process has nothing more to do.
    Ended {
        /// The status of the run.
        status: RunStatus,
    },
}

impl Record {
    /// Returns the data of the caller if this is an opening record, else `None`.
    pub fn header(&self) -> Option<&Value> {
        match self {
            // No wildcard, so that a new record does not compile until it is decided whether it has a header.
            Self::Opened { header, .. } => Some(header),
            Self::Sent { .. }
            | Self::Answered { .. }
            | Self::Aborted { .. }
            | Self::Asked { .. }
            | Self::Decided { .. }
            | Self::Chosen { .. }
            | Self::TimerFired { .. }
            | Self::Extended { .. }
            | Self::Closed
            | Self::Draining
            | Self::Cancelled
            | Self::OutOfTime
            | Self::Paused { .. }
            | Self::Resumed
            | Self::Settled { .. }
            | Self::Ended { .. } => None,
        }
    }

    /// Returns true if the run may have another plan from here on.
    pub fn may_change_plan(&self) -> bool {
        match self {
            Self::Opened { .. } | Self::Extended { .. } => true,
            Self::Sent { .. }
            | Self::Answered { .. }
            | Self::Aborted { .. }
            | Self::Asked { .. }
            | Self::Decided { .. }
            | Self::Chosen { .. }
            | Self::TimerFired { .. }
            | Self::Closed
            | Self::Draining
            | Self::Cancelled
            | Self::OutOfTime
            | Self::Paused { .. }
            | Self::Resumed
            | Self::Settled { .. }
            | Self::Ended { .. } => false,
        }
    }

    /// Returns true if this is an input. Everything else follows from the inputs.
    pub fn is_input(&self) -> bool {
        match self {
            // A replay feeds exactly these into a new run. A record that is missing here would be compared instead of applied.
            Self::Opened { .. }
            | Self::Answered { .. }
            | Self::Decided { .. }
            | Self::Chosen { .. }
            | Self::TimerFired { .. }
            | Self::Extended { .. }
            | Self::Closed
            | Self::Draining
            | Self::Cancelled
            | Self::OutOfTime
            | Self::Paused { .. }
            | Self::Resumed => true,
            Self::Sent { .. }
            | Self::Aborted { .. }
            | Self::Asked { .. }
            | Self::Settled { .. }
            | Self::Ended { .. } => false,
        }
    }

    /// The step, item or round of the record.
    pub fn address(&self) -> Option<&Arc<Address>> {
        match self {
            Self::Sent { at, .. }
            | Self::Answered { at, .. }
            | Self::Aborted { at, .. }
            | Self::Asked { at, .. }
            | Self::Decided { at, .. }
            | Self::Chosen { at, .. }
            | Self::TimerFired { at, .. }
            | Self::Settled { at, .. } => Some(at),
            Self::Opened { .. }
            | Self::Extended { .. }
            | Self::Closed
            | Self::Draining
            | Self::Cancelled
            | Self::OutOfTime
            | Self::Paused { .. }
            | Self::Resumed
            | Self::Ended { .. } => None,
        }
    }
}

/// A durable, ordered log of one run.
pub trait Journal: Send + Sync + 'static {
    /// Prepares the journal for a process that drives `run` and resumes it from `history`, or begins it if there is
    /// none. It is called before the first [`append`](Self::append) of a process, and may be called again before that.
    ///
    /// A journal that knows its contents refuses another run, and a history that does not match them. The default
    /// accepts everything.
    ///
    /// # Errors
    ///
    /// The reason why the run must not use the journal. Nothing is called then.
    fn open(&self, _run: &RunId, _history: Option<&History>) -> Result<(), JournalError> {
        Ok(())
    }

    /// Appends `entries` after all earlier ones. They are accepted before this returns. The future completes once they and all earlier
    /// entries would survive a crash of the machine. A panic means that they are not stored.
    fn append(&self, entries: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>>;

    /// Returns true if it is certain that no other process drives the run at this moment. It is called right before each tool call is sent,
    /// so it must not block.
    fn is_exclusive(&self) -> bool {
        true
    }

    /// Makes certain again that no other process drives the run.
    ///
    /// # Errors
    ///
    /// The reason why that is not certain. Nothing more is called then.
    fn confirm_exclusive(&self) -> BoxFuture<'static, Result<(), JournalError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Compares the number of entries in a journal with the number from which the history of a run was read.
///
/// # Errors
///
/// If they differ: the history is missing, stale, or of another journal.
pub fn check_history(stored: usize, history: Option<&History>) -> Result<(), JournalError> {
    // The number is enough: entries are only appended, and those of another run are refused by its id.
    let read = history.map_or(0, History::entry_count);
    if stored == read {
        return Ok(());
    }
    Err(JournalError::new(if read == 0 {
        "the journal holds a run already, and the run was started without its history".to_owned()
    } else {
        format!("the journal has {stored} entries, and the history was read from {read}")
    }))
}

/// An error of a journal. Entries appended after the failed ones are not stored either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JournalError {
    /// A clause with the failed operation and the reason.
    pub message: Arc<str>,
}

impl JournalError {
    /// Creates an error from one clause.
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// A journal in memory, for tests and for runs that are inspected but not stored. Clones share the entries.
///
/// It belongs to the run that opens it first, and accepts no other.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal(Arc<Mutex<MemoryEntries>>);

#[derive(Debug, Default)]
struct MemoryEntries {
    run: Option<RunId>,
    entries: Vec<Entry>,
}

impl MemoryJournal {
    /// Creates an empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    /// The stored entries.
    pub fn entries(&self) -> Vec<Entry> {
        self.lock().entries.clone()
    }

    // Entries are only appended, so a panic leaves a consistent list.
    fn lock(&self) -> MutexGuard<'_, MemoryEntries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for MemoryJournal {
    fn open(&self, run: &RunId, history: Option<&History>) -> Result<(), JournalError> {
        let mut lock = self.lock();
        if let Some(other) = lock.run.as_ref().filter(|other| *other != run) {
            let message = format!("the journal belongs to the run `{other}`, not to `{run}`");
            return Err(JournalError::new(message));
        }
        check_history(lock.entries.len(), history)?;
        // Claimed only now: a run that is refused must not keep the journal from its own.
        lock.run = Some(run.clone());
        Ok(())
    }

    fn append(&self, entries: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        self.lock().entries.extend(entries);
        futures::future::ready(Ok(())).boxed()
    }
}

/// A journal for a run that must not start. It fails to store any entry, so nothing is called.
#[derive(Debug)]
pub(crate) struct FailingJournal(pub(crate) JournalError);

impl Journal for FailingJournal {
    // `open` stays the default: the refusal has to reach the summary, which only a started run has.
    fn append(&self, _: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        futures::future::ready(Err(self.0.clone())).boxed()
    }
}

/// Buffers entries in memory until a journal is assigned. Clones share the buffer. It acknowledges every entry as stored. So it
/// is only for runs without effects, such as [provisional](crate::options::PlanState::Provisional) ones, as long as it buffers:
/// if the process dies, only entries are lost.
#[derive(Clone, Default)]
pub struct BufferedJournal(Arc<Mutex<BufferState>>);

enum BufferState {
    Buffering(Vec<Entry>),
    Forwarding {
        journal: Arc<dyn Journal>,
        /// The header for the opening record, until that has been forwarded.
        header: Option<Value>,
    },
    Discarding,
}

impl BufferedJournal {
    /// Creates an empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// The buffered entries.
    pub fn entries(&self) -> Vec<Entry> {
        match &*self.state() {
            BufferState::Buffering(entries) => entries.clone(),
            BufferState::Forwarding { .. } | BufferState::Discarding => Vec::new(),
        }
    }

    /// Forwards the buffered and all later entries to `journal`. `header` replaces the header with which the run was opened, because less
    /// was known at that time.
    pub fn forward_to(
        &self,
        journal: Arc<dyn Journal>,
        header: Value,
    ) -> BoxFuture<'static, Result<(), JournalError>> {
        let mut state = self.state();
        let passed_on = BufferState::Forwarding {
            journal,
            header: Some(header),
        };
        // The lock is still held, so no other entry can come between.
        match std::mem::replace(&mut *state, passed_on) {
            BufferState::Buffering(entries) if !entries.is_empty() => state.append(entries),
            BufferState::Buffering(_)
            | BufferState::Forwarding { .. }
            | BufferState::Discarding => futures::future::ready(Ok(())).boxed(),
        }
    }

    /// Discards the buffered and all later entries.
    pub fn forget(&self) {
        *self.state() = BufferState::Discarding;
    }

    fn state(&self) -> MutexGuard<'_, BufferState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for BufferedJournal {
    fn append(&self, entries_to_add: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        self.state().append(entries_to_add)
    }
}

impl BufferState {
    fn append(
        &mut self,
        mut entries_to_add: Vec<Entry>,
    ) -> BoxFuture<'static, Result<(), JournalError>> {
        match self {
            Self::Forwarding { journal, header } => {
                // Only the first entry can be the opening one, and only the first batch has it.
                if let Some(Entry {
                    record: Record::Opened { header: opened, .. },
                    ..
                }) = entries_to_add.first_mut()
                    && let Some(header) = header.take()
                {
                    *opened = header;
                }
                return journal.append(entries_to_add);
            }
            Self::Buffering(entries) => entries.extend(entries_to_add),
            // An abandoned run continues until it is dropped; its entries must not reach the journal of its replacement.
            Self::Discarding => {}
        }
        futures::future::ready(Ok(())).boxed()
    }
}

impl Default for BufferState {
    fn default() -> Self {
        Self::Buffering(Vec::new())
    }
}

impl fmt::Debug for BufferedJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferedJournal").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forwards after so many batches and returns the headers that arrive.
    fn check(batches_before: usize) {
        let (buffered, stored) = (BufferedJournal::new(), MemoryJournal::new());
        let opened = |header: &str| Entry {
            at: Duration::ZERO,
            turn: 0,
            record: Record::Opened {
                run: None,
                digest: PlanDigest::from("d"),
                header: Value::from(header),
            },
        };
        let closed = Entry {
            record: Record::Closed,
            ..opened("")
        };
        let batches = [vec![opened("little")], vec![closed], vec![opened("again")]];
        for (number, batch) in batches.into_iter().enumerate() {
            if number == batches_before {
                drop(buffered.forward_to(Arc::new(stored.clone()), Value::from("all")));
            }
            drop(buffered.append(batch));
        }
        let entries = stored.entries();
        assert_eq!(entries.len(), 3);
        let headers: Vec<&str> = entries
            .iter()
            .filter_map(|entry| match &entry.record {
                Record::Opened { header, .. } => header.as_text(),
                _ => None,
            })
            .collect();
        assert_eq!(headers, ["all", "again"]);
    }

    #[test]
    fn the_header_is_the_first_one_whenever_it_becomes_known() {
        check(0);
        check(1);
        check(2);
    }
}
