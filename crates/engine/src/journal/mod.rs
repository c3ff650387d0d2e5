//! The journal of a run, from which the run can be inspected, resumed and replayed. A run is a pure function of its timed inputs. So
//! its journal holds exactly the inputs and the decisions of the run. They suffice to resume the run after its process has died, and
//! to verify later that it would decide the same again.
//!
//! Design: [The journal](https://github.com/planwright/planwright/blob/main/docs/design/journal.md).

mod buffered;
mod log;
mod record;

pub use buffered::BufferedJournal;
pub(crate) use log::FailingJournal;
pub use log::{Journal, JournalError, MemoryJournal, check_history};
pub use record::{Entry, Record};
