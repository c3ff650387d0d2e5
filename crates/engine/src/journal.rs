//! What a run remembers, so that it can be looked at afterwards and go on after its process has died.
//!
//! A run is a pure function of what it was told, and when. So its journal holds just that, call by call, together
//! with what the run decided to do: enough to go on, and enough to prove later that it would decide the same again.

mod held_back;
mod memory;
mod refused;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::Value;

use crate::approval::CallSubject;
use crate::backend::{ToolError, ToolOutput};
use crate::event::Address;
use crate::run::{Choice, History, RunStatus, SkipReason, StepStatus};
use crate::schedule::Timer;

pub use held_back::HeldBack;
pub use memory::MemoryJournal;
pub(crate) use refused::RefusedJournal;

/// Remembers what happens in one run.
pub trait Journal: Send + Sync + 'static {
    /// Prepares the journal for a process that drives `run` and resumes it from `history`, or begins it if there is none. It is
    /// called before the first [`append`](Self::append) of a process, and may be called again before that.
    ///
    /// A journal that knows what it holds refuses what does not belong to it: another run, a history that is not what it
    /// holds. The default accepts everything.
    ///
    /// # Errors
    ///
    /// Why the run must not use the journal. Nothing is called then.
    fn open(&self, _run: &str, _history: Option<&History>) -> Result<(), JournalError> {
        Ok(())
    }

    /// Takes in `entries`, to be kept behind all that were taken in before. They are taken in at once; the future is
    /// done when they, and all before them, would outlive a crash of this machine. Where it panics, they were not kept.
    fn append(&self, entries: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>>;
}

/// Compares the number of entries that a journal holds with the number that the history of a run was read from.
///
/// # Errors
///
/// If they differ: the history is missing, stale, or of another journal.
pub fn check_history(held: usize, history: Option<&History>) -> Result<(), JournalError> {
    let read = history.map_or(0, History::entry_count);
    if held == read {
        return Ok(());
    }
    Err(JournalError::new(if read == 0 {
        "the journal holds a run already, and the run was started without its history".to_owned()
    } else {
        format!("the journal has {held} entries, and the history was read from {read}")
    }))
}

/// Why a journal could not keep something. Nothing that was to be kept behind it is kept either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JournalError {
    /// One clause: what could not be done, and why.
    pub message: Arc<str>,
}

impl JournalError {
    /// A failure, as one clause.
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// One thing that a run remembers.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// When, counted from the start of the run; the time between two processes does not count.
    pub at: Duration,
    /// Which turn of the driver, from 0. Whatever was taken in during one turn was taken in before anything new was
    /// started.
    pub turn: u64,
    /// What.
    pub record: Record,
}

/// Something that a run was told, or has decided. Secrets stand in it as `[redacted]`.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A process has begun to drive the run: the first, or one that resumes it. What it was told to do differently is
    /// up to whoever keeps the journal.
    Opened {
        /// The run's id, if the journal says to which run it belongs.
        run: Option<Arc<str>>,
        /// The plan's digest.
        digest: Arc<str>,
        /// What else whoever opened it wants to know later.
        header: Value,
    },
    /// Decided: this call is to be sent.
    Sent {
        /// Who calls.
        at: Arc<Address>,
        /// The tool's server.
        server: Arc<str>,
        /// The tool's name at its server.
        tool: Arc<str>,
        /// Which attempt, from 1, in all processes together.
        attempt: u32,
        /// The arguments.
        args: Value,
        /// The [digest of the call](crate::approval::CallSubject::digest), for a call that needs consent.
        consent: Option<Arc<str>>,
    },
    /// Told: a call was answered.
    Answered {
        /// Who called.
        at: Arc<Address>,
        /// Which attempt.
        attempt: u32,
        /// The answer.
        result: Result<ToolOutput, ToolError>,
    },
    /// Decided: no answer to this call is waited for any more.
    GivenUp {
        /// Who called.
        at: Arc<Address>,
        /// Which attempt.
        attempt: u32,
    },
    /// Decided: a person is to be asked.
    Asked {
        /// Who wants to call.
        at: Arc<Address>,
        /// The call that the question is about.
        subject: Box<CallSubject>,
        /// Why a person is asked, as one clause, if that is known.
        reason: Option<Arc<str>>,
    },
    /// Told: a person's answer.
    Decided {
        /// Who wants to call.
        at: Arc<Address>,
        /// Whether the call may be made.
        approved: bool,
        /// The arguments that it is made with instead.
        changed_args: Option<Value>,
        /// Why not, in the person's words.
        because: Option<Arc<str>>,
    },
    /// Told: what a person wants to become of a step, when the run went on.
    Chosen {
        /// Which.
        at: Arc<Address>,
        /// What.
        choice: Choice,
    },
    /// Told: a timer has run out.
    TimerFired {
        /// Whose.
        at: Arc<Address>,
        /// Which.
        timer: Timer,
    },
    /// Told: the plan has further steps. The plan itself is kept by whoever keeps the journal.
    Extended {
        /// The digest of the longer plan.
        digest: Arc<str>,
        /// How many steps it has.
        steps: usize,
    },
    /// Told: no further steps will come.
    Closed,
    /// Told: end everything now.
    Cancelled,
    /// Told: the time of the run is up, as its guards bound it.
    OutOfTime,
    /// Told: what follows, up to [`WentOn`](Self::WentOn), came while the run was computing.
    Paused {
        /// How much it had done by then since it was last told something, in steps of its own work.
        after: u64,
    },
    /// Told: go on with what was put off.
    WentOn,
    /// Decided: a step, item or round has ended.
    Settled {
        /// Which.
        at: Arc<Address>,
        /// How.
        status: StepStatus,
        /// What it gave, where that is neither simply the answer to its last call nor made of what its parts gave.
        output: Option<Value>,
        /// Why it failed.
        error: Option<ToolError>,
        /// Whether the plan says what the failure means.
        handled: bool,
        /// Why it did not run.
        reason: Option<SkipReason>,
        /// When it began.
        started: Option<Duration>,
    },
    /// Decided: this process has nothing more to do.
    Ended {
        /// How the run stands now.
        status: RunStatus,
    },
}

impl Record {
    /// Whether the run was told this. Everything else follows from what it was told.
    pub fn is_told(&self) -> bool {
        match self {
            Self::Opened { .. }
            | Self::Answered { .. }
            | Self::Decided { .. }
            | Self::Chosen { .. }
            | Self::TimerFired { .. }
            | Self::Extended { .. }
            | Self::Closed
            | Self::Cancelled
            | Self::OutOfTime
            | Self::Paused { .. }
            | Self::WentOn => true,
            Self::Sent { .. }
            | Self::GivenUp { .. }
            | Self::Asked { .. }
            | Self::Settled { .. }
            | Self::Ended { .. } => false,
        }
    }

    /// The step, item or round that it is about.
    pub fn address(&self) -> Option<&Arc<Address>> {
        match self {
            Self::Sent { at, .. }
            | Self::Answered { at, .. }
            | Self::GivenUp { at, .. }
            | Self::Asked { at, .. }
            | Self::Decided { at, .. }
            | Self::Chosen { at, .. }
            | Self::TimerFired { at, .. }
            | Self::Settled { at, .. } => Some(at),
            Self::Opened { .. }
            | Self::Extended { .. }
            | Self::Closed
            | Self::Cancelled
            | Self::OutOfTime
            | Self::Paused { .. }
            | Self::WentOn
            | Self::Ended { .. } => None,
        }
    }
}
