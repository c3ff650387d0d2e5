//! The requests in flight on a connection and their clients.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use planwright_core::Value;
use planwright_engine::backend::{CallClock, ClockPause};
use rmcp::model::RequestId;

use super::caller::Caller;

/// The requests in flight with a caller or a clock, by their ids.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    // Held for single accesses only, never across an await.
    requests: Mutex<BTreeMap<i64, InFlightRequest>>,
    /// The clocks of calls, by the ids of their requests.
    clocks: Mutex<BTreeMap<i64, CallClock>>,
}

#[derive(Debug)]
struct InFlightRequest {
    caller: Arc<dyn Caller>,
    progress_token: Option<Value>,
}

#[derive(Debug)]
pub(crate) enum RequestOwner {
    /// No owner: no request of any client is in flight, or the related one is not.
    NoClient,
    /// A single client has all requests in flight. This is the caller of its latest request.
    Client(Arc<dyn Caller>),
    /// Requests of several clients are in flight, so the owner is unknown.
    Ambiguous,
}

impl InFlight {
    /// Adds the request `id` of `caller`, with the caller's progress token, if any.
    pub(crate) fn add(&self, id: i64, caller: Arc<dyn Caller>, progress_token: Option<Value>) {
        let request = InFlightRequest {
            caller,
            progress_token,
        };
        self.requests().insert(id, request);
    }

    /// Adds the clock of the request `id`.
    pub(crate) fn set_clock(&self, id: i64, clock: CallClock) {
        self.clocks().insert(id, clock);
    }

    pub(crate) fn remove(&self, id: i64) {
        self.requests().remove(&id);
        self.clocks().remove(&id);
    }

    /// Restarts the clock of the request `id` after progress.
    pub(crate) fn restart_clock(&self, id: i64) {
        if let Some(clock) = self.clocks().get(&id) {
            clock.restart();
        }
    }

    /// Pauses the clock of the request that a server's request relates to; if that is unknown, the clocks of all
    /// requests.
    pub(crate) fn pause_clocks(&self, related: Option<&RequestId>) -> Vec<ClockPause> {
        let clocks = self.clocks();
        match related {
            Some(RequestId::Number(id)) => {
                clocks.get(id).map(CallClock::pause).into_iter().collect()
            }
            _ => clocks.values().map(CallClock::pause).collect(),
        }
    }

    /// Returns the caller of the request `id` and its progress token, if it has one.
    pub(crate) fn progress_listener(&self, id: i64) -> Option<(Arc<dyn Caller>, Value)> {
        let requests = self.requests();
        let request = requests.get(&id)?;
        let token = request.progress_token.clone()?;
        Some((Arc::clone(&request.caller), token))
    }

    /// Returns the owner of a message that relates to the request `related`. If that is unknown, the owner is the only
    /// client with requests in flight.
    pub(crate) fn owner(&self, related: Option<&RequestId>) -> RequestOwner {
        let requests = self.requests();
        if let Some(RequestId::Number(id)) = related {
            let request = requests.get(id);
            return request.map_or(RequestOwner::NoClient, |request| {
                RequestOwner::Client(Arc::clone(&request.caller))
            });
        }
        let mut callers = requests.values().rev().map(|request| &request.caller);
        let Some(newest) = callers.next() else {
            return RequestOwner::NoClient;
        };
        if callers.all(|caller| is_same_client(caller, newest)) {
            RequestOwner::Client(Arc::clone(newest))
        } else {
            RequestOwner::Ambiguous
        }
    }

    fn clocks(&self) -> MutexGuard<'_, BTreeMap<i64, CallClock>> {
        self.clocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn requests(&self) -> MutexGuard<'_, BTreeMap<i64, InFlightRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_same_client(one: &Arc<dyn Caller>, other: &Arc<dyn Caller>) -> bool {
    // Not `Arc::ptr_eq`, which also compares vtables: one type may have several.
    if std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other)) {
        return true;
    }
    match (one.client(), other.client()) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::future::BoxFuture;
    use planwright_core::Value;
    use rmcp::model::RequestId;

    use super::{InFlight, RequestOwner};
    use crate::session::caller::{Caller, UpstreamError};

    struct Named(Option<&'static str>);

    impl Caller for Named {
        fn notify(&self, _: &str, _: Value) {}

        fn ask(&self, _: &str, _: Value) -> BoxFuture<'static, Result<Value, UpstreamError>> {
            Box::pin(std::future::pending())
        }

        fn meta(&self) -> Value {
            Value::from(self.0.unwrap_or("unnamed"))
        }

        fn client(&self) -> Option<Arc<str>> {
            self.0.map(Arc::from)
        }
    }

    /// Returns the owner of a message while requests of these clients are in flight, numbered from 0.
    fn check(names: &[Option<&'static str>], related: Option<i64>) -> String {
        let in_flight = InFlight::default();
        for (id, name) in (0..).zip(names) {
            in_flight.add(id, Arc::new(Named(*name)), None);
        }
        match in_flight.owner(related.map(RequestId::Number).as_ref()) {
            RequestOwner::NoClient => "none".to_owned(),
            RequestOwner::Client(caller) => caller.meta().as_text().unwrap().to_owned(),
            RequestOwner::Ambiguous => "several".to_owned(),
        }
    }

    #[test]
    fn finds_the_owner_of_a_message() {
        assert_eq!(check(&[], None), "none");
        assert_eq!(check(&[None], None), "unnamed");
        assert_eq!(check(&[None, None], None), "several");
        assert_eq!(check(&[Some("a"), Some("a")], None), "a");
        assert_eq!(check(&[Some("a"), Some("b")], None), "several");
        assert_eq!(check(&[Some("a"), None], None), "several");
        assert_eq!(check(&[Some("a"), Some("b")], Some(0)), "a");
        assert_eq!(check(&[Some("a"), Some("b")], Some(1)), "b");
        assert_eq!(check(&[Some("a")], Some(7)), "none");
    }

    #[test]
    fn one_caller_may_have_many_requests() {
        let in_flight = InFlight::default();
        let caller: Arc<dyn Caller> = Arc::new(Named(None));
        in_flight.add(1, Arc::clone(&caller), None);
        in_flight.add(2, caller, Some(Value::from("token")));
        assert!(matches!(in_flight.owner(None), RequestOwner::Client(_)));
        assert!(in_flight.progress_listener(1).is_none());
        let (_, token) = in_flight.progress_listener(2).unwrap();
        assert_eq!(token, Value::from("token"));
        in_flight.remove(2);
        assert!(in_flight.progress_listener(2).is_none());
    }
}
