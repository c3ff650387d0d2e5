//! The state of the handler of one connection.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::RoleServer;
use rmcp::service::RequestContext;

use super::changes::{ClientSubscriptions, PendingSubscriptions};
use crate::gateway::client::GatewayClient;
use crate::gateway::listing::OfferListing;
use crate::gateway::state::{Gateway, GatewayState};

pub(super) type Context = RequestContext<RoleServer>;

#[derive(Clone)]
pub(crate) struct GatewayHandler {
    pub(super) gateway: Arc<GatewayState>,
    pub(super) subscriptions: ClientSubscriptions,
    pub(super) pending: PendingSubscriptions,
    /// True if the client receives change notifications.
    pub(super) is_notified: Arc<AtomicBool>,
}

impl GatewayHandler {
    pub(crate) fn new(gateway: &Gateway) -> Self {
        Self {
            gateway: Arc::clone(&gateway.0),
            subscriptions: ClientSubscriptions::default(),
            pending: PendingSubscriptions::default(),
            is_notified: Arc::default(),
        }
    }

    /// Waits for the servers and returns their listing.
    pub(super) async fn listing(&self, client: &GatewayClient) -> Arc<OfferListing> {
        self.gateway
            .wait_for_servers(client, self.is_notified())
            .await;
        self.gateway.current_listing()
    }

    /// Returns true if the client is notified of late servers.
    pub(super) fn is_notified(&self) -> bool {
        self.is_notified.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for GatewayHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayHandler").finish_non_exhaustive()
    }
}
