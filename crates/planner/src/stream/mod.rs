//! Running a plan while the model is still writing it.
//!
//! Steps are parsed from the model's reply as it streams in. Once the plan so far passes the check, its read-only steps start; all
//! other steps wait until the whole plan has passed.
//!
//! Design: [Streaming plans](https://github.com/planwright/planwright/blob/main/docs/design/streaming.md).

mod early_run;
mod launcher;
mod plan_reader;
mod session;
#[cfg(test)]
mod tests;

pub use early_run::EarlyCall;
pub use launcher::{LaunchError, LaunchRequest, LaunchedRun, RunLauncher};
pub use plan_reader::PlanReader;
pub use session::{
    EarlyRunStorage, RunJournal, StreamEvent, StreamOutcome, StreamRequest, StreamedRunError,
    stream,
};
