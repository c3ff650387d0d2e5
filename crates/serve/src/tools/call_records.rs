//! Records of the calls that clients make without a plan, from which recurring work is learned.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use planwright_core::schema::{part_at, replace_parts, secret_parts};
use planwright_core::{Schema, Tool, Value};
use planwright_engine::backend::{ToolError, ToolOutput};
use planwright_engine::id::random_id;
use planwright_engine::run::{MASK, Redactor};
use planwright_mcp::UpstreamError;
use planwright_mcp::gateway::{ClientId, GatewayClient};
use planwright_store::GatewayCall;

use crate::host::PlanHost;

/// The pause after which further calls of a client are those of another session: stdio and the latest revision of MCP have none.
const SESSION_PAUSE: Duration = Duration::from_mins(30);

/// The maximum size of recorded arguments, and of a recorded answer, in bytes of JSON.
const MAX_BYTES: usize = 256 << 10;

/// The maximum nesting depth of recorded arguments and of a recorded answer.
const MAX_LEVELS: usize = 100;

/// A client, and the session that its transport names.
type SessionKey = (ClientId, Option<Arc<str>>);

/// The sessions of clients that call tools without a plan.
#[derive(Debug, Default)]
pub(crate) struct CallRecords {
    sessions: Mutex<HashMap<SessionKey, RecordedSession>>,
    /// True once the loss of a record was logged.
    has_lost: AtomicBool,
}

#[derive(Debug)]
struct RecordedSession {
    id: Arc<str>,
    latest: SystemTime,
}

impl CallRecords {
    /// Returns the id of the session of a call that ended at `now`.
    fn session(&self, client: &GatewayClient, now: SystemTime) -> Arc<str> {
        // No code that may panic runs while the lock is held.
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |session: &RecordedSession| {
            now.duration_since(session.latest)
                .is_ok_and(|pause| pause < SESSION_PAUSE)
                || now < session.latest
        };
        let key = (client.id.clone(), client.session.clone());
        if let Some(session) = sessions.get_mut(&key).filter(|session| is_recent(session)) {
            session.latest = now;
            return Arc::clone(&session.id);
        }
        sessions.retain(|_, session| is_recent(session));
        let id: Arc<str> = random_id();
        let session = RecordedSession {
            id: Arc::clone(&id),
            latest: now,
        };
        sessions.insert(key, session);
        id
    }
}

impl PlanHost {
    /// Records a call that a client made without a plan, if there is a store and the user wants it. The secrets of the configuration and of
    /// the servers are redacted as in runs, and so are those that the schemas of the tool declare, wherever they occur. Has to be called before
    /// the answer is noted for the exposure of the client, since only earlier answers can have led to the call.
    pub(crate) fn record_call(
        &self,
        client: &GatewayClient,
        tool: &Tool,
        arguments: &Value,
        began: SystemTime,
        result: &Result<Value, UpstreamError>,
    ) {
        self.record_answer(client, tool, arguments, began, || match result {
            Ok(result) if is_small(result) => Some(
                ToolOutput::from_call_result(result)
                    .map(|output| output.value)
                    .map_err(|error| error.message),
            ),
            Ok(_) => None,
            Err(error) => Some(Err(error.message.clone())),
        });
    }

    /// Records a call of a tool of this gateway, as [`record_call`](Self::record_call) does. The answer is the value that a plan would see, which
    /// the gateway wraps for clients.
    pub(crate) fn record_own_call(
        &self,
        client: &GatewayClient,
        tool: &Tool,
        arguments: &Value,
        began: SystemTime,
        answered: &Result<ToolOutput, ToolError>,
    ) {
        self.record_answer(client, tool, arguments, began, || match answered {
            Ok(output) => is_small(&output.value).then(|| Ok(output.value.clone())),
            Err(error) => Some(Err(error.message.clone())),
        });
    }

    /// Records a call that became a run of its own, since a person has to decide about it, as [`record_call`](Self::record_call) does. It has no
    /// answer: that of the run comes later, if at all.
    pub(crate) fn record_waiting_call(
        &self,
        client: &GatewayClient,
        tool: &Tool,
        arguments: &Value,
        began: SystemTime,
    ) {
        self.record_answer(client, tool, arguments, began, || None);
    }

    /// Records a call that was refused, as [`record_call`](Self::record_call) does: the work of the session has it, although nothing was done.
    pub(crate) fn record_refused_call(
        &self,
        client: &GatewayClient,
        tool: &Tool,
        arguments: &Value,
        began: SystemTime,
        reason: &str,
    ) {
        self.record_answer(client, tool, arguments, began, || {
            Some(Err(reason.to_owned()))
        });
    }

