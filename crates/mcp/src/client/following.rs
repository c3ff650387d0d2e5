//! Hearing of changes of a resource.

use std::sync::Arc;

use planwright_core::Value;
use tokio::runtime::Handle;

use super::caller::UpstreamError;
use super::session::Session;
use super::upstream::Upstream;

/// Keeps a server telling of changes of a resource until it is dropped.
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
        // On a stateless session whoever keeps it subscribed sees to it.
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
        // Without a runtime the connection is gone, and the server with it.
        if let Some(session) = self.upstream.server.running()
            && !session.greeting.is_stateless
            && let Ok(runtime) = Handle::try_current()
        {
            let params = self.params();
            runtime.spawn(async move {
                // A server that goes on telling is not heard.
                let _ = session
                    .request("resources/unsubscribe", &params, None)
                    .await;
            });
        }
    }
}
