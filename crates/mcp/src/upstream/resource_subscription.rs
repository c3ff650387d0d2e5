//! Subscriptions to changes of single resources.

use std::sync::Arc;

use planwright_core::Value;
use tokio::runtime::Handle;

use super::entry::Upstream;
use crate::session::error::UpstreamError;
use crate::session::open_session::Session;

/// A guard that keeps a resource subscription until it is dropped.
#[derive(Debug)]
#[must_use = "dropping this ends it"]
pub struct ResourceSubscription {
    upstream: Arc<Upstream>,
    uri: Arc<str>,
}

impl ResourceSubscription {
    pub(crate) async fn begin(
        upstream: &Arc<Upstream>,
        session: &Session,
        uri: Arc<str>,
    ) -> Result<Self, UpstreamError> {
        let is_first = upstream.subscribed.add(&uri);
        let subscription = Self {
            upstream: Arc::clone(upstream),
            uri,
        };
        // On a stateless session, the monitor's subscription task includes the URI.
        if is_first && !session.server_info.is_stateless {
            let params = subscription.params();
            let outcome = session
                .request("resources/subscribe", &params, None, None)
                .await;
            if let Err(error) = outcome {
                return Err(upstream.server.error(session, error).await);
            }
        }
        Ok(subscription)
    }

    fn params(&self) -> Value {
        Value::object([("uri", Value::Text(Arc::clone(&self.uri)))])
    }
}

impl Drop for ResourceSubscription {
    fn drop(&mut self) {
        if !self.upstream.subscribed.remove(&self.uri) {
            return;
        }
        // Without a runtime, the connection and the server are gone.
        if let Some(session) = self.upstream.server.running_session()
            && !session.server_info.is_stateless
            && let Ok(runtime) = Handle::try_current()
        {
            let params = self.params();
            runtime.spawn(async move {
                // Notifications without subscribers are dropped, so a failure has no effect.
                let _ = session
                    .request("resources/unsubscribe", &params, None, None)
                    .await;
            });
        }
    }
}
