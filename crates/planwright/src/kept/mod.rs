//! Runs as a store keeps them: what they began with, what they came to, how they go on.

mod approver;
mod begin;
mod choices;
mod consent;
mod error;
mod go_on;
mod pinned;
mod questions;
mod replayed;
mod run;
mod servers;
mod stale;
#[cfg(feature = "planner")]
mod streamed;

pub use approver::StoreApprover;
pub use begin::{Begin, process, tools_of};
pub use choices::resolve_choices;
pub use consent::plan_consent;
pub use error::KeptRunError;
pub use go_on::{GoOn, Ready, changed};
pub use pinned::{Pinned, pinned};
pub use questions::{OpenQuestion, open_questions};
pub use run::{KeptRun, PlanChange, history};
pub use servers::{OrphanedServers, RecordProcesses};
pub use stale::{Stale, stale};
#[cfg(feature = "planner")]
pub use streamed::KeepStreamed;
