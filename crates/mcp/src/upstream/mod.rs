//! The servers of a run or behind a gateway: started on demand, called, observed and stopped.

mod connections;
mod entry;
mod monitor;
mod options;
mod resource_subscription;
pub(crate) mod server;
mod tasks;
mod tool_lists;
mod upstreams;
mod view;

pub use connections::Connections;
#[cfg(feature = "http")]
pub use options::Consent;
pub use options::{
    ConnectOptions, ProcessObserver, ServerFailure, UnansweredQuestion, UnansweredQuestions,
};
pub use resource_subscription::ResourceSubscription;
pub use tool_lists::{StoredTools, ToolLists};
pub use upstreams::{ServerChanges, Upstreams};
pub use view::{ChangeCounts, UpstreamNotification, UpstreamServer, UpstreamState, UpstreamView};
