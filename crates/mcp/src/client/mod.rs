//! The client side: servers are started, asked for their tools, called, and stopped.

mod backend;
mod board;
mod caller;
mod connections;
mod handshake;
mod line;
mod link;
mod log;
mod mailbox;
mod message;
mod options;
mod process;
mod server;
mod session;
mod tools;
mod transport;
mod upstreams;
mod view;

pub use board::UpstreamNotification;
pub use caller::{Caller, UpstreamError};
pub use connections::{Connections, ServerFailure};
pub use options::ConnectOptions;
pub use upstreams::Upstreams;
pub use view::{ChangeCounts, UpstreamServer, UpstreamState, UpstreamView};
