//! Options for starting, limiting and stopping servers, what they report to their caller, and the failures of servers.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[cfg(feature = "http")]
use futures::future::BoxFuture;
use planwright_core::{ServerName, Value};

use super::tool_lists::ToolLists;
use crate::config::ConfigProblem;
use crate::supervisor::Supervisor;
#[cfg(feature = "http")]
use crate::transport::auth::Tokens;

/// Options for starting, limiting and stopping servers.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// The names of the required servers; `None` requires all. The others are never started.
    pub only: Option<BTreeSet<ServerName>>,
    /// The default start timeout of a server.
    pub start_timeout: Duration,
    /// The time that a server gets to end after its input is closed, and again after it has received `SIGTERM`.
    pub stop_grace: Duration,
    /// The maximum length of a message from a server, in bytes.
    pub message_limit: usize,
    /// The maximum number of restarts of a server without a successful call in between.
    pub restart_limit: u32,
    /// The pause after which one more restart is allowed once the limit is reached; `None` allows no more.
    /// [`Upstreams`](super::Upstreams), which live long, use 30 seconds instead of `None`.
    pub restart_pause: Option<Duration>,
    /// The name and version of this client.
    pub client: (String, String),
    /// The storage of OAuth tokens.
    #[cfg(feature = "http")]
    pub tokens: Tokens,
    /// The prompt for a person's consent. Without it, a server that requires consent fails with a hint.
    #[cfg(feature = "http")]
    pub consent: Option<Arc<dyn Consent>>,
    /// The supervisor that ends servers after this process has died. Without it, servers only notice the end of their
    /// input.
    pub supervisor: Option<Supervisor>,
    /// The observer of server processes.
    pub processes: Option<Arc<dyn ProcessObserver>>,
    /// The storage of tool lists. Each list that a server sends is stored there, and removed when it has changed.
    pub tool_lists: Option<ToolLists>,
    /// The questions of servers that cannot be answered. Servers with these options add theirs.
    pub unanswered: UnansweredQuestions,
}

/// Observes the processes of servers. Its methods must not block.
pub trait ProcessObserver: fmt::Debug + Send + Sync {
    /// Reports that the process `pid` was started for `server`.
    fn started(&self, server: &str, pid: u32);

    /// Reports that the process and all its descendants have ended.
    fn ended(&self, pid: u32);
}

/// A prompt that shows people the consent page of an authorization server.
#[cfg(feature = "http")]
pub trait Consent: fmt::Debug + Send + Sync {
    /// Returns the redirect address.
    fn redirect_uri(&self) -> String;

    /// Shows the `page` to a person who may authorize access to `server`. Returns the complete redirect address, or a
    /// reason, as one clause, why none was received.
    fn ask<'a>(&'a self, server: &'a str, page: &'a str) -> BoxFuture<'a, Result<String, String>>;
}

/// A question of a server to a person that could not be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnansweredQuestion {
    /// The server.
    pub server: ServerName,
    /// The text of the question, as the server wrote it.
    pub message: String,
}

/// The questions of servers that were cancelled, because no client could ask a person. Clones share one list.
#[derive(Clone, Debug, Default)]
pub struct UnansweredQuestions(Arc<Mutex<Vec<UnansweredQuestion>>>);

impl UnansweredQuestions {
    /// The maximum number of questions in the list. A server may ask without end.
    const MAX: usize = 20;

    /// Adds the question of an elicitation, unless the list has it.
    pub(crate) fn add(&self, server: &ServerName, elicitation: &Value) {
        let message = elicitation.get("message").and_then(Value::as_text);
        let question = UnansweredQuestion {
            server: server.clone(),
            message: message.unwrap_or_default().to_owned(),
        };
        let mut questions = self.questions();
        if questions.len() < Self::MAX && !questions.contains(&question) {
            questions.push(question);
        }
    }

    /// Removes and returns the questions so far.
    pub fn take(&self) -> Vec<UnansweredQuestion> {
        std::mem::take(&mut *self.questions())
    }

    // Held for single accesses only, never across an await.
    fn questions(&self) -> MutexGuard<'_, Vec<UnansweredQuestion>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
            #[cfg(feature = "http")]
            tokens: Tokens::in_memory(),
            #[cfg(feature = "http")]
            consent: None,
            supervisor: None,
            processes: None,
            tool_lists: None,
            unanswered: UnansweredQuestions::default(),
        }
    }
}

impl ConnectOptions {
    /// Returns true if the server `name` is required.
    pub(crate) fn needs(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|names| names.contains(name))
    }
}

/// The reason why a server is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ServerFailure {
    /// The server.
    pub server: ServerName,
    /// The error, as one clause.
    pub message: String,
    /// A hint how to fix it.
    pub help: String,
    /// The end of the server's standard error output, may be empty.
    pub stderr: String,
}

impl ServerFailure {
    /// Converts a configuration problem of a single server.
    pub(crate) fn unusable(problem: &ConfigProblem) -> Option<Self> {
        Some(Self {
            server: problem.server.clone()?,
            message: problem.message.clone(),
            help: problem.help.clone(),
            stderr: String::new(),
        })
    }
}
