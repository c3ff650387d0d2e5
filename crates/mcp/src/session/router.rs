//! Routes responses to pending requests without `rmcp`'s models.
//!
//! `rmcp` parses a message by trying some twenty types on a buffered copy, and keeps only the content types of a tool
//! result that it knows. Results may be large and must arrive unchanged, and a gateway passes unknown fields through.
//! So this module parses messages once, directly into shared values. `rmcp` still performs the handshake and sends
//! messages; it receives an empty message in place of each routed one.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use planwright_core::Value;
use rmcp::model::RequestId;
use tokio::sync::oneshot;

use super::caller::UpstreamError;
use super::envelope::{self, Envelope, canonical};
use super::handshake::{DISCOVER, INITIALIZE};
use super::outline::Outline;

/// The pending requests, and the handler of server-initiated messages.
#[derive(Default)]
pub(crate) struct Mailbox {
    // Held for single accesses only, never across an await.
    wanted: Mutex<Wanted>,
    listener: OnceLock<Arc<dyn Listener>>,
}

#[derive(Default)]
struct Wanted {
    answers: HashMap<RequestId, oneshot::Sender<Answer>>,
    greetings: HashMap<RequestId, Option<Value>>,
    is_closed: bool,
}

impl Wanted {
    /// Returns the id of the pending request if there is exactly one.
    fn only_request(&self) -> Option<RequestId> {
        let mut ids = self.answers.keys();
        let first = ids.next()?;
        ids.next().is_none().then(|| first.clone())
    }
}

/// The outcome of a request.
pub(crate) type Answer = Result<Value, RequestError>;

/// The reason why a request has no result.
#[derive(Debug)]
pub(crate) enum RequestError {
    /// The server has responded with an error.
    Refused(UpstreamError),
    /// The request did not reach the server, for this reason.
    Unsent(String),
    /// The request may have reached the server, but its response was lost. The reason is `None` if it is that of the
    /// whole connection.
    Lost(Option<String>),
    /// The response is unreadable, so the outcome is unknown.
    Unreadable(String),
}

/// A handler of server-initiated messages. It is called in the order of the messages and before later ones are routed,
/// so it must not block.
pub(crate) trait Listener: Send + Sync {
    /// Handles a request that relates to the request `about`, if that is known.
    fn asked(&self, id: RequestId, method: &str, params: Value, about: Option<&RequestId>);

    /// Handles a notification that relates to the request `about`, if that is known.
    fn told(&self, method: &str, params: Value, about: Option<&RequestId>);

    /// Handles the end of the connection.
    fn ended(&self);
}

impl Mailbox {
    /// Sets the handler of server-initiated messages. Before that, `rmcp` gets them.
    pub(crate) fn listen(&self, listener: Arc<dyn Listener>) {
        // Each connection has one handler, so this is called once.
        let _ = self.listener.set(listener);
    }

    /// Registers the request `id` and returns the receiver of its outcome, which is closed without one when the
    /// connection closes.
    pub(crate) fn wait_for(&self, id: RequestId) -> oneshot::Receiver<Answer> {
        let (sender, receiver) = oneshot::channel();
        let mut wanted = self.wanted();
        if !wanted.is_closed {
            wanted.answers.insert(id, sender);
        }
        receiver
    }

    /// Removes the request `id`, whose outcome is no longer needed.
    pub(crate) fn forget(&self, id: &RequestId) {
        self.wanted().answers.remove(id);
    }

    /// Fails the request `id`.
    pub(crate) fn fail(&self, id: &RequestId, error: RequestError) {
        let waiting = self.wanted().answers.remove(id);
        if let Some(waiting) = waiting {
            // The caller may have stopped waiting.
            let _ = waiting.send(Err(error));
        }
    }

    /// Requests a copy of the result of the handshake request `id`, which `rmcp` gets as well.
    pub(crate) fn copy_greeting(&self, id: RequestId) {
        self.wanted().greetings.insert(id, None);
    }

    /// Takes the copy of that result.
    pub(crate) fn greeting(&self, id: &RequestId) -> Option<Value> {
        self.wanted().greetings.remove(id)?
    }

    /// Closes the router and fails all pending requests.
    pub(crate) fn close(&self) {
        let mut wanted = self.wanted();
        wanted.is_closed = true;
        let unanswered = std::mem::take(&mut wanted.answers);
        drop(wanted);
        drop(unanswered);
        if let Some(listener) = self.listener.get() {
            listener.ended();
        }
    }

    /// Routes a valid message.
    pub(crate) fn deliver(&self, message: Envelope, about: Option<&RequestId>) -> Delivery {
        let Envelope {
            id,
            method,
            params,
            result,
            error,
        } = message;
        match (method, result, error) {
            (Some(method), _, _) => {
                let Some(listener) = self.listener.get() else {
                    return Delivery::NotTaken;
                };
                let params = params.unwrap_or_default();
                match id {
                    Some(id) => listener.asked(id, &method, params, about),
                    None => listener.told(&method, params, about),
                }
                Delivery::Taken(None)
            }
            (None, Some(result), None) => self.answer(id, Ok(result)),
            (None, None, Some(error)) => {
                self.answer(id, Err(RequestError::Refused(envelope::error(error))))
            }
            (None, Some(_), Some(_)) | (None, None, None) => Delivery::NoMessage,
        }
    }

