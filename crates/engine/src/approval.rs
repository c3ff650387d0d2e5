//! Approval of calls by people: requests, decisions and the parties that decide.
//!
//! Design: [Approvals](https://github.com/planwright/planwright/blob/main/docs/design/approvals.md).

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::place::push_pointer_segment;
use planwright_core::text::hex;
use planwright_core::{Object, PointerSegment, ServerName, Tool, ToolName, Value};
use sha2::{Digest, Sha256};

use crate::address::Address;
use crate::id::RunId;
use crate::run::{MASK, contains_mask};

/// An exact call that a decision is bound to: the tool with its definition, the server with its identity, and the
/// arguments. A decision covers only a call with an equal subject, made by the same step, item or round of the same
/// run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallSubject {
    /// The tool's server.
    pub server: ServerName,
    /// The tool's name at its server.
    pub tool: Arc<str>,
    /// The identity of the server, see [`Tool::origin`]. `None` in journals of older versions, which did not record
    /// it; such a subject never equals a current one.
    pub origin: Option<Arc<str>>,
    /// The [digest of the tool's definition](Tool::definition_digest). `None` as for `origin`.
    pub definition: Option<Arc<str>>,
    /// The arguments, with `[redacted]` in place of secrets.
    pub args: Value,
    /// A keyed digest of the arguments with their secrets; `None` if there are none among them.
    pub seal: Option<Arc<str>>,
    /// The [digest of the flow policy](planwright_core::flow::FlowPolicy::digest) that the plan was checked with, if it
    /// has one.
    pub flow: Option<Arc<str>>,
}

impl CallSubject {
    /// The subject of a call of `tool` with arguments that hold no secret.
    pub fn new(tool: &Tool, args: Value) -> Self {
        Self {
            server: tool.server.clone(),
            tool: Arc::clone(&tool.name),
            origin: Some(Arc::clone(&tool.origin)),
            definition: Some(tool.definition_digest().into()),
            args,
            seal: None,
            flow: None,
        }
    }

    /// `server.tool`
    pub fn qualified_name(&self) -> ToolName {
        ToolName::new(format!("{}.{}", self.server, self.tool))
    }

    /// The digest of this call at one place of one run, as SHA-256 in hexadecimal digits. Decisions are bound to it.
    pub fn digest(&self, run: &RunId, at: &Address) -> String {
        let mut hash = Sha256::new();
        let optional = |text: &Option<Arc<str>>| match text {
            Some(text) => format!("={text}"),
            None => String::new(),
        };
        for part in [
            // The version comes first, so a digest of another form never equals this one.
            "planwright.call/1",
            run.as_str(),
            &at.to_string(),
            &self.server,
            &self.tool,
            &optional(&self.origin),
            &optional(&self.definition),
            &self.args.to_json(),
            &optional(&self.seal),
        ] {
            // The length prefix keeps two different subjects from hashing the same bytes.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        // Without a policy, the digest is that of earlier versions.
        if let Some(flow) = &self.flow {
            hash.update(flow.as_bytes());
        }
        hex(&hash.finalize())
    }

    /// The differences from the call decided before, for a person who has to decide again, one clause each.
    pub(crate) fn changes_since_decision(&self, before: &Self) -> Vec<String> {
        let changes = self.changes_since(before);
        if changes.is_empty() {
            return vec!["the earlier decision about the same call was used up".to_owned()];
        }
        changes
    }

    /// The differences from `before`, one clause each.
    pub fn changes_since(&self, before: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        if (&self.server, &self.tool) != (&before.server, &before.tool) {
            changes.push(format!("the tool was `{}`", before.qualified_name()));
        } else if self.origin != before.origin {
            // The definition includes the server's identity, so a changed server is reported only once.
            let server = &self.server;
            changes.push(format!(
                "the configuration of the server `{server}` changed"
            ));
        } else if self.definition != before.definition {
            changes.push("the definition of the tool has changed".to_owned());
        }
        if self.args != before.args {
            changes.push(format!("the arguments were {}", before.args.to_json()));
        } else if self.seal != before.seal {
            changes.push("a secret among the arguments has changed".to_owned());
        }
        if self.flow != before.flow {
            changes.push("the flow policy has changed".to_owned());
        }
        changes
    }
}

/// The key for [seals](CallSubject::seal): 32 random bytes. It stays in the run's store, so a reader of a journal
/// cannot verify a guess at a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct SealKey([u8; 32]);

impl SealKey {
    /// Creates a key from these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The keyed digest of `args`: SHA-256 over the key and a keyed SHA-256 of their JSON.
    pub fn seal(&self, args: &Value) -> Arc<str> {
        // A nested hash, as in HMAC, prevents length extension.
        let inner = Sha256::new()
            .chain_update(self.0)
            .chain_update(args.to_json());
        let outer = Sha256::new()
            .chain_update(self.0)
            .chain_update(inner.finalize());
        hex(&outer.finalize()).into()
    }
}

impl std::fmt::Debug for SealKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SealKey")
    }
}

