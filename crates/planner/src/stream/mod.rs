//! Running a plan while it is still being written.
//!
//! Steps are taken from the model's answer as it comes. As soon as the plan is sound as far as it goes, those of its steps that
//! change nothing start; all others wait until the whole plan was found sound.

mod ahead;
mod early;
mod keeper;
mod reader;
mod reading;
mod run;
mod same;

pub use early::EarlyCall;
pub use keeper::{Keeper, Kept};
pub use reader::PlanReader;
pub use run::{Streamed, Streaming, Told, stream};
