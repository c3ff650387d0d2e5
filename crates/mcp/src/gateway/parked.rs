//! Calls that wait for a client to answer what it was asked by a result.
//!
//! Since 2026-07-28 a server asks nothing by a request of its own: it answers a call with what it needs to know, and the
//! client makes the call again with the answers. What the first call has begun goes on in between.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::client::ClientId;
use super::conduct::Work;

/// How long answers are waited for. A person may have to be found who can give them.
const PATIENCE: Duration = Duration::from_mins(30);

/// The most calls of one client that may wait.
const MOST: usize = 100;

/// Calls that wait, by what their clients were told to send back.
#[derive(Clone, Debug, Default)]
pub(super) struct Parked(Arc<Mutex<HashMap<String, Call>>>);

#[derive(Debug)]
struct Call {
    client: ClientId,
    work: Work,
}

impl Parked {
    /// Puts a call aside until its client comes back with the text that is given. Nothing where too many wait.
    pub(super) fn put(&self, client: ClientId, work: Work) -> Option<String> {
        let key = key();
        let mut calls = self.lock();
        let waiting = calls.values().filter(|call| call.client == client);
        if waiting.count() >= MOST {
            return None;
        }
        calls.insert(key.clone(), Call { client, work });
        drop(calls);
        let (parked, late) = (Arc::downgrade(&self.0), key.clone());
        tokio::spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            if let Some(parked) = parked.upgrade() {
                let call = Self(parked).lock().remove(&late);
                drop(call);
            }
        });
        Some(key)
    }

    /// The call that `client` comes back to.
    pub(super) fn take(&self, client: &ClientId, key: &str) -> Option<Work> {
        let mut calls = self.lock();
        if calls.get(key)?.client != *client {
            return None;
        }
        calls.remove(key).map(|call| call.work)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Call>> {
        // Nothing that may panic happens while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A text that nobody guesses.
fn key() -> String {
    format!("planwright-{}", uuid::Uuid::new_v4().simple())
}
