//! Diagnostics about a plan, for three kinds of readers: people, programs, models.

mod code;
mod counter;
mod report;

pub use code::Code;
pub use counter::DiagnosticCounter;
pub(crate) use report::MAX_TEXT_BYTES;
pub use report::{Diagnostic, Diagnostics, FLOW_REFUSAL, Fix, FixPart, FlowHop, Severity};
