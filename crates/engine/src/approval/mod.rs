//! Approval of calls by people: requests, decisions and the parties that decide.
//!
//! Design: [Approvals](https://github.com/planwright/planwright/blob/main/docs/design/approvals.md).

mod changed_args;
mod request;

pub use changed_args::ChangedSecretError;
pub(crate) use changed_args::with_secrets;
pub(crate) use request::hex;
pub use request::{Always, ApprovalRequest, Approver, CallSubject, Decision, SealKey};
