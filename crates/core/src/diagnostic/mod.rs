//! Diagnostics about a plan, for three kinds of readers: people, programs, models.

mod code;
mod edit;
mod flow_path;
mod list;
mod report;

pub use code::Code;
pub use edit::TextEdit;
pub use flow_path::{FlowHop, FlowPath};
pub use list::{Diagnostics, FLOW_REFUSAL};
pub(crate) use report::MAX_TEXT_BYTES;
pub use report::{Diagnostic, DiagnosticCounter, Fix, FixPart, Severity};
