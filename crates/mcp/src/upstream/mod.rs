//! The servers of a run or behind a gateway: started on demand, called, observed and stopped.

pub(crate) mod backend;
mod connections;
mod entry;
mod monitor;
pub(crate) mod options;
mod server;
mod subscriptions;
mod upstreams;
mod view;

pub use connections::{Connections, ServerFailure};
pub use options::{ConnectOptions, ProcessObserver};
pub use subscriptions::ResourceSubscription;
pub use upstreams::Upstreams;
pub use view::{ChangeCounts, UpstreamNotification, UpstreamServer, UpstreamState, UpstreamView};
