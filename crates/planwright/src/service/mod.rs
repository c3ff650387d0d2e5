//! The service for programs that embed the library: tools that are opened once, and plans that are checked and run with them.

mod builder;
mod error;
mod launch;
mod observer;
mod planwright;
mod run;
mod run_builder;
mod sources;
mod store;
#[cfg(feature = "planner")]
mod streamed;
mod view;

#[cfg(feature = "config")]
pub use crate::config::RunOverrides;

pub use builder::Builder;
pub use error::Error;
pub use launch::{RunSpec, RunStorage, run_time};
pub use observer::{EventObserver, ObservedRun, RunObserver};
pub use planwright::{Planwright, Tools, parse};
pub use run::Run;
pub use run_builder::RunBuilder;
#[cfg(feature = "store")]
pub use store::{DoubtfulCall, PlannedUndo, PreparedRevert, Revert, RevertRequest, UnrevertedCall};
#[cfg(feature = "store")]
pub use store::{RequestWatch, Resume, RunRequests, RunWatch, with_seen_answers};
#[cfg(feature = "planner")]
pub use streamed::StreamedRunLauncher;
pub use view::{ActiveStep, EndedStep, RunView, StepPhase, StepStates, StepView, TimeLeft};
