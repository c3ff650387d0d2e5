use http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::Extensions;
use rmcp::service::RequestContext;
use tokio_util::sync::CancellationToken;

/// The end of a stream or session. Each of its requests carries the signal, so that calls end with it at once: `rmcp`
/// itself lets handlers run for some seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionEnd(CancellationToken);

impl SessionEnd {
    pub(super) fn signal(&self) {
        self.0.cancel();
    }

    /// Attaches the signal to a request.
    pub(super) fn attach(&self, extensions: &mut Extensions) {
        extensions.insert(self.clone());
    }
}

/// The end of a client's access. Each of its HTTP requests carries the signal.
#[derive(Clone, Debug, Default)]
pub(super) struct ClientEnd(CancellationToken);

impl ClientEnd {
    pub(super) fn signal(&self) {
        self.0.cancel();
    }

    pub(super) fn is_signalled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// Waits for the end of the request's session, stream or client. Never completes for a request without signals.
pub(super) async fn ended(context: &RequestContext<RoleServer>) {
    let session = context.extensions.get::<SessionEnd>();
    let parts = context.extensions.get::<Parts>();
    let client = parts.and_then(|parts| parts.extensions.get::<ClientEnd>());
    match (session, client) {
        (None, None) => std::future::pending().await,
        (Some(session), None) => session.0.cancelled().await,
        (None, Some(client)) => client.0.cancelled().await,
        (Some(session), Some(client)) => {
            tokio::select! {
                () = session.0.cancelled() => {}
                () = client.0.cancelled() => {}
            }
        }
    }
}
