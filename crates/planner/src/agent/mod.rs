//! The loop in which a plan adapts, in the form of the Acts: a request of messages and a schema, a solution of calls and an output;
//! the calls run, and the next request holds what they left behind, the plan among it.
//!
//! What the origin leaves open is decided so:
//!
//! - A call without `_outputPath` does not lose its result: it lands at `†data.results.NAME`, and the plan message says so.
//! - A call of a tool that may change something is not made twice: where a later solution has a call that is done with the same
//!   arguments, its result stands. `_again` makes it nevertheless.
//! - An output ends the loop only where no call beside it has failed, unless the solution says what a failure means.
//!
//! The modules are listed in the order in which a round passes through them.

mod context;
mod world;

mod protocol;
mod telling;

mod ask;
mod done;
mod judge;
mod solution;

mod runner;
mod settling;

mod bounds;
mod listener;
mod outcome;
mod state;

mod looping;

pub use bounds::{AgentBound, AgentBounds};
pub use context::{AgentContext, ContextError};
pub use listener::{AgentEvent, AgentListener, Deaf};
pub use looping::Agent;
pub use outcome::{AgentEnd, AgentOutcome};
pub use protocol::PROTOCOL;
pub use runner::{AgentRun, Ran, Resumed, Runner};
pub use state::{AgentState, AgentStateError, CallRecord, CallStatus};
