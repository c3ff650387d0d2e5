//! One attempt: a task of its own, whose end comes back as an event.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;

use crate::backend::{ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput};

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
            let what = panic
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "no message".to_owned());
            Err(ToolError::new(
                ErrorKind::Internal,
                format!(
                    "the backend of `{}` panicked: {what}",
                    tool.qualified_name()
                ),
            ))
        }
    }
}