/// A request for approval of one call.
#[derive(Clone)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The run.
    pub run: RunId,
    /// The step, item or round that makes the call.
    pub at: Arc<Address>,
    /// The tool.
    pub tool: Arc<Tool>,
    /// The exact arguments.
    pub args: Value,
    /// The arguments in a form that may be shown and stored: secrets are replaced by `[redacted]`.
    pub shown: Value,
    /// The call that a decision is bound to.
    pub subject: CallSubject,
    /// The reason for asking, if it is known: one clause. If the flow policy asks, the path of each value follows, one place a line.
    pub reason: Option<Arc<str>>,
    /// The differences from the call that was decided at this place before, one clause each.
    pub changes: Vec<String>,
    /// True if the latest decision about a call of this place was a rejection, so that consent to a whole plan does not cover the call.
    pub was_rejected: bool,
}

impl ApprovalRequest {
    /// Creates a request for a call of `tool` whose arguments hold no secret.
    pub fn new(run: RunId, at: Arc<Address>, tool: Arc<Tool>, args: Value) -> Self {
        Self {
            run,
            at,
            subject: CallSubject::new(&tool, args.clone()),
            reason: tool.approval_reason.clone(),
            changes: Vec::new(),
            was_rejected: false,
            shown: args.clone(),
            args,
            tool,
        }
    }

    /// Checks arguments that a person wrote in place of the call's own, see [`Decision::Approve`].
    ///
    /// # Errors
    ///
    /// The reason why a change that concerns a secret is refused.
    pub fn check_changed_args(&self, changed: &Value) -> Result<(), ChangedSecretError> {
        with_secrets(changed, &self.shown, &self.args).map(drop)
    }

    /// The digest of the call. A decision from another process has to name it.
    pub fn digest(&self) -> String {
        self.subject.digest(&self.run, &self.at)
    }
}

impl fmt::Debug for ApprovalRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalRequest")
            .field("at", &self.at.to_string())
            .field("tool", &self.tool.qualified_name())
            .finish_non_exhaustive()
    }
}

/// A decision about one call.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The call is allowed.
    Approve {
        /// Replacement arguments, if any. `[redacted]` in them stands for the secret at the same place in
        /// [`ApprovalRequest::shown`]; any other replacement of a secret is refused.
        args: Option<Value>,
    },
    /// The call is not allowed.
    Reject {
        /// The reason, in the person's words.
        because: Option<String>,
    },
    /// The decision is pending. The run continues with everything that does not depend on the call, then ends as waiting.
    Later,
}

/// Decides about calls, usually by asking a person.
pub trait Approver: Send + Sync + 'static {
    /// Decides about one call. Dropping the future withdraws the request. A panic counts as a rejection.
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision>;
}

/// A closure or function decides: `async |request: ApprovalRequest| Decision::Later`.
impl<F, R> Approver for F
where
    F: Fn(ApprovalRequest) -> R + Send + Sync + 'static,
    R: Future<Output = Decision> + Send + 'static,
{
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        Box::pin(self(request))
    }
}

/// An approver that gives the same decision for every call.
#[derive(Clone, Debug)]
pub struct Always(pub Decision);

impl Approver for Always {
    fn decide(&self, _: ApprovalRequest) -> BoxFuture<'_, Decision> {
        let decision = self.0.clone();
        Box::pin(async move { decision })
    }
}

/// The reason for refusing changed arguments: they would store or move a secret. `at` is the JSON pointer of the
/// affected part; no value is quoted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangedSecretError {
    /// A secret is replaced by another text, probably another secret.
    #[error("the secret at `{at}` was replaced")]
    Replaced {
        /// The JSON pointer of the part.
        at: String,
    },
    /// `[redacted]` is used at a place that holds no secret.
    #[error("`{at}` is `{MASK}`, but the call has no secret there")]
    Moved {
        /// The JSON pointer of the part.
        at: String,
    },
    /// The items of a list with a secret were changed, so the secret ones cannot be identified any more.
    #[error("the list at `{at}` contains a secret, so its items cannot change")]
    Items {
        /// The JSON pointer of the part.
        at: String,
    },
}

