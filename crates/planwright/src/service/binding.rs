//! Calls reach only the tools that their plan was checked with: consent, effects and schemas were judged by them.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use planwright_core::Catalog;
use planwright_core::check::Policy;
use planwright_engine::{ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput};

/// The backends of open tools. They refuse a call whose tool is another one here, or that the policy does not allow, before it is
/// sent: whichever way the plan came to the engine.
pub(super) struct BoundBackend {
    pub(super) backend: Arc<dyn ToolBackend>,
    pub(super) catalog: Arc<Catalog>,
    pub(super) policy: Policy,
}

impl ToolBackend for BoundBackend {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let refusal = match self.catalog.difference(&call.tool) {
            Some(reason) => {
                let name = call.tool.qualified_name();
                Some(format!(
                    "the plan was checked with another tool `{name}`: {reason}"
                ))
            }
            None => self
                .policy
                .objection(&call.tool)
                .map(|(message, _)| message),
        };
        match refusal {
            None => self.backend.call(call),
            Some(message) => {
                futures::future::ready(Err(ToolError::new(ErrorKind::Policy, message))).boxed()
            }
        }
    }
}

impl fmt::Debug for BoundBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundBackend").finish_non_exhaustive()
    }
}
