//! The servers of a run or behind a gateway: started on demand, called, observed and stopped.

pub(crate) mod backend;
pub(crate) mod connections;
mod entry;
mod monitor;
mod server;
mod tool_lists;
mod upstreams;

pub use connections::{ConnectOptions, Connections, ProcessObserver, ServerFailure};
pub use monitor::ResourceSubscription;
pub use tool_lists::{StoredTools, ToolLists};
pub use upstreams::{
    ChangeCounts, UpstreamNotification, UpstreamServer, UpstreamState, UpstreamView, Upstreams,
};
