//! The journal of a run, from which the run can be inspected, resumed and replayed.
//!
//! A run is a pure function of its timed inputs. So its journal holds exactly these, call by call, together with the
//! decisions of the run: enough to resume it after its process has died, and enough to prove later that it would
//! decide the same again.
//!
//! Design: [The journal](https://github.com/planwright/planwright/blob/main/docs/design/journal.md).

mod record;
mod storage;

pub use record::{Entry, Record};
pub(crate) use storage::FailingJournal;
pub use storage::{BufferedJournal, Journal, JournalError, MemoryJournal, check_history};
