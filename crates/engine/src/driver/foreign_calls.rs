//! Calls into foreign code: an attempt at a call, a decision, a commit. A panic there becomes an error, and the run
//! continues.

use std::any::Any;
use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::approval::{ApprovalRequest, Approver, Decision};
use crate::backend::{ErrorKind, RetryAdvice, ToolBackend, ToolCall, ToolError, ToolOutput};
use crate::journal::{Entry, Journal, JournalError};

/// Makes one call. A panic of the backend becomes an error.
pub(crate) async fn call_tool(
    backend: Arc<dyn ToolBackend>,
    call: ToolCall,
) -> Result<ToolOutput, ToolError> {
    let tool = Arc::clone(&call.tool);
    // A panic in foreign code must not end the run.
    match AssertUnwindSafe(async move { backend.call(call).await })
        .catch_unwind()
        .await
    {
        Ok(result) => result,
        Err(panic) => {
            let what = panic_message(&*panic);
            let message = format!(
                "the backend of `{}` panicked: {what}",
                tool.qualified_name()
            );
            Err(ToolError {
                // The backend may have called the tool before it panicked.
                retry: RetryAdvice::Uncertain,
                ..ToolError::new(ErrorKind::Internal, message)
            })
        }
    }
}

/// Requests one decision. A panic of the approver counts as a rejection.
pub(crate) async fn request_decision(
    approver: Arc<dyn Approver>,
    request: ApprovalRequest,
) -> Decision {
    let decided = AssertUnwindSafe(async move { approver.decide(request).await }).catch_unwind();
    decided.await.unwrap_or_else(|panic| Decision::Reject {
        because: Some(format!("the approver panicked: {}", panic_message(&*panic))),
    })
}

/// Appends entries to a journal, which accepts them before this returns. A panic of the journal means that they are
/// not stored.
pub(crate) fn append_entries(
    journal: &Arc<dyn Journal>,
    entries: Vec<Entry>,
) -> BoxFuture<'static, Result<(), JournalError>> {
    let failed = |panic: Box<dyn Any + Send>| {
        JournalError::new(format!("the journal panicked: {}", panic_message(&*panic)))
    };
    match catch_unwind(AssertUnwindSafe(|| journal.append(entries))) {
        Ok(stored) => {
            let stored = AssertUnwindSafe(stored).catch_unwind();
            stored
                .map(move |stored| stored.unwrap_or_else(|panic| Err(failed(panic))))
                .boxed()
        }
        Err(panic) => ready(Err(failed(panic))).boxed(),
    }
}

/// The message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