    fn record_answer(
        &self,
        client: &GatewayClient,
        tool: &Tool,
        arguments: &Value,
        began: SystemTime,
        answer: impl FnOnce() -> Option<Result<Value, String>>,
    ) {
        let is_wanted = self.settings.config.serve().records_calls() && !tool.for_views;
        let Some(store) = self.settings.store.as_ref().filter(|_| is_wanted) else {
            return;
        };
        let ended = (self.settings.now)();
        // Large values are neither copied nor searched for secrets.
        let args = is_small(arguments).then_some(arguments);
        let answer = args.and_then(|_| answer()).filter(|answer| match answer {
            Ok(_) => true,
            Err(message) => message.len() <= MAX_BYTES,
        });
        let mut secrets = self.settings.options.masked_texts();
        self.add_upstream_secrets(&mut secrets);
        let (args, answer) = redacted(tool, args, answer, secrets);
        let is_recorded = store.record_call(&GatewayCall {
            session: self.call_records.session(client, ended),
            client: client.id.as_str().into(),
            began,
            ended,
            tool: tool.qualified_name(),
            args,
            answer,
            is_exposed: self.exposed.contains(client),
        });
        if !is_recorded && !self.call_records.has_lost.swap(true, Ordering::Relaxed) {
            tracing::warn!("the store is too slow to record all calls without a plan");
        }
    }
}

/// Returns true if a value is small enough to be recorded.
fn is_small(value: &Value) -> bool {
    let size = value.json_size(MAX_LEVELS);
    size.is_some_and(|size| size.bytes <= MAX_BYTES as u64)
}

/// Returns arguments and answer of a call without `secrets` and without the parts that the schemas of the tool declare secret. Arguments that
/// are too large are `null`.
fn redacted(
    tool: &Tool,
    args: Option<&Value>,
    answer: Option<Result<Value, String>>,
    secrets: Vec<Arc<str>>,
) -> (Value, Option<Result<Value, String>>) {
    let mut texts = secrets;
    let mut without = |schema: &Schema, value: &Value| {
        let parts = secret_parts(schema.as_value(), value);
        texts.extend(
            parts
                .iter()
                .filter_map(|path| Some(part_at(value, path)?.to_inserted_text().into())),
        );
        replace_parts(value, &parts, &Value::from(MASK))
    };
    let mut args = args.map_or(Value::Null, |args| without(&tool.input, args));
    let answer = answer.map(|answer| answer.map(|value| without(&tool.output, &value)));
    let redactor = Redactor::new(texts);
    redactor.value(&mut args);
    let answer = answer.map(|answer| match answer {
        Ok(mut value) => {
            redactor.value(&mut value);
            Ok(value)
        }
        Err(message) => Err(redactor.text(&message).into_owned()),
    });
    (args, answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    #[test]
    fn secrets_of_schemas_are_redacted_wherever_they_occur() {
        let mut tool = Tool::new("bank", "log_in");
        tool.input = Schema::from_value(json(
            r#"{"type": "object", "properties": {"user": {"type": "string"}, "pin": {"type": "string", "writeOnly": true}}}"#,
        ));
        tool.output = Schema::from_value(json(
            r#"{"type": "object", "properties": {"token": {"type": "string", "format": "password"}}}"#,
        ));
        let args = json(r#"{"user": "ana", "pin": "55-1234"}"#);
        let answer = Ok(json(
            r#"{"token": "tok-9981", "echo": "55-1234 of ana", "key": "sesame"}"#,
        ));
        let (args, answer) = redacted(&tool, Some(&args), Some(answer), vec!["sesame".into()]);
        assert_eq!(args, json(r#"{"user": "ana", "pin": "[redacted]"}"#));
        assert_eq!(
            answer.unwrap().unwrap(),
            json(r#"{"token": "[redacted]", "echo": "[redacted] of ana", "key": "[redacted]"}"#)
        );
        let args = json(r#"{"pin": "55-1234"}"#);
        let (_, answer) = redacted(
            &tool,
            Some(&args),
            Some(Err("no 55-1234".to_owned())),
            Vec::new(),
        );
        assert_eq!(answer, Some(Err("no [redacted]".to_owned())));
    }

    #[test]
    fn a_session_ends_after_a_pause() {
        let records = CallRecords::default();
        let at = |minutes| SystemTime::UNIX_EPOCH + Duration::from_mins(minutes);
        let client = GatewayClient::new(ClientId::new("one"));
        let other = GatewayClient::new(ClientId::new("two"));
        let first = records.session(&client, at(0));
        assert_eq!(records.session(&client, at(29)), first);
        assert_ne!(records.session(&other, at(29)), first);
        assert_eq!(records.session(&client, at(58)), first);
        assert_ne!(records.session(&client, at(88)), first);
    }
}
