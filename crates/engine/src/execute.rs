//! What others do for a run: one attempt at a call, a decision, a commit. Whoever panics there has failed; the run goes on.

use std::any::Any;
use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::approval::{ApprovalRequest, Approver, Decision};
use crate::backend::{ErrorKind, RetryAdvice, ToolBackend, ToolCall, ToolError, ToolOutput};
use crate::journal::{Entry, Journal, JournalError};

/// Makes one call. A backend that panics has failed; the run goes on.
pub(crate) async fn attempt(
    backend: Arc<dyn ToolBackend>,
    call: ToolCall,
) -> Result<ToolOutput, ToolError> {
    let tool = Arc::clone(&call.tool);
    match AssertUnwindSafe(async move { backend.call(call).await })
        .catch_unwind()
        .await
    {
        Ok(result) => result,
        Err(panic) => {
            let what = said(&*panic);
            let message = format!(
                "the backend of `{}` panicked: {what}",
                tool.qualified_name()
            );
            Err(ToolError {
                // It may have called the tool before.
                retry: RetryAdvice::Uncertain,
                ..ToolError::new(ErrorKind::Internal, message)
            })
        }
    }
}

/// Asks for one decision. An approver that panics has not agreed.
pub(crate) async fn decision(approver: Arc<dyn Approver>, request: ApprovalRequest) -> Decision {
    let decided = AssertUnwindSafe(async move { approver.decide(request).await }).catch_unwind();
    decided.await.unwrap_or_else(|panic| Decision::Reject {
        because: Some(format!("whoever decides panicked: {}", said(&*panic))),
    })
}

/// Hands entries to a journal, which takes them in at once. One that panics has not kept them.
pub(crate) fn append(
    journal: &Arc<dyn Journal>,
    entries: Vec<Entry>,
) -> BoxFuture<'static, Result<(), JournalError>> {
    let failed = |panic: Box<dyn Any + Send>| {
        JournalError::new(format!("the journal panicked: {}", said(&*panic)))
    };
    match catch_unwind(AssertUnwindSafe(|| journal.append(entries))) {
        Ok(kept) => {
            let kept = AssertUnwindSafe(kept).catch_unwind();
            kept.map(move |kept| kept.unwrap_or_else(|panic| Err(failed(panic))))
                .boxed()
        }
        Err(panic) => ready(Err(failed(panic))).boxed(),
    }
}

/// The words of a panic.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
