//! Approval of calls by people: requests, decisions and the parties that decide.

mod call_subject;
mod changed_args;
mod request;

pub(crate) use call_subject::hex;
pub use call_subject::{CallSubject, SealKey};
pub use changed_args::ChangedSecretError;
pub(crate) use changed_args::with_secrets;
pub use request::{Always, ApprovalRequest, Approver, Decision};