impl CallSubject {
    /// Checks arguments that a person wrote in place of the call's own. `[redacted]` is allowed only where the call
    /// itself has it, and stands for the run's secret.
    ///
    /// # Errors
    ///
    /// The reason why a change that concerns a secret is refused.
    pub fn check_changed_args(&self, changed: &Value) -> Result<(), ChangedSecretError> {
        with_secrets(changed, &self.args, &self.args).map(drop)
    }
}

/// Returns `changed` with the secrets of `own` in place of `[redacted]`, which is allowed only where `shown` has it. A
/// person who knows the secrets may also write them in full.
pub(crate) fn with_secrets(
    changed: &Value,
    shown: &Value,
    own: &Value,
) -> Result<Value, ChangedSecretError> {
    SecretMerge { path: Vec::new() }.value(changed, shown, own)
}

struct SecretMerge {
    path: Vec<PointerSegment>,
}

impl SecretMerge {
    fn value(
        &mut self,
        changed: &Value,
        shown: &Value,
        own: &Value,
    ) -> Result<Value, ChangedSecretError> {
        // Unchanged parts keep the run's own value, with its secrets.
        if changed == shown || changed == own {
            return Ok(own.clone());
        }
        if !contains_mask(shown) {
            return self.without_mask(changed);
        }
        match (changed, shown, own) {
            (Value::Object(changed), Value::Object(shown), Value::Object(own)) => {
                self.object(changed, shown, own)
            }
            (Value::List(changed), Value::List(shown), Value::List(own)) => {
                self.list(changed, shown, own)
            }
            _ => Err(ChangedSecretError::Replaced { at: self.at() }),
        }
    }

    fn object(
        &mut self,
        changed: &Object,
        shown: &Object,
        own: &Object,
    ) -> Result<Value, ChangedSecretError> {
        let mut fields = Object::default();
        for (key, field) in changed {
            self.path.push(PointerSegment::Key(key.clone()));
            // Keys are not restored, so a masked key would be sent as it stands.
            if key.contains(MASK) {
                return Err(ChangedSecretError::Moved { at: self.at() });
            }
            let merged = match (shown.get(key), own.get(key)) {
                (Some(shown), Some(own)) => self.value(field, shown, own)?,
                _ => self.without_mask(field)?,
            };
            fields.insert(key.clone(), merged);
            self.path.pop();
        }
        Ok(Value::from(fields))
    }

    fn list(
        &mut self,
        changed: &[Value],
        shown: &[Value],
        own: &[Value],
    ) -> Result<Value, ChangedSecretError> {
        // Items are matched by position, so secrets cannot be identified once the length differs.
        if changed.len() != shown.len() || shown.len() != own.len() {
            // Items without secrets may be removed or reordered, since nothing has to be restored in them.
            let is_own = |item: &Value| own.contains(item) && !contains_mask(item);
            if changed.iter().all(is_own) {
                return Ok(Value::list(changed.iter().cloned()));
            }
            return Err(ChangedSecretError::Items { at: self.at() });
        }
        let mut items = Vec::with_capacity(changed.len());
        for (index, ((item, shown), own)) in changed.iter().zip(shown).zip(own).enumerate() {
            self.path.push(PointerSegment::Index(index));
            items.push(self.value(item, shown, own)?);
            self.path.pop();
        }
        Ok(Value::from(items))
    }

    /// Returns the value unchanged if it does not contain the mask.
    fn without_mask(&self, value: &Value) -> Result<Value, ChangedSecretError> {
        if contains_mask(value) {
            return Err(ChangedSecretError::Moved { at: self.at() });
        }
        Ok(value.clone())
    }

    fn at(&self) -> String {
        let mut pointer = String::new();
        for segment in &self.path {
            push_pointer_segment(&mut pointer, segment);
        }
        if pointer.is_empty() {
            pointer.push('/');
        }
        pointer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut CallSubject);

    fn run(id: &str) -> RunId {
        id.parse().unwrap()
    }

    fn subject() -> CallSubject {
        let tool = Tool {
            origin: "node".into(),
            ..Tool::new("bank", "pay")
        };
        CallSubject::new(&tool, Value::object([("to", Value::from("ada"))]))
    }

