//! Observation of a server across its starts.

use std::sync::{Arc, Weak};

use planwright_core::Value;

use super::caller::UpstreamClient;
use super::lifecycle::{ServerStartError, Session};

/// An observer of one server across its starts. Its methods must not block.
pub(crate) trait ServerObserver: std::fmt::Debug + Send + Sync {
    /// Reports that a start begins.
    fn on_starting(&self);

    /// Reports a successful start.
    fn on_started(&self, session: &Arc<Session>);

    /// Reports a failed start.
    fn on_failed(&self, error: &ServerStartError);

    /// Reports the end of a connection.
    fn on_disconnected(&self);

    /// Reports a changed list.
    fn on_list_changed(&self, kind: ListKind);

    /// Reports that the server has acknowledged a subscription.
    fn on_subscribed(&self);

    /// Reports a notification that is unrelated to any request.
    fn on_notification(&self, method: &str, params: Value);
}

/// The client that a server is connected to for, and the observer of the server.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientContext {
    pub(crate) client: UpstreamClient,
    pub(crate) observer: Option<Weak<dyn ServerObserver>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
}

impl ListKind {
    pub(crate) const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];

    /// Returns the list that the notification `method` is about.
    pub(crate) fn from_notification(method: &str) -> Option<Self> {
        match method {
            "notifications/tools/list_changed" => Some(Self::Tools),
            "notifications/prompts/list_changed" => Some(Self::Prompts),
            "notifications/resources/list_changed" => Some(Self::Resources),
            _ => None,
        }
    }

    /// Returns the capability of servers with this list.
    pub(crate) fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
        }
    }

    /// Returns the field of a subscription for this list.
    pub(crate) fn filter(self) -> &'static str {
        match self {
            Self::Tools => "toolsListChanged",
            Self::Prompts => "promptsListChanged",
            Self::Resources => "resourcesListChanged",
        }
    }
}
