//! The count of a conversation's calls, and its limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::BoxFuture;
use planwright::engine::{Backends, ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput};

/// Tools whose calls are counted over all runs of a conversation.
#[derive(Clone)]
pub(super) struct CallCounter {
    tools: Backends,
    most: Option<u64>,
    made: Arc<AtomicU64>,
}

impl CallCounter {
    /// A backend that makes at most `most` calls of `tools` in all, after `made` earlier ones.
    pub(super) fn new(tools: Backends, most: Option<u64>, made: u64) -> Self {
        Self {
            tools,
            most,
            made: Arc::new(AtomicU64::new(made)),
        }
    }

    pub(super) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }
}

impl ToolBackend for CallCounter {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let most = self.most.unwrap_or(u64::MAX);
        let one_more = |made: u64| (made < most).then_some(made + 1);
        let is_within = self
            .made
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .is_ok();
        if is_within {
            return self.tools.call(call);
        }
        let message = format!("the conversation may make {most} calls, and has made them");
        Box::pin(std::future::ready(Err(ToolError::new(
            ErrorKind::Budget,
            message,
        ))))
    }
}
