//! The client side: servers are started, asked for their tools, called, and stopped.

mod backend;
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

pub use connections::{Connections, ServerFailure};
pub use options::ConnectOptions;
