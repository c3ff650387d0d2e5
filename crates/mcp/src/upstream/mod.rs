//! The servers of a run or behind a gateway: started on demand, called, observed and stopped.

pub(crate) mod backend;
pub(crate) mod connections;
mod entry;
mod monitor;
mod server;
mod subscriptions;
mod upstreams;
mod view;

pub use connections::{ConnectOptions, Connections, ProcessObserver, ServerFailure};
pub use subscriptions::ResourceSubscription;
pub use upstreams::Upstreams;
pub use view::{ChangeCounts, UpstreamNotification, UpstreamServer, UpstreamState, UpstreamView};
