//! The agent loop, in the protocol of the Acts: a request holds messages and a schema, a solution holds calls and an output. The calls
//! run, and the next request holds their results, including the plan itself.
//!
//! Decisions that the Acts leave open:
//!
//! - A call without `_outputPath` keeps its result: that of `checkBillingHistory` is stored at `†state.billingHistory`, others at
//!   `†data.results.NAME`, and the plan message says so.
//! - A call with possible side effects is not repeated: if a later solution has a completed call with the same arguments, the earlier
//!   result is used. `_again` repeats the call.
//! - An output ends the loop only if no call beside it has failed, unless the solution handles the failure.
//!
//! The modules are listed in the order in which a round passes through them.
//!
//! Design: [The agent loop](https://github.com/planwright/planwright/blob/main/docs/design/agent.md).

mod memory;
mod messages;

mod prompt;

mod completed_calls;
mod solution;

mod host;

mod state;

mod results;

mod run_loop;

pub use host::{
    Agent, AgentEnd, AgentEvent, AgentLimit, AgentLimits, AgentListener, AgentOutcome, AgentRun,
    NoopListener, ResumeOutcome, SolutionOutcome, SolutionRunner,
};
pub use memory::{AgentContext, ContextError};
pub use prompt::AGENT_INSTRUCTIONS;
pub use state::{AgentState, AgentStateError, CallStatus, SolutionCall};
