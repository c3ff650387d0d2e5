//! The rate of each client over all gateways of a shared store.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use planwright::engine::Rate;
use planwright_mcp::gateway::ClientId;
use planwright_store::{RequestRate, Store, StoreError};
use tokio::time::Instant;

use super::limits::MAX_RATE_KEYS;
use crate::host::spawn_blocking_limited;

/// The number of batches in a burst. A gateway takes a whole batch from the store at once, so that not every request needs the store.
const BATCHES: u32 = 20;

/// The time after which a credit expires: the store counts its requests as served, and soon allows the client new ones at other gateways.
const CREDIT_TIME: Duration = Duration::from_secs(1);

/// A rate limit whose counts are in the store.
#[derive(Debug)]
pub(super) struct SharedRate {
    store: Store,
    rate: RequestRate,
    credits: Mutex<HashMap<ClientId, Credit>>,
}

/// The requests of a client that this gateway has taken from the store, and may still serve.
#[derive(Clone, Copy, Debug)]
struct Credit {
    left: u32,
    until: Instant,
}

impl SharedRate {
    pub(super) fn new(store: Store, rate: Rate) -> Self {
        Self {
            store,
            rate: RequestRate {
                burst: rate.calls.get(),
                gap: rate.per / rate.calls.get(),
            },
            credits: Mutex::default(),
        }
    }

    /// Counts a request of a client. At the limit, fails with the time until the next one is allowed. If the store cannot be
    /// reached, allows the request: the limits of this gateway still apply.
    pub(super) async fn take(&self, client: &ClientId) -> Result<(), Duration> {
        if self.spend(client) {
            return Ok(());
        }
        let batch = (self.rate.burst / BATCHES).max(1);
        let (store, rate, name) = (self.store.clone(), self.rate, client.as_str().to_owned());
        let take_batch = move || -> Result<_, StoreError> {
            let refused = store.count_requests(&name, batch, rate)?;
            if refused.is_none() || batch == 1 {
                return Ok((refused, batch));
            }
            // There is no room for a whole batch, but perhaps for this request.
            Ok((store.count_requests(&name, 1, rate)?, 1))
        };
        let counted = spawn_blocking_limited(take_batch).await;
        match counted
            .map_err(|error| error.to_string())
            .and_then(|counted| counted.map_err(|error| error.to_string()))
        {
            Ok((None, count)) => {
                self.add(client, count - 1);
                Ok(())
            }
            Ok((Some(wait), _)) => Err(wait),
            Err(error) => {
                tracing::warn!(error, "a request was not counted over all gateways");
                Ok(())
            }
        }
    }

    /// Spends one request of the client's credit. Returns false if none is left.
    fn spend(&self, client: &ClientId) -> bool {
        let mut credits = self.credits.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(credit) = credits.get_mut(client) else {
            return false;
        };
        let is_left = credit.left > 0 && Instant::now() < credit.until;
        credit.left = if is_left { credit.left - 1 } else { 0 };
        is_left
    }

    fn add(&self, client: &ClientId, count: u32) {
        let mut credits = self.credits.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if credits.len() > MAX_RATE_KEYS {
            credits.retain(|_, credit| now < credit.until);
        }
        let credit = credits.entry(client.clone()).or_insert(Credit {
            left: 0,
            until: now,
        });
        credit.left = credit.left.saturating_add(count);
        credit.until = now + CREDIT_TIME;
    }
}
