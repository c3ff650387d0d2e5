//! Runs in a store: their link to it, their start and resumption, and the service for those of other processes.

#[cfg(feature = "store")]
mod link;
#[cfg(not(feature = "store"))]
mod no_link;
#[cfg(feature = "store")]
mod resume;
#[cfg(feature = "store")]
mod revert;
#[cfg(feature = "store")]
mod runs;
#[cfg(feature = "store")]
mod start;

#[cfg(not(feature = "store"))]
pub(super) use no_link::NoStoreLink as StoreLink;

#[cfg(feature = "store")]
pub(super) use link::{AnswerRecord, Learning, StoreLink, complete_options, now};
#[cfg(feature = "store")]
pub use link::{RequestWatch, RunRequests, with_seen_answers};
#[cfg(feature = "store")]
pub use resume::Resume;
#[cfg(feature = "store")]
pub use revert::{
    DoubtfulCall, PlannedUndo, PreparedRevert, Revert, RevertRequest, UnrevertedCall,
};
#[cfg(feature = "store")]
pub(super) use revert::{RevertOnFailure, store_for_revert};
#[cfg(feature = "store")]
pub use runs::RunWatch;
#[cfg(feature = "store")]
pub(super) use start::{approver_of, new_run};
