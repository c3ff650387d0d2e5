//! Diagnostics about a plan, for three kinds of readers: people, programs, models.

mod code;
mod edit;
mod flow_path;
mod report;

pub use code::Code;
pub use edit::TextEdit;
pub use flow_path::{FlowHop, FlowPath};
pub(crate) use report::MAX_TEXT_BYTES;
pub use report::{
    Diagnostic, DiagnosticCounter, Diagnostics, FLOW_REFUSAL, Fix, FixPart, Severity,
};
