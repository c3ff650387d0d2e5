//! The requests in flight, with the clients that they are made for: the owners of the messages that a server sends meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use planwright_core::Value;
use planwright_engine::backend::{CallClock, CallProgress, ClockPause};
use rmcp::model::RequestId;
use tokio::time::Instant;

use super::caller::Caller;

const TOKEN_PREFIX: &str = "request-";

/// Returns the progress token of the request `id`: a string, because some servers ignore the number 0.
pub(super) fn progress_token(id: i64) -> Value {
    Value::from(format!("{TOKEN_PREFIX}{id}"))
}

/// Returns the progress that the parameters of a `notifications/progress` report.
pub(crate) fn progress_of(params: &Value) -> CallProgress {
    let number = |name| params.get(name).and_then(Value::as_f64);
    let message = params.get("message").and_then(Value::as_text);
    CallProgress {
        done: number("progress").unwrap_or_default(),
        total: number("total"),
        message: message.filter(|text| !text.is_empty()).map(Arc::from),
    }
}

/// Returns the id of the request with this progress token.
pub(crate) fn request_of_token(token: &Value) -> Option<i64> {
    token.as_text()?.strip_prefix(TOKEN_PREFIX)?.parse().ok()
}

/// The requests in flight with a caller or a clock, by their ids.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    // Held for single accesses only, never across an await.
    requests: Mutex<BTreeMap<i64, InFlightRequest>>,
    /// The requests in flight that no client has caused.
    without_client: Mutex<BTreeSet<i64>>,
    /// The clocks of calls, by the ids of their requests.
    clocks: Mutex<BTreeMap<i64, CallClock>>,
    /// The time of the last cancellation of a client's request.
    cancelled: Mutex<Option<Instant>>,
}

/// The time after a cancellation for which a message without an owner may belong to the cancelled request.
const CANCELLATION_GRACE: Duration = Duration::from_secs(30);

#[derive(Debug)]
struct InFlightRequest {
    caller: Arc<dyn Caller>,
    progress_token: Option<Value>,
}

#[derive(Debug)]
pub(crate) enum RequestOwner {
    /// No owner: no client has a request in flight, or no client has caused the related request.
    NoClient,
    /// The request of the owner has ended, or may have ended.
    Ended,
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

    /// Adds the request `id`, which no client has caused.
    pub(super) fn add_without_client(&self, id: i64) {
        self.without_client().insert(id);
    }

    /// Removes the request `id`, whose caller no longer waits for it. The server may send messages about it all the same.
    pub(super) fn cancel(&self, id: i64) {
        if self.requests().contains_key(&id) {
            *self.cancelled() = Some(Instant::now());
        }
        self.remove(id);
    }

    /// Adds the clock of the request `id`.
    pub(super) fn set_clock(&self, id: i64, clock: CallClock) {
        self.clocks().insert(id, clock);
    }

    pub(crate) fn remove(&self, id: i64) {
        self.requests().remove(&id);
        self.without_client().remove(&id);
        self.clocks().remove(&id);
    }

    /// Passes the progress of the request `id` to its clock, which restarts.
    pub(crate) fn report_progress(&self, id: i64, progress: CallProgress) {
        if let Some(clock) = self.clocks().get(&id) {
            clock.report(progress);
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

    /// Returns the owner of a message that relates to the request `related`. If that is unknown, the owner is the only client with
    /// requests in flight. A message that arrives after the end of its request has the owner [`RequestOwner::Ended`], because no
    /// other client may see it.
    pub(crate) fn owner(&self, related: Option<&RequestId>) -> RequestOwner {
        let requests = self.requests();
        if let Some(RequestId::Number(id)) = related {
            return match requests.get(id) {
                Some(request) => RequestOwner::Client(Arc::clone(&request.caller)),
                None if self.without_client().contains(id) => RequestOwner::NoClient,
                None => RequestOwner::Ended,
            };
        }
        let mut callers = requests.values().rev().map(|request| &request.caller);
        let Some(newest) = callers.next() else {
            let is_recent = |at: Instant| at.elapsed() < CANCELLATION_GRACE;
            return if self.cancelled().is_some_and(is_recent) {
                RequestOwner::Ended
            } else {
                RequestOwner::NoClient
            };
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

    fn without_client(&self) -> MutexGuard<'_, BTreeSet<i64>> {
        self.without_client
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn cancelled(&self) -> MutexGuard<'_, Option<Instant>> {
        self.cancelled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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

    use super::super::caller::Caller;
    use super::super::error::UpstreamError;
    use super::{CANCELLATION_GRACE, InFlight, RequestOwner};

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
            RequestOwner::Ended => "ended".to_owned(),
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
        assert_eq!(check(&[Some("a")], Some(7)), "ended");
    }

    #[tokio::test(start_paused = true)]
    async fn messages_after_a_cancellation_are_not_for_everyone() {
        let in_flight = InFlight::default();
        in_flight.add_without_client(1);
        let without_client = RequestId::Number(1);
        assert!(matches!(
            in_flight.owner(Some(&without_client)),
            RequestOwner::NoClient
        ));
        in_flight.cancel(1);
        assert!(matches!(
            in_flight.owner(Some(&without_client)),
            RequestOwner::Ended
        ));
        assert!(matches!(in_flight.owner(None), RequestOwner::NoClient));
        in_flight.add(2, Arc::new(Named(Some("a"))), None);
        in_flight.cancel(2);
        assert!(matches!(in_flight.owner(None), RequestOwner::Ended));
        in_flight.add(3, Arc::new(Named(Some("b"))), None);
        assert!(matches!(in_flight.owner(None), RequestOwner::Client(_)));
        in_flight.remove(3);
        tokio::time::advance(CANCELLATION_GRACE).await;
        assert!(matches!(in_flight.owner(None), RequestOwner::NoClient));
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