    /// Fails the request that an unreadable message answers, and returns its id: the id in the message, else the
    /// request that the message arrived for, else the only pending request.
    pub(crate) fn deliver_fault(
        &self,
        bytes: &[u8],
        about: Option<&RequestId>,
    ) -> Option<RequestId> {
        let outline = Outline::of(bytes);
        let mut wanted = self.wanted();
        let id = if outline.is_nameless_answer() {
            match about {
                Some(id) => id.clone(),
                None => wanted.only_request()?,
            }
        } else {
            outline.id.clone().filter(|_| outline.is_answer())?
        };
        let waiting = wanted.answers.remove(&id)?;
        drop(wanted);
        // The caller may have stopped waiting.
        let _ = waiting.send(Err(RequestError::Unreadable(envelope::fault(bytes))));
        Some(id)
    }

    /// Returns true if the request `id` is pending.
    pub(crate) fn is_waiting(&self, id: &RequestId) -> bool {
        self.wanted().answers.contains_key(id)
    }

    fn answer(&self, id: Option<RequestId>, answer: Answer) -> Delivery {
        let Some(id) = id.map(canonical) else {
            return match answer {
                Ok(_) if self.listener.get().is_some() => Delivery::NoMessage,
                _ => Delivery::NotTaken,
            };
        };
        let mut wanted = self.wanted();
        if let (Some(copy), Ok(result)) = (wanted.greetings.get_mut(&id), &answer) {
            *copy = Some(result.clone());
        }
        match wanted.answers.remove(&id) {
            Some(waiting) => {
                let _ = waiting.send(answer);
                Delivery::Taken(Some(id))
            }
            // Over HTTP, `rmcp` repeats the handshake by itself when the server has dropped the session.
            None if [DISCOVER, INITIALIZE].contains(&id) => Delivery::NotTaken,
            // The late response to a cancelled request.
            None if self.listener.get().is_some() => Delivery::Taken(Some(id)),
            None => Delivery::NotTaken,
        }
    }

    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The result of routing a message.
#[derive(Debug, PartialEq)]
pub(crate) enum Delivery {
    /// The message is routed; it was the response to this request.
    Taken(Option<RequestId>),
    /// The message is for `rmcp`.
    NotTaken,
    /// The message is invalid.
    NoMessage,
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox")
            .field("under_way", &self.wanted().answers.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Delivery, Mailbox, RequestError, RequestId};
    use crate::session::envelope;

    const ID: RequestId = RequestId::Number(7);

    /// Returns the outcome of the request 7 after `line`.
    fn check(line: &str) -> Option<Answer> {
        let mailbox = Mailbox::default();
        let mut answer = mailbox.wait_for(ID);
        let line = line.as_bytes();
        let delivery = envelope::read(line).map(|message| mailbox.deliver(message, None));
        if let None | Some(Delivery::NoMessage) = delivery {
            mailbox.deliver_fault(line, None);
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
    fn takes_wanted_results_as_they_are() {
        let kept = [
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{"b":1,"a":[]}}"#,
                r#"{"b":1,"a":[]}"#,
            ),
            (r#"{"result":null,"id":"7","more":{}}"#, "null"),
            (r#"{"id":7,"result":"\u00e4"}"#, "\"ä\""),
            (r#"{"id":7,"result":{},"error":null}"#, "{}"),
        ];
        for (line, expected) in kept {
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
    fn takes_errors_as_they_are() {
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
    fn tells_of_a_result_that_cannot_be_read() {
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
        let mailbox = Mailbox::default();
        let mut answers = [7, 8].map(|id| mailbox.wait_for(RequestId::Number(id)));
        assert_eq!(mailbox.deliver_fault(line, None), None);
        assert!(answers.iter_mut().all(|answer| answer.try_recv().is_err()));
        let about = RequestId::Number(8);
        assert_eq!(
            mailbox.deliver_fault(line, Some(&about)).as_ref(),
            Some(&about)
        );
        assert!(mailbox.is_waiting(&ID) && !mailbox.is_waiting(&about));
    }

    #[test]
    fn forgets_and_closes() {
        let answer = r#"{"id":7,"result":{}}"#.as_bytes();
        let mailbox = Mailbox::default();
        let _unused = mailbox.wait_for(ID);
        mailbox.forget(&ID);
        let message = envelope::read(answer).unwrap();
        assert_eq!(mailbox.deliver(message, None), Delivery::NotTaken);

        let mut before = mailbox.wait_for(ID);
        mailbox.close();
        let mut after = mailbox.wait_for(ID);
        assert!(before.try_recv().is_err() && after.try_recv().is_err());
    }

    #[test]
    fn keeps_a_copy_of_the_greeting() {
        let mailbox = Mailbox::default();
        mailbox.copy_greeting(ID);
        let message = envelope::read(br#"{"id":7,"result":{"odd":1}}"#).unwrap();
        assert_eq!(mailbox.deliver(message, None), Delivery::NotTaken);
        assert_eq!(mailbox.greeting(&ID).unwrap().to_json(), r#"{"odd":1}"#);
    }
}
