//! Routes responses to pending requests without `rmcp`'s models.
//!
//! `rmcp` parses a message by trying some twenty types on a buffered copy, and keeps only the content types of a tool
//! result that it knows. Results may be large and must arrive unchanged, and a gateway passes unknown fields through.
//! So this module parses messages once, directly into shared values. `rmcp` still performs the handshake and sends
//! messages; it receives an empty message in place of each routed one.
//!
//! Design: [Messages pass unchanged](https://github.com/planwright/planwright/blob/main/docs/design/transports.md#messages-pass-unchanged).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use planwright_core::Value;
use rmcp::model::RequestId;
use tokio::sync::oneshot;

use super::caller::UpstreamError;
use super::envelope::ResponseOutline;
use super::envelope::{self, Envelope, canonical_id};
use super::handshake::{DISCOVER, INITIALIZE};

/// The pending requests, and the handler of server-initiated messages.
#[derive(Default)]
pub(crate) struct ResponseRouter {
    // Held for single accesses only, never across an await.
    state: Mutex<RouterState>,
    handler: OnceLock<Arc<dyn ServerMessageHandler>>,
}

#[derive(Default)]
struct RouterState {
    pending: HashMap<RequestId, oneshot::Sender<RequestOutcome>>,
    handshakes: HashMap<RequestId, Option<Value>>,
    is_closed: bool,
    /// The greatest number of a request so far.
    last_number: i64,
}

impl RouterState {
    /// Returns the id of the pending request if there is exactly one.
    fn only_request(&self) -> Option<RequestId> {
        let mut ids = self.pending.keys();
        let first = ids.next()?;
        ids.next().is_none().then(|| first.clone())
    }
}

pub(crate) type RequestOutcome = Result<Value, RequestError>;

/// The reason why a request has no result.
#[derive(Debug)]
pub(crate) enum RequestError {
    /// The server has responded with an error.
    Refused(UpstreamError),
    /// The request did not reach the server, for this reason.
    #[cfg_attr(
        not(feature = "http"),
        expect(dead_code, reason = "a pipe cannot refuse a single message")
    )]
    Unsent(String),
    /// The request may have reached the server, but its response was lost. The reason is `None` if it is that of the
    /// whole connection.
    Lost(Option<String>),
    /// The response is unreadable, so the outcome is unknown.
    Unreadable(String),
}

/// A handler of server-initiated messages. It is called in the order of the messages and before later ones are routed,
/// so it must not block.
pub(crate) trait ServerMessageHandler: Send + Sync {
    /// Handles a request that relates to the request `related`, if that is known.
    fn on_request(
        self: Arc<Self>,
        id: RequestId,
        method: &str,
        params: Value,
        related: Option<&RequestId>,
    );

    /// Handles a notification that relates to the request `related`, if that is known.
    fn on_notification(&self, method: &str, params: Value, related: Option<&RequestId>);

    /// Handles the end of the connection.
    fn on_close(&self);
}

impl ResponseRouter {
    /// Sets the handler of server-initiated messages. Before that, `rmcp` gets them.
    pub(crate) fn set_handler(&self, handler: Arc<dyn ServerMessageHandler>) {
        // Each connection has one handler, so this is called once.
        let _ = self.handler.set(handler);
    }

