//! People's decisions about calls.

mod changed;
mod subject;

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::{Tool, Value};

use crate::event::Address;

pub use changed::ChangedSecretError;
pub(crate) use changed::with_secrets;
pub(crate) use subject::hex;
pub use subject::{CallSubject, SealKey};

/// A call that waits for a decision.
#[derive(Clone)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The run.
    pub run: Arc<str>,
    /// The step, item or round that wants to call.
    pub at: Arc<Address>,
    /// The tool.
    pub tool: Arc<Tool>,
    /// The exact arguments.
    pub args: Value,
    /// The arguments as they may be shown and written down: secrets stand as `[redacted]`.
    pub shown: Value,
    /// What a decision is about.
    pub subject: CallSubject,
    /// Why a person is asked, as one clause, if that is known.
    pub reason: Option<Arc<str>>,
    /// What differs from the call that was decided about at this place before, one clause each.
    pub changes: Vec<String>,
}

impl ApprovalRequest {
    /// A question about a call of `tool` whose arguments hold no secret.
    pub fn new(run: impl Into<Arc<str>>, at: Arc<Address>, tool: Arc<Tool>, args: Value) -> Self {
        Self {
            run: run.into(),
            at,
            subject: CallSubject::new(&tool, args.clone()),
            reason: tool.approval_reason.clone(),
            changes: Vec::new(),
            shown: args.clone(),
            args,
            tool,
        }
    }

    /// Checks arguments that a person wrote in place of those of the call, see [`Decision::Approve`].
    ///
    /// # Errors
    ///
    /// What they do about a secret that cannot be done.
    pub fn check_changed_args(&self, changed: &Value) -> Result<(), ChangedSecretError> {
        with_secrets(changed, &self.shown, &self.args).map(drop)
    }

    /// The digest of the call: what a decision from elsewhere has to name.
    pub fn digest(&self) -> String {
        self.subject.digest(&self.run, &self.at)
    }
}

impl fmt::Debug for ApprovalRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalRequest")
            .field("at", &self.at.to_string())
            .field("tool", &self.tool.qualified_name())
            .finish_non_exhaustive()
    }
}

/// What was decided about a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// It may be made.
    Approve {
        /// With these arguments in place of its own, where there are any. `[redacted]` in them is the secret that it stands for in
        /// [`ApprovalRequest::shown`]; anything else in place of a secret is refused.
        args: Option<Value>,
    },
    /// It may not.
    Reject {
        /// Why, in the person's words.
        because: Option<String>,
    },
    /// Nobody can say now. The run goes on with what does not need it, then ends as waiting.
    Later,
}

/// Decides about calls, or asks somebody who does.
pub trait Approver: Send + Sync + 'static {
    /// Decides about one call. Dropping the future withdraws the question. One that panics has said no.
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision>;
}

/// The same decision about every call.
#[derive(Clone, Debug)]
pub struct Always(pub Decision);

impl Approver for Always {
    fn decide(&self, _: ApprovalRequest) -> BoxFuture<'_, Decision> {
        let decision = self.0.clone();
        Box::pin(async move { decision })
    }
}