    fn at(step: &str) -> Address {
        Address {
            inside: None,
            instance: None,
            step: step.into(),
            item: None,
            round: None,
        }
    }

    #[test]
    fn each_part_changes_the_digest_and_is_named() {
        let changes: [(Change, &str); 6] = [
            (
                |call| call.server = "evil".into(),
                "the tool was `bank.pay`",
            ),
            (|call| call.tool = "wipe".into(), "the tool was `bank.pay`"),
            (
                |call| call.origin = Some("deno".into()),
                "the configuration of the server `bank` changed",
            ),
            (
                |call| call.definition = Some("0".into()),
                "the definition of the tool has changed",
            ),
            (
                |call| call.args = Value::object([("to", Value::from("eve"))]),
                r#"the arguments were {"to":"ada"}"#,
            ),
            (
                |call| call.seal = Some("0".into()),
                "a secret among the arguments has changed",
            ),
        ];
        let mut digests = vec![
            subject().digest(&run("r"), &at("a")),
            subject().digest(&run("s"), &at("a")),
            subject().digest(&run("r"), &at("b")),
        ];
        for (change, said) in changes {
            let mut changed = subject();
            change(&mut changed);
            digests.push(changed.digest(&run("r"), &at("a")));
            assert_eq!(changed.changes_since(&subject()), [said]);
        }
        let count = digests.len();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), count);
        assert_eq!(subject().changes_since(&subject()), [""; 0]);
    }

    #[test]
    fn a_seal_needs_its_key() {
        let args = Value::from("hunter2");
        let seal = |byte| SealKey::new([byte; 32]).seal(&args);
        assert_eq!(seal(1), seal(1));
        assert_ne!(seal(1), seal(2));
    }

    const OWN: &str = r#"{"to": "ada", "key": "Bearer hunter2", "pin": 4711, "list": ["a", "hunter2"], "in": {"key": "hunter2", "n": 1}}"#;
    const SHOWN: &str = r#"{"to": "ada", "key": "Bearer [redacted]", "pin": "[redacted]", "list": ["a", "[redacted]"], "in": {"key": "[redacted]", "n": 1}}"#;

    #[track_caller]
    fn check(changed: &str, expected: Result<&str, &str>) {
        let json = |text: &str| Value::from_json(text).unwrap();
        let merged = with_secrets(&json(changed), &json(SHOWN), &json(OWN));
        match (merged, expected) {
            (Ok(merged), Ok(expected)) => assert_eq!(merged, json(expected)),
            (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected),
            (merged, _) => panic!("{merged:?} for {changed}"),
        }
    }

    #[test]
    fn a_mask_in_its_place_is_the_secret() {
        check(SHOWN, Ok(OWN));
        check(OWN, Ok(OWN));
        check(
            r#"{"to": "eve", "key": "Bearer [redacted]", "pin": "[redacted]"}"#,
            Ok(r#"{"to": "eve", "key": "Bearer hunter2", "pin": 4711}"#),
        );
        check(
            r#"{"in": {"key": "[redacted]", "n": 2, "new": true}, "list": ["b", "[redacted]"]}"#,
            Ok(r#"{"in": {"key": "hunter2", "n": 2, "new": true}, "list": ["b", "hunter2"]}"#),
        );
        check(r#"{"list": ["hunter2"]}"#, Ok(r#"{"list": ["hunter2"]}"#));
        check("{}", Ok("{}"));
    }

    #[test]
    fn a_secret_is_neither_replaced_nor_moved() {
        let replaced = "the secret at `/key` was replaced";
        check(r#"{"key": "Bearer other"}"#, Err(replaced));
        check(r#"{"key": "[redacted]"}"#, Err(replaced));
        check(r#"{"key": {"other": "x"}}"#, Err(replaced));
        check(
            r#"{"in": {"key": "other"}}"#,
            Err("the secret at `/in/key` was replaced"),
        );
        check(
            r#"{"in": "other"}"#,
            Err("the secret at `/in` was replaced"),
        );
        check(
            r#"{"to": "Bearer [redacted]"}"#,
            Err("`/to` is `[redacted]`, but the call has no secret there"),
        );
        check(
            r#"{"note": ["[redacted]"]}"#,
            Err("`/note` is `[redacted]`, but the call has no secret there"),
        );
        check(
            r#"{"list": ["[redacted]"]}"#,
            Err("the list at `/list` contains a secret, so its items cannot change"),
        );
    }
}