    /// Registers the request `id` and returns the receiver of its outcome, which is closed without one when the
    /// connection closes.
    pub(crate) fn register(&self, id: RequestId) -> oneshot::Receiver<RequestOutcome> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state();
        if let RequestId::Number(number) = id {
            state.last_number = state.last_number.max(number);
        }
        if !state.is_closed {
            state.pending.insert(id, sender);
        }
        receiver
    }

    /// Removes the request `id`, whose outcome is no longer needed.
    pub(crate) fn unregister(&self, id: &RequestId) {
        self.state().pending.remove(id);
    }

    pub(crate) fn fail(&self, id: &RequestId, error: RequestError) {
        let sender = self.state().pending.remove(id);
        if let Some(sender) = sender {
            // The caller may have stopped waiting.
            let _ = sender.send(Err(error));
        }
    }

    /// Requests a copy of the result of the handshake request `id`, which `rmcp` gets as well.
    pub(crate) fn capture_handshake(&self, id: RequestId) {
        self.state().handshakes.insert(id, None);
    }

    /// Takes the copy of that result.
    pub(crate) fn take_handshake(&self, id: &RequestId) -> Option<Value> {
        self.state().handshakes.remove(id)?
    }

    /// Closes the router and fails all pending requests.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        let unanswered = std::mem::take(&mut state.pending);
        drop(state);
        // Dropping the senders fails their requests.
        drop(unanswered);
        if let Some(handler) = self.handler.get() {
            handler.on_close();
        }
    }

    pub(crate) fn route(&self, message: Envelope, related: Option<&RequestId>) -> RouteResult {
        let Envelope {
            id,
            method,
            params,
            result,
            error,
        } = message;
        match (method, result, error) {
            (Some(method), _, _) => {
                let Some(handler) = self.handler.get() else {
                    // During the handshake, `rmcp` answers the server itself.
                    return RouteResult::ForRmcp;
                };
                let params = params.unwrap_or_default();
                match id {
                    Some(id) => Arc::clone(handler).on_request(id, &method, params, related),
                    None => handler.on_notification(&method, params, related),
                }
                RouteResult::Routed(None)
            }
            (None, Some(result), None) => self.answer(id, Ok(result)),
            (None, None, Some(error)) => self.answer(
                id,
                Err(RequestError::Refused(envelope::to_upstream_error(error))),
            ),
            // JSON-RPC 2.0 requires exactly one of `result` and `error` in a response.
            (None, Some(_), Some(_)) | (None, None, None) => RouteResult::Invalid,
        }
    }

    /// Fails the request that an unreadable message answers, and returns its id: the id in the message, else the
    /// request that the message arrived for, else the only pending request.
    pub(crate) fn fail_unreadable(
        &self,
        bytes: &[u8],
        related: Option<&RequestId>,
    ) -> Option<RequestId> {
        let outline = ResponseOutline::of(bytes);
        let mut state = self.state();
        let id = if outline.is_response_without_id() {
            match related {
                Some(id) => id.clone(),
                None => state.only_request()?,
            }
        } else {
            outline.id.clone().filter(|_| outline.is_response())?
        };
        let sender = state.pending.remove(&id)?;
        drop(state);
        // The caller may have stopped waiting.
        let _ = sender.send(Err(RequestError::Unreadable(envelope::unreadable_reason(
            bytes,
        ))));
        Some(id)
    }

    #[cfg(feature = "http")]
    pub(crate) fn is_pending(&self, id: &RequestId) -> bool {
        self.state().pending.contains_key(id)
    }

    fn answer(&self, id: Option<RequestId>, answer: RequestOutcome) -> RouteResult {
        let Some(id) = id.map(canonical_id) else {
            return match answer {
                Ok(_) if self.handler.get().is_some() => RouteResult::Invalid,
                _ => RouteResult::ForRmcp,
            };
        };
        let mut state = self.state();
        if let (Some(copy), Ok(result)) = (state.handshakes.get_mut(&id), &answer) {
            *copy = Some(result.clone());
        }
        match state.pending.remove(&id) {
            Some(sender) => {
                let _ = sender.send(answer);
                RouteResult::Routed(Some(id))
            }
            // Over HTTP, `rmcp` repeats the handshake by itself when the server has dropped the session.
            None if [DISCOVER, INITIALIZE].contains(&id) => RouteResult::ForRmcp,
            None if self.handler.get().is_some() => {
                // A number of the past is that of a cancelled request, whose response is late.
                match id {
                    RequestId::Number(number) if number <= state.last_number => {
                        RouteResult::Routed(Some(id))
                    }
                    id => RouteResult::Unexpected(id),
                }
            }
            None => RouteResult::ForRmcp,
        }
    }

    fn state(&self) -> MutexGuard<'_, RouterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, PartialEq)]
pub(crate) enum RouteResult {
    /// The message is routed; it was the response to this request.
    Routed(Option<RequestId>),
    /// The message is a response to this request, which was never sent.
    Unexpected(RequestId),
    ForRmcp,
    Invalid,
}

