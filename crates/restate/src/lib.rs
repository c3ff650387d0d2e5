//! Runs of plans as durable workflows of [Restate](https://restate.dev).
//!
//! A workflow holds the state machine of one run. Restate keeps each of its inputs (results of calls, expired timers, decisions), and
//! after a crash the machine is driven to the same state by the same inputs. The store has the journal of the run as a projection.
//!
//! Design: [Workflows of Restate](https://github.com/planwright/planwright/blob/main/docs/design/restate.md).
#![warn(missing_docs)]

/// The request that starts a run, and the plan and options in it.
mod request;

/// Messages about single calls and decisions, as Restate keeps them.
mod message;

/// The calls in flight of this process, and the execution of one call.
mod calls;

/// The journal of the store, which a workflow writes as a projection.
mod projection;

/// The timers of a run.
mod timers;

/// The driver of one run: feeds what Restate has recorded into the state machine.
mod driver;

/// The services of a worker: the workflow of a run, and the calls of tools.
mod services;

/// The worker: serves these services to Restate.
mod worker;

/// The client of the ingress and of the admin interface of Restate.
mod client;

pub use client::{RestateClient, RestateError, Submission, WaitNotice};
pub use request::{AutomaticDecision, RunRequest, RunRequestError, RunRequestV1};
pub use services::RunResultV1;
pub use worker::Worker;
