//! Requests to people to approve a call, and the exact call that a decision is bound to.

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright_core::{Tool, Value};
use sha2::{Digest, Sha256};

use super::{ChangedSecretError, with_secrets};
use crate::event::Address;

/// An exact call that a decision is bound to: the tool with its definition, the server with its identity, and the
/// arguments. A decision covers only a call with an equal subject, made by the same step, item or round of the same
/// run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallSubject {
    /// The tool's server.
    pub server: Arc<str>,
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
            server: Arc::clone(&tool.server),
            tool: Arc::clone(&tool.name),
            origin: Some(Arc::clone(&tool.origin)),
            definition: Some(tool.definition_digest().into()),
            args,
            seal: None,
            flow: None,
        }
    }

    /// `server.tool`
    pub fn qualified_name(&self) -> String {
        format!("{}.{}", self.server, self.tool)
    }

    /// The digest of this call at one place of one run, as SHA-256 in hexadecimal digits. Decisions are bound to it.
    pub fn digest(&self, run: &str, at: &Address) -> String {
        let mut hash = Sha256::new();
        let optional = |text: &Option<Arc<str>>| match text {
            Some(text) => format!("={text}"),
            None => String::new(),
        };
        for part in [
            // The version comes first, so a digest of another form never equals this one.
            "planwright.call/1",
            run,
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
                "the server `{server}` is another program or address"
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

pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// A request for approval of one call.
#[derive(Clone)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The run.
    pub run: Arc<str>,
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
    /// The reason for asking, if it is known: one clause, and if the flow policy asks, the way of each value, one place a
    /// line.
    pub reason: Option<Arc<str>>,
    /// The differences from the call that was decided at this place before, one clause each.
    pub changes: Vec<String>,
}

impl ApprovalRequest {
    /// Creates a request for a call of `tool` whose arguments hold no secret.
    pub fn new(run: impl Into<Arc<str>>, at: Arc<Address>, tool: Arc<Tool>, args: Value) -> Self {
        Self {
            run: run.into(),
            at,
            subject: CallSubject::new(&tool, args.clone()),
            reason: tool.approval_reason.clone(),
            changes: Vec::new(),
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

#[cfg(test)]
mod tests {
    use super::*;

    type Change = fn(&mut CallSubject);

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
                "the server `bank` is another program or address",
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
            subject().digest("r", &at("a")),
            subject().digest("s", &at("a")),
            subject().digest("r", &at("b")),
        ];
        for (change, said) in changes {
            let mut changed = subject();
            change(&mut changed);
            digests.push(changed.digest("r", &at("a")));
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
}
