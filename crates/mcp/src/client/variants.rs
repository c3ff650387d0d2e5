//! Additional sessions of a shared server, one for each set of client abilities.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use futures::future::join_all;
use planwright_core::Value;

use super::server::Server;
use super::session::{Session, StartError};
use super::upstream::Upstream;
use super::upstream_client::UpstreamClient;
use super::watcher::{Counterpart, ListKind, Watcher};

/// The additional sessions of one server. Their number is at most 50: [`UpstreamClient::shared`] leaves 25 sets of
/// capabilities, for each of the two ways to request input.
#[derive(Debug, Default)]
pub(super) struct Variants(Mutex<Vec<Variant>>);

#[derive(Debug)]
struct Variant {
    client: UpstreamClient,
    server: Arc<Server>,
    // Held here, because the server references its observer only weakly.
    _relay: Arc<Relay>,
}

impl Variants {
    /// Returns the server of `upstream` in a session for clients like `client`.
    pub(super) fn of(&self, upstream: &Arc<Upstream>, client: UpstreamClient) -> Arc<Server> {
        let mut variants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(variant) = variants.iter().find(|variant| variant.client == client) {
            return Arc::clone(&variant.server);
        }
        let main = &upstream.server;
        let server = Server::new((*main.config).clone(), Arc::clone(&main.options));
        let relay = Arc::new(Relay(Arc::downgrade(upstream)));
        let watcher: Weak<Relay> = Arc::downgrade(&relay);
        server.introduce(Counterpart {
            client: client.clone(),
            watcher: Some(watcher),
        });
        let server = Arc::new(server);
        variants.push(Variant {
            client,
            server: Arc::clone(&server),
            _relay: relay,
        });
        server
    }

    /// Stops all these sessions.
    pub(super) async fn stop(&self) {
        let servers: Vec<Arc<Server>> = {
            let variants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let servers = variants.iter().map(|variant| &variant.server);
            servers.cloned().collect()
        };
        join_all(servers.iter().map(|server| server.stop())).await;
    }
}

/// Forwards list changes and unrelated notifications of an additional session to the observer of the server.
#[derive(Debug)]
struct Relay(Weak<Upstream>);

impl Watcher for Relay {
    // The main session reports the state of the server.
    fn starting(&self) {}

    fn started(&self, _: &Arc<Session>) {}

    fn failed(&self, _: &StartError) {}

    fn ended(&self) {}

    fn subscribed(&self) {}

    fn list_changed(&self, kind: ListKind) {
        if let Some(upstream) = self.0.upgrade() {
            upstream.list_changed(kind);
        }
    }

    fn told(&self, method: &str, params: Value) {
        if let Some(upstream) = self.0.upgrade() {
            upstream.told(method, params);
        }
    }
}
