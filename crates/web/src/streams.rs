//! The streams of events that are open: their number, and their end.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::error::ApiError;
use crate::session::Visitor;

/// The maximum number of concurrent streams of one party.
const MAX_STREAMS: usize = 64;

/// The streams of events that are open.
#[derive(Debug, Default)]
pub(crate) struct OpenStreams {
    /// A permit for each further stream, by party.
    permits: Mutex<HashMap<Option<Arc<str>>, Arc<Semaphore>>>,
    closed: CancellationToken,
}

impl OpenStreams {
    /// Returns a permit for a further stream of a visitor, or an error if there are too many.
    pub(crate) fn enter(&self, visitor: &Visitor) -> Result<OwnedSemaphorePermit, ApiError> {
        let mut permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        let own = permits
            .entry(visitor.party())
            .or_insert_with(|| Arc::new(Semaphore::new(MAX_STREAMS)));
        Arc::clone(own).try_acquire_owned().map_err(|_| {
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open")
                .help("close one of them")
        })
    }

    /// Ends all streams.
    pub(crate) fn close(&self) {
        self.closed.cancel();
    }

    /// Waits until all streams end.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }
}
