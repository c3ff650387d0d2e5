//! The servers of a run or behind a gateway: started on demand, called, observed and stopped.

pub(crate) mod backend;
mod entry;
mod monitor;
mod options;
mod server;
mod tool_lists;
mod upstreams;

pub use monitor::ResourceSubscription;
#[cfg(feature = "http")]
pub use options::Consent;
pub use options::{
    ConnectOptions, ProcessObserver, ServerFailure, UnansweredQuestion, UnansweredQuestions,
};
pub use server::Connections;
pub use tool_lists::{StoredTools, ToolLists};
pub use upstreams::{
    ChangeCounts, UpstreamNotification, UpstreamServer, UpstreamState, UpstreamView, Upstreams,
};
