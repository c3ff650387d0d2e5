//! Requests for approval, and decisions about them.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::{Tool, Value};

use super::{CallSubject, ChangedSecretError, with_secrets};
use crate::event::Address;

/// A request for approval of one call.
#[derive(Clone)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The run.
    pub run: Arc<str>,
    /// The step, item or round that makes the call.
    pub at: Arc<Address>,
    /// The tool.
    pub tool: Arc<Tool>,
    /// The exact arguments.
    pub args: Value,
    /// The arguments in a form that may be shown and stored: secrets are replaced by `[redacted]`.
    pub shown: Value,
    /// The call that a decision is bound to.
    pub subject: CallSubject,
    /// The reason for asking, as one clause, if it is known.
    pub reason: Option<Arc<str>>,
    /// The differences from the call that was decided at this place before, one clause each.
    pub changes: Vec<String>,
}

impl ApprovalRequest {
    /// Creates a request for a call of `tool` whose arguments hold no secret.
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

    /// Checks arguments that a person wrote in place of the call's own, see [`Decision::Approve`].
    ///
    /// # Errors
    ///
    /// The reason why a change that concerns a secret is refused.
    pub fn check_changed_args(&self, changed: &Value) -> Result<(), ChangedSecretError> {
        with_secrets(changed, &self.shown, &self.args).map(drop)
    }

    /// The digest of the call. A decision from another process has to name it.
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

/// A decision about one call.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The call is allowed.
    Approve {
        /// Replacement arguments, if any. `[redacted]` in them stands for the secret at the same place in
        /// [`ApprovalRequest::shown`]; any other replacement of a secret is refused.
        args: Option<Value>,
    },
    /// The call is not allowed.
    Reject {
        /// The reason, in the person's words.
        because: Option<String>,
    },
    /// The decision is pending. The run continues with everything that does not depend on the call, then ends as waiting.
    Later,
}

/// Decides about calls, usually by asking a person.
pub trait Approver: Send + Sync + 'static {
    /// Decides about one call. Dropping the future withdraws the request. A panic counts as a rejection.
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision>;
}

/// A closure or function decides: `async |request: ApprovalRequest| Decision::Later`.
impl<F, R> Approver for F
where
    F: Fn(ApprovalRequest) -> R + Send + Sync + 'static,
    R: Future<Output = Decision> + Send + 'static,
{
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        Box::pin(self(request))
    }
}

/// An approver that gives the same decision for every call.
#[derive(Clone, Debug)]
pub struct Always(pub Decision);

impl Approver for Always {
    fn decide(&self, _: ApprovalRequest) -> BoxFuture<'_, Decision> {
        let decision = self.0.clone();
        Box::pin(async move { decision })
    }
}
