//! Requests and notifications of a session.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use planwright_core::Value;
use planwright_engine::backend::CallClock;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    ClientRequest, CustomNotification, CustomRequest, RequestId, RequestMetaObject,
};

use super::caller::Caller;
use super::mailbox::RequestError;
use super::meta;
use super::object::without;
use super::session::Session;

impl Session {
    /// Sends a request and returns its result unchanged. Dropping the future cancels the request.
    pub(super) async fn request(
        &self,
        method: &str,
        params: &Value,
        caller: Option<&Arc<dyn Caller>>,
    ) -> Result<Value, RequestError> {
        self.timed_request(method, params, caller, None).await
    }

    /// Sends a request like [`request`](Self::request), with a clock that progress restarts and requests of the server
    /// pause.
    pub(super) async fn timed_request(
        &self,
        method: &str,
        params: &Value,
        caller: Option<&Arc<dyn Caller>>,
        clock: Option<&CallClock>,
    ) -> Result<Value, RequestError> {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        let id = RequestId::Number(number);
        let (meta, progress_token) = meta::of_request(
            params.get("_meta"),
            number,
            caller.map(AsRef::as_ref),
            clock.is_some(),
            &self.identity,
        );
        let answer = self.mailbox.wait_for(id.clone());
        if let Some(caller) = caller {
            let caller = Arc::clone(caller);
            self.desk.under_way.add(number, caller, progress_token);
        }
        if let Some(clock) = clock {
            self.desk.under_way.time(number, clock.clone());
        }
        let mut guard = CancelOnDrop {
            session: self,
            number,
            is_answered: false,
        };
        let request = custom_request(method, params, meta.into());
        self.connection
            .send(ClientJsonRpcMessage::request(request, id));
        let answer = answer.await;
        guard.is_answered = true;
        // A closed channel means that the connection is closed.
        answer.unwrap_or(Err(RequestError::Lost(None)))
    }

    /// Sends a notification.
    pub(super) fn notify(&self, method: &str, params: &Value) {
        let params = (!params.is_null()).then(|| params.into());
        let notification = CustomNotification::new(method, params);
        self.send_notification(ClientNotification::CustomNotification(notification));
    }

    fn send_notification(&self, notification: ClientNotification) {
        self.connection
            .send(ClientJsonRpcMessage::notification(notification));
    }
}

/// Returns the request as a custom request, which `rmcp` sends unchanged.
fn custom_request(method: &str, params: &Value, meta: Value) -> ClientRequest {
    let params = match params.get("_meta") {
        Some(_) => without(params, &["_meta"]),
        None => params.clone(),
    };
    let params = (!params.is_null()).then(|| params.into());
    let mut request = CustomRequest::new(method, params);
    if let serde_json::Value::Object(meta) = meta.into()
        && !meta.is_empty()
    {
        request.extensions.insert(RequestMetaObject::from(meta));
    }
    ClientRequest::CustomRequest(request)
}

/// Sends a cancellation when a caller stops waiting for its request.
struct CancelOnDrop<'a> {
    session: &'a Session,
    number: i64,
    is_answered: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.session.desk.under_way.remove(self.number);
        if self.is_answered {
            return;
        }
        let id = RequestId::Number(self.number);
        self.session.mailbox.forget(&id);
        let reason = "the caller stopped waiting".to_owned();
        let params = CancelledNotificationParam::new(Some(id), Some(reason));
        let notification = CancelledNotification::new(params);
        self.session
            .send_notification(ClientNotification::CancelledNotification(notification));
    }
}
