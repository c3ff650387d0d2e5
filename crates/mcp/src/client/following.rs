//! A subscription to changes of a resource.

use std::sync::Arc;

use planwright_core::Value;
use tokio::runtime::Handle;

use super::caller::UpstreamError;
use super::session::Session;
use super::upstream::Upstream;

/// A guard that keeps a resource subscription until it is dropped.
#[derive(Debug)]
#[must_use = "dropping this ends it"]
pub struct ResourceFollowing {
    upstream: Arc<Upstream>,
    uri: Arc<str>,
}

impl ResourceFollowing {
    pub(super) async fn begin(
        upstream: &Arc<Upstream>,
        session: &Session,
        uri: Arc<str>,
    ) -> Result<Self, UpstreamError> {
        let is_first = upstream.followed.add(&uri);
        let following = Self {
            upstream: Arc::clone(upstream),
            uri,
        };
        // On a stateless session, the monitor's subscription task includes the URI.
        if is_first && !session.greeting.is_stateless {
            let params = following.params();
            let outcome = session.request("resources/subscribe", &params, None).await;
            if let Err(error) = outcome {
                return Err(upstream.server.error(session, error).await);
            }
        }
        Ok(following)
    }

    fn params(&self) -> Value {
        Value::object([("uri", Value::Text(Arc::clone(&self.uri)))])
    }
}

impl Drop for ResourceFollowing {
    fn drop(&mut self) {
        if !self.upstream.followed.remove(&self.uri) {
            return;
        }
        // Without a runtime, the connection and the server are gone.
        if let Some(session) = self.upstream.server.running()
            && !session.greeting.is_stateless
            && let Ok(runtime) = Handle::try_current()
        {
            let params = self.params();
            runtime.spawn(async move {
                // Notifications without subscribers are dropped, so a failure has no effect.
                let _ = session
                    .request("resources/unsubscribe", &params, None)
                    .await;
            });
        }
    }
}
