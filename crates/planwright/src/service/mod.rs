//! The service for programs that embed the library: tools that are opened once, and plans that are checked and run with them.

mod builder;
mod error;
mod launch;
mod planwright;
#[cfg(feature = "store")]
mod resume;
mod run;
mod run_builder;
mod sources;
#[cfg(feature = "store")]
mod store_link;
#[cfg(feature = "store")]
mod stored_runs;
#[cfg(feature = "planner")]
mod streamed;
mod view;

#[cfg(feature = "config")]
pub use crate::config::RunOverrides;

pub use builder::Builder;
pub use error::Error;
pub use launch::{EventObserver, ObservedRun, RunObserver, RunSpec, RunStorage, run_time};
pub use planwright::{Planwright, Tools, parse};
#[cfg(feature = "store")]
pub use resume::Resume;
pub use run::Run;
pub use run_builder::RunBuilder;
#[cfg(feature = "store")]
pub use store_link::{RequestWatch, RunRequests, with_seen_answers};
#[cfg(feature = "store")]
pub use stored_runs::RunWatch;
#[cfg(feature = "planner")]
pub use streamed::StreamedRunLauncher;
pub use view::{ActiveStep, EndedStep, RunView, StepPhase, StepStates, StepView, TimeLeft};
