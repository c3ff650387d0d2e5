//! The state that all connections of a gateway share.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use planwright_core::Value;

use super::call::suspended::SuspendedCalls;
use super::client::{ClientId, GatewayClient};
use super::host::{Host, PassthroughMode};
use super::listing::OfferListing;
use crate::session::caller::UpstreamClient;
use crate::upstream::{UpstreamView, Upstreams};

/// The time after the first start for which a client that receives change notifications waits for starting servers.
pub const NOTIFIED_CLIENT_GRACE: Duration = Duration::from_secs(1);

/// The same for the lists of a client without change notifications.
const UNNOTIFIED_CLIENT_GRACE: Duration = Duration::from_secs(5);

/// The same for a call of a name that no ready server has.
pub const CALL_GRACE: Duration = Duration::from_secs(10);

/// An MCP server in front of others.
///
/// Clones share the gateway.
#[derive(Clone, Debug)]
pub struct Gateway(pub(super) Arc<GatewayState>);

pub(super) struct GatewayState {
    pub(super) host: Arc<dyn Host>,
    pub(super) upstreams: Upstreams,
    pub(super) suspended: SuspendedCalls,
    /// True if several clients use the same servers, which then only learn the common capabilities.
    serves_many: bool,
    listing: Mutex<Option<(Arc<UpstreamView>, Arc<OfferListing>)>>,
}

impl Gateway {
    /// Creates a gateway for one client, whose capabilities the servers learn.
    pub fn new(host: Arc<dyn Host>, upstreams: Upstreams) -> Self {
        Self::build(host, upstreams, false)
    }

    /// Creates a gateway for many clients. Servers learn that a person may be asked, and get an error from clients that
    /// do not support this.
    pub fn for_many(host: Arc<dyn Host>, upstreams: Upstreams) -> Self {
        Self::build(host, upstreams, true)
    }

    /// Cancels work of a client that outlives its requests.
    pub(super) fn end_client(&self, client: &ClientId) {
        self.0.suspended.end_client(client);
        self.0.host.end_client(client);
    }

    fn build(host: Arc<dyn Host>, upstreams: Upstreams, serves_many: bool) -> Self {
        Self(Arc::new(GatewayState {
            host,
            upstreams,
            suspended: SuspendedCalls::default(),
            serves_many,
            listing: Mutex::new(None),
        }))
    }
}

impl fmt::Debug for GatewayState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatewayState")
            .field("upstreams", &self.upstreams)
            .finish_non_exhaustive()
    }
}

impl GatewayState {
    pub(super) fn passes_through(&self) -> bool {
        self.host.passthrough_mode() == PassthroughMode::Everything
    }

    /// Starts the servers, unless they were started.
    pub(super) fn start(&self, client: &GatewayClient) {
        let first = if self.serves_many {
            // A later client may support forms.
            let forms = Value::object([("form", Value::empty_object())]);
            let asked = client.request_capabilities();
            let mut capabilities = asked.as_object().cloned().unwrap_or_default();
            // Roots belong to a single client.
            capabilities.shift_remove("roots");
            capabilities.entry("elicitation".into()).or_insert(forms);
            UpstreamClient {
                capabilities: Value::from(capabilities),
                shares_servers: true,
                ..client.as_upstream()
            }
        } else {
            UpstreamClient {
                capabilities: client.capabilities.clone(),
                ..client.as_upstream()
            }
        };
        self.upstreams.start_for(&first);
    }

    /// Starts the servers and waits for them, within the grace period after their first start.
    pub(super) async fn wait_for_servers(&self, client: &GatewayClient, is_notified: bool) {
        self.start(client);
        let grace = if is_notified {
            NOTIFIED_CLIENT_GRACE
        } else {
            UNNOTIFIED_CLIENT_GRACE
        };
        self.upstreams.settled_within(grace).await;
    }

    /// Searches the listing with `find`, in passthrough mode. Without a match, it waits for starting servers and
    /// searches again.
    pub(super) async fn find<T>(
        &self,
        client: &GatewayClient,
        find: impl Fn(&OfferListing) -> Option<T>,
    ) -> Option<T> {
        self.start(client);
        if !self.passes_through() {
            return None;
        }
        if let Some(found) = find(&self.current()) {
            return Some(found);
        }
        // The name may belong to a server that is still starting.
        self.upstreams.settled_within(CALL_GRACE).await;
        find(&self.current())
    }

    pub(super) fn current(&self) -> Arc<OfferListing> {
        let view = self.upstreams.view();
        let mut known = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            // Views are immutable, so the same view has the same listing.
            Some((of, listing)) if Arc::ptr_eq(of, &view) => Arc::clone(listing),
            before => {
                let listing = OfferListing::new(&view, &|name| self.host.reserves(name));
                let before = before.as_ref().map(|(_, before)| &before.collisions);
                for clause in &listing.collisions {
                    // Each collision is reported once, not with each new view.
                    if self.passes_through() && before.is_none_or(|before| !before.contains(clause))
                    {
                        tracing::warn!("{clause}");
                    }
                }
                let listing = Arc::new(listing);
                *known = Some((view, Arc::clone(&listing)));
                listing
            }
        }
    }
}
