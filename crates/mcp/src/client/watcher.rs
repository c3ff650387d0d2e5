//! Who follows what becomes of a server.

use std::sync::{Arc, Weak};

use planwright_core::Value;

use super::session::{Session, StartError};
use super::upstream_client::UpstreamClient;

/// Who follows one server over all its starts. Nothing here may wait.
pub(super) trait Watcher: std::fmt::Debug + Send + Sync {
    /// It is being started.
    fn starting(&self);

    /// It is up.
    fn started(&self, session: &Arc<Session>);

    /// It could not be started.
    fn failed(&self, error: &StartError);

    /// Its connection is gone.
    fn ended(&self);

    /// One of its lists is another now.
    fn list_changed(&self, kind: ListKind);

    /// It has taken in what we want to hear of.
    fn subscribed(&self);

    /// It told something that belongs to no request.
    fn told(&self, method: &str, params: Value);
}

/// On whose behalf a server is connected to: what it is told of us, and who follows it.
#[derive(Clone, Debug, Default)]
pub(super) struct Counterpart {
    /// The client that it is started for.
    pub(super) client: UpstreamClient,
    /// Who follows the server.
    pub(super) watcher: Option<Weak<dyn Watcher>>,
}

/// What a server lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ListKind {
    Tools,
    Prompts,
    Resources,
}

impl ListKind {
    pub(super) const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];

    /// What the notification `method` says has changed.
    pub(super) fn changed_by(method: &str) -> Option<Self> {
        match method {
            "notifications/tools/list_changed" => Some(Self::Tools),
            "notifications/prompts/list_changed" => Some(Self::Prompts),
            "notifications/resources/list_changed" => Some(Self::Resources),
            _ => None,
        }
    }

    /// The capability of servers that list this.
    pub(super) fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
        }
    }

    /// What a subscription calls it.
    pub(super) fn filter(self) -> &'static str {
        match self {
            Self::Tools => "toolsListChanged",
            Self::Prompts => "promptsListChanged",
            Self::Resources => "resourcesListChanged",
        }
    }
}
