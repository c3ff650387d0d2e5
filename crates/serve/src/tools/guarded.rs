//! Checks, before each call of a plan, that its tool has not changed since.

use std::fmt;

use planwright_core::Tool;
use planwright_engine::Backends;
use planwright_engine::backend::{
    BoxFuture, ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput,
};
use planwright_mcp::Upstreams;

use crate::host::PlanHost;
use crate::tools::arguments::BadRequest;
use planwright::pins::{Changes, PinPolicy};

/// Makes calls, but none of a tool that changed since its plan was checked in a way that a person has to accept.
pub(crate) struct GuardedBackends {
    pub(crate) backends: Backends,
    pub(crate) upstreams: Upstreams,
    /// The policy for tools that changed.
    pub(crate) policy: PinPolicy,
}

impl ToolBackend for GuardedBackends {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let changed = changed(&self.upstreams, &call.tool);
        let matters = changed.filter(|changes| {
            // A person approved the whole definition that was shown, so any change invalidates the approval.
            call.tool.approval || self.policy == PinPolicy::Ask && changes.asks()
        });
        match matters {
            None => self.backends.call(call),
            Some(changes) => {
                let message = format!(
                    "`{}` changed while the plan ran ({}), so it was not called",
                    call.tool.qualified_name(),
                    changes.names().join(", ")
                );
                Box::pin(async move { Err(ToolError::new(ErrorKind::Policy, message)) })
            }
        }
    }
}

impl fmt::Debug for GuardedBackends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedBackends")
            .field("backends", &self.backends)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

impl PlanHost {
    /// Checks that a tool has not changed since a person decided about a call of it.
    pub(crate) fn is_as_shown(&self, tool: &Tool) -> Result<(), BadRequest> {
        match changed(&self.upstreams, tool) {
            None => Ok(()),
            Some(changes) => Err(BadRequest(format!(
                "`{}` changed while it was decided about ({}), so it was not called; call it again to be asked anew",
                tool.qualified_name(),
                changes.names().join(", ")
            ))),
        }
    }
}

/// Returns the difference between the definition of a tool and the one that its server lists now, if there is one.
fn changed(upstreams: &Upstreams, tool: &Tool) -> Option<Changes> {
    if tool.origin.is_empty() {
        return None;
    }
    let view = upstreams.view();
    let mut tools = view.server(&tool.server)?.tools.iter().rev();
    let now = tools.find(|now| now.name == tool.name)?;
    let changes = Changes::of_tool(tool, now);
    (!changes.is_empty()).then_some(changes)
}
