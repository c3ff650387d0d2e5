//! Calls that are suspended until their client returns with answers.
//!
//! Since 2026-07-28 a server requests input by a result of the kind `input_required`, and the client repeats its
//! request with the answers and the `requestState` of that result. The work of the first request continues in between.
//! A state is valid once, for one request of one client; any other is refused before anything runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use planwright_core::Value;
use planwright_engine::id::random_id;

use super::call::{InFlightCall, RequestKey};
use super::client::ClientId;

/// The time limit for a client's return. It is long, because the person who can answer may be away.
const STATE_VALIDITY: Duration = Duration::from_mins(30);

const MAX_SUSPENDED: usize = 100;

/// The suspended calls, by their request states.
#[derive(Clone, Debug, Default)]
pub(crate) struct SuspendedCalls(Arc<Mutex<HashMap<String, SuspendedEntry>>>);

#[derive(Debug)]
struct SuspendedEntry {
    client: ClientId,
    request: RequestKey,
    continuation: Continuation,
}

#[derive(Debug)]
pub(crate) enum Continuation {
    /// A call that continues in this process.
    Call(InFlightCall),
    /// An upstream server, which continues when it receives the request again, with its own state.
    Upstream(Option<Value>),
}

impl SuspendedCalls {
    /// Suspends a call until its client returns with `state`. Returns false if the client has too many suspended calls.
    pub(crate) fn put(
        &self,
        state: &str,
        client: ClientId,
        request: RequestKey,
        continuation: Continuation,
    ) -> bool {
        let mut calls = self.lock();
        let suspended = calls.values().filter(|call| call.client == client);
        if suspended.count() >= MAX_SUSPENDED {
            return false;
        }
        let call = SuspendedEntry {
            client,
            request,
            continuation,
        };
        calls.insert(state.to_owned(), call);
        drop(calls);
        // Weak, so that the timer does not keep the calls of a dropped gateway.
        let (suspended, expired) = (Arc::downgrade(&self.0), state.to_owned());
        tokio::spawn(async move {
            tokio::time::sleep(STATE_VALIDITY).await;
            if let Some(suspended) = suspended.upgrade() {
                let call = Self(suspended).lock().remove(&expired);
                drop(call);
            }
        });
        true
    }

    /// Takes the call that `client` returns to: its first request and its continuation. Returns `None` if the state is
    /// unknown, used or expired, or belongs to another client or request, whose call stays suspended.
    pub(crate) fn take(
        &self,
        client: &ClientId,
        request: &RequestKey,
        state: &str,
    ) -> Option<(RequestKey, Continuation)> {
        let mut calls = self.lock();
        let call = calls.get(state)?;
        if call.client != *client || !call.request.is_repeated_by(request) {
            return None;
        }
        calls
            .remove(state)
            .map(|call| (call.request, call.continuation))
    }

    /// Cancels all suspended calls of a client.
    pub(crate) fn end_client(&self, client: &ClientId) {
        let mut calls = self.lock();
        let ended: Vec<SuspendedEntry> = calls
            .extract_if(|_, call| call.client == *client)
            .map(|(_, call)| call)
            .collect();
        drop(calls);
        // Dropping a call cancels its work, so the lock is released first.
        drop(ended);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, SuspendedEntry>> {
        // No code that may panic runs while the lock is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns an unguessable state of 128 random bits.
pub(crate) fn random_state() -> String {
    format!("planwright-{}{}", random_id(), random_id())
}

#[cfg(test)]
mod tests {
    use planwright_core::Value;

    use super::super::client::ClientId;
    use super::{Continuation, RequestKey, SuspendedCalls};

    fn subject(name: &str, arguments: &str) -> RequestKey {
        let arguments = Value::from_json(arguments).unwrap();
        RequestKey::new("tools/call", name, Some(&arguments))
    }

    #[tokio::test]
    async fn a_state_is_good_for_one_request_of_one_client() {
        let calls = SuspendedCalls::default();
        let (ada, bob) = (ClientId::new("ada"), ClientId::new("bob"));
        let own = || subject("pay", r#"{"to":"x"}"#);
        let continuation = || Continuation::Upstream(Some(Value::from("theirs")));
        assert!(calls.put("s", ada.clone(), own(), continuation()));
        for (client, request, state) in [
            (&bob, own(), "s"),
            (&ada, subject("wipe", r#"{"to":"x"}"#), "s"),
            (&ada, subject("pay", r#"{"to":"y"}"#), "s"),
            (&ada, own(), "t"),
            (&ada, RequestKey::new("prompts/get", "pay", None), "s"),
        ] {
            assert!(calls.take(client, &request, state).is_none(), "{request:?}");
        }
        let taken = calls.take(&ada, &subject("pay", "{}"), "s");
        assert!(matches!(taken, Some((first, Continuation::Upstream(Some(_)))) if first == own()));
        assert!(calls.take(&ada, &own(), "s").is_none());
    }

    #[tokio::test]
    async fn calls_of_an_ended_client_are_cancelled() {
        let calls = SuspendedCalls::default();
        let request = || subject("pay", "{}");
        for client in ["ada", "bob"] {
            let client = ClientId::new(client);
            assert!(calls.put(
                client.as_str(),
                client.clone(),
                request(),
                Continuation::Upstream(None)
            ));
        }
        calls.end_client(&ClientId::new("ada"));
        assert!(
            calls
                .take(&ClientId::new("ada"), &request(), "ada")
                .is_none()
        );
        assert!(
            calls
                .take(&ClientId::new("bob"), &request(), "bob")
                .is_some()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_state_expires() {
        let calls = SuspendedCalls::default();
        let ada = ClientId::new("ada");
        let request = || subject("pay", "{}");
        assert!(calls.put("s", ada.clone(), request(), Continuation::Upstream(None)));
        tokio::time::sleep(super::STATE_VALIDITY + std::time::Duration::from_secs(1)).await;
        assert!(calls.take(&ada, &request(), "s").is_none());
    }
}