impl fmt::Debug for ResponseRouter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseRouter")
            .field("pending", &self.state().pending.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{RequestError, RequestId, RequestOutcome, ResponseRouter, RouteResult};
    use crate::session::envelope;

    const ID: RequestId = RequestId::Number(7);

    /// Returns the outcome of the request 7 after `line`.
    fn check(line: &str) -> Option<RequestOutcome> {
        let router = ResponseRouter::default();
        let mut answer = router.register(ID);
        let line = line.as_bytes();
        let delivery = envelope::read(line).map(|message| router.route(message, None));
        if let None | Some(RouteResult::Invalid) = delivery {
            router.fail_unreadable(line, None);
        }
        answer.try_recv().ok()
    }

    fn unreadable(line: &str) -> String {
        match check(line) {
            Some(Err(RequestError::Unreadable(reason))) => reason,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn routes_results_unchanged() {
        let passed = [
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{"b":1,"a":[]}}"#,
                r#"{"b":1,"a":[]}"#,
            ),
            (r#"{"result":null,"id":"7","more":{}}"#, "null"),
            (r#"{"id":7,"result":"\u00e4"}"#, "\"ä\""),
            (r#"{"id":7,"result":{},"error":null}"#, "{}"),
        ];
        for (line, expected) in passed {
            assert_eq!(check(line).unwrap().unwrap().to_json(), expected, "{line}");
        }
        let others = [
            r#"{"jsonrpc":"2.0","id":8,"result":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#,
            "[]",
            "npm notice",
        ];
        for line in others {
            assert!(check(line).is_none(), "{line}");
        }
    }

    #[test]
    fn routes_errors_unchanged() {
        let cases = [
            (
                r#"{"id":7,"error":{"code":-32602,"message":"no","data":{"x":[1.5]}}}"#,
                r#"-32602 no Some({"x":[1.5]})"#,
            ),
            (r#"{"id":7,"error":{"code":1,"message":"no"}}"#, "1 no None"),
            (r#"{"id":7,"error":"odd"}"#, r#"-32603 "odd" None"#),
            (
                r#"{"id":7,"result":null,"error":{"code":1,"message":"no"}}"#,
                "1 no None",
            ),
        ];
        for (line, expected) in cases {
            let Some(Err(RequestError::Refused(error))) = check(line) else {
                panic!("{line}");
            };
            let data = error.data.map(|data| data.to_json());
            let data = data.map_or("None".to_owned(), |data| format!("Some({data})"));
            assert_eq!(format!("{} {} {data}", error.code, error.message), expected);
        }
    }

    #[test]
    fn fails_requests_with_unreadable_results() {
        let deep = format!(
            r#"{{"result":{}{},"id":7}}"#,
            "[".repeat(500),
            "]".repeat(500)
        );
        assert_eq!(unreadable(&deep), "recursion limit exceeded");
        assert_eq!(
            unreadable(r#"{"id":7,"result":{"#),
            "EOF while parsing an object"
        );
        let broken = [
            r#"{"jsonrpc": "2.0", "id": 7, "result": {"x": NaN}}"#,
            r#"{"id":"7","result":{"x":NaN}}"#,
            r#"{"result":{"id":8,"x":NaN},"jsonrpc":"2.0","id":7}"#,
            r#"{"result":{"x":NaN}, "id": 7, "jsonrpc": "2.0"}"#,
            // The message names no request, but only one is pending.
            r#"{"jsonrpc":"2.0","result":{"id":7,"x":NaN}}"#,
        ];
        for line in broken {
            assert_eq!(unreadable(line), "expected value", "{line}");
        }
        let odd = [
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{"x":1e400}}"#,
                "number out of range",
            ),
            (
                r#"{"jsonrpc":"2.0","id":7}"#,
                "it has neither a result nor an error",
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"error":null}"#,
                "it has neither a result nor an error",
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#,
                "it has both a result and an error",
            ),
            (
                r#"[{"jsonrpc":"2.0","id":7,"result":{}}]"#,
                "invalid type: sequence, expected a JSON-RPC message",
            ),
        ];
        for (line, reason) in odd {
            assert_eq!(unreadable(line), reason, "{line}");
        }
        let unrelated = [
            r#"{"jsonrpc":"2.0","id":8,"result":{"x":NaN}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"roots/list","params":{"x":NaN}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"data":NaN}}"#,
            r#"{"id":7,"level":"info"}"#,
            r#"{"result":{"x":NaN,"id":7}}"#,
            "{",
            "}",
            "",
        ];
        for line in unrelated {
            assert!(check(line).is_none(), "{line}");
        }
    }

    #[test]
    fn an_unreadable_answer_without_an_id_belongs_to_the_request_it_arrived_for() {
        let line = br#"{"jsonrpc":"2.0","result":{"x":NaN}}"#;
        let router = ResponseRouter::default();
        let mut pending = [7, 8].map(|id| router.register(RequestId::Number(id)));
        assert_eq!(router.fail_unreadable(line, None), None);
        assert!(pending.iter_mut().all(|answer| answer.try_recv().is_err()));
        let related = RequestId::Number(8);
        assert_eq!(
            router.fail_unreadable(line, Some(&related)).as_ref(),
            Some(&related)
        );
        assert!(router.is_pending(&ID) && !router.is_pending(&related));
    }

    #[test]
    fn unregisters_and_closes() {
        let answer = r#"{"id":7,"result":{}}"#.as_bytes();
        let router = ResponseRouter::default();
        let _unused = router.register(ID);
        router.unregister(&ID);
        let message = envelope::read(answer).unwrap();
        assert_eq!(router.route(message, None), RouteResult::ForRmcp);

        let mut before = router.register(ID);
        router.close();
        let mut after = router.register(ID);
        assert!(before.try_recv().is_err() && after.try_recv().is_err());
    }

    #[test]
    fn captures_the_handshake() {
        let router = ResponseRouter::default();
        router.capture_handshake(ID);
        let message = envelope::read(br#"{"id":7,"result":{"odd":1}}"#).unwrap();
        assert_eq!(router.route(message, None), RouteResult::ForRmcp);
        assert_eq!(
            router.take_handshake(&ID).unwrap().to_json(),
            r#"{"odd":1}"#
        );
    }
}
