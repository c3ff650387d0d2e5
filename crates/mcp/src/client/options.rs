//! Settings of the connections to servers.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::http::{Consent, Tokens};
use crate::supervisor::Supervisor;

/// How servers are started, limited and stopped.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// The servers that are needed; all of them where there is nothing here. The others are never started.
    pub only: Option<BTreeSet<String>>,
    /// The longest that a server's start may take, where its configuration does not say.
    pub start_timeout: Duration,
    /// How long a server may take to end by itself once its input is closed, and again once it was told to.
    pub stop_grace: Duration,
    /// The longest message that is taken from a server, in bytes.
    pub message_limit: usize,
    /// How often in a row a server that stopped is started again without any call having succeeded.
    pub restart_limit: u32,
    /// How long after that many starts in vain one more is allowed, and again after each that is in vain, too. Never
    /// where there is nothing here; [`Upstreams`](super::Upstreams), which live for long, take half a minute then.
    pub restart_pause: Option<Duration>,
    /// The name and version under which servers know us.
    pub client: (String, String),
    /// Where the tokens of servers are kept that want some.
    pub tokens: Tokens,
    /// Who lets us into a server that wants a person's consent. Where nobody does, it fails and says so.
    pub consent: Option<Arc<dyn Consent>>,
    /// What ends servers once this process is gone, however it ended. Without it they only see the end of their input.
    pub supervisor: Option<Supervisor>,
    /// What is told which processes servers run as.
    pub processes: Option<Arc<dyn ProcessObserver>>,
}

/// Observes the processes that servers are started as. Its methods must not block.
pub trait ProcessObserver: fmt::Debug + Send + Sync {
    /// The process `pid` was started for `server`.
    fn started(&self, server: &str, pid: u32);

    /// That process has ended, and with it everything that it had started.
    fn ended(&self, pid: u32);
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            only: None,
            start_timeout: Duration::from_secs(30),
            stop_grace: Duration::from_secs(2),
            message_limit: 256 << 20,
            restart_limit: 3,
            restart_pause: None,
            client: (
                "planwright".to_owned(),
                env!("CARGO_PKG_VERSION").to_owned(),
            ),
            tokens: Tokens::in_memory(),
            consent: None,
            supervisor: None,
            processes: None,
        }
    }
}

impl ConnectOptions {
    /// Whether the server `name` is to be started.
    pub(super) fn needs(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|names| names.contains(name))
    }
}
