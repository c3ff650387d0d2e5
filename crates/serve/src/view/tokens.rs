//! The page of runs as the gateway reads it, and the tokens of its views.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use indexmap::IndexSet;
use planwright_core::{Object, Value};
use planwright_engine::approval::SealKey;
use planwright_mcp::gateway::ClientId;
use subtle::ConstantTimeEq;

use crate::runs::registry::owner;

/// The field of `_meta` with the run of the view, if it has one, and the token to read.
pub(super) const READING: &str = "planwright/view";
/// The field of `_meta` with the tokens to decide, by the digest of the call.
pub(super) const DECIDING: &str = "planwright/decide";

/// The maximum number of recorded tokens that were used. Beyond it, only the store refuses a second decision about a call.
const MAX_USED: usize = 65_536;

/// The page of runs, for clients that show views.
pub trait RunPage: Send + Sync {
    /// Returns the HTML document.
    fn document(&self) -> String;

    /// Answers a read request of the page. `client` is `None` for the local user. Returns the HTTP status and the body of the response.
    fn read(
        &self,
        client: Option<String>,
        request: PageRequest,
    ) -> BoxFuture<'static, (u16, Value)>;

    /// Stores decisions.
    fn decide(&self, client: Option<String>, body: Value) -> BoxFuture<'static, (u16, Value)>;
}

/// A read request of the page.
#[derive(Debug)]
pub struct PageRequest {
    /// The run of the view, which may read no other; `None` for the view of a checked plan.
    pub run: Option<String>,
    /// The path relative to the API of the page.
    pub path: String,
    /// The body.
    pub body: Option<Value>,
}

/// The tokens of views: keyed digests of the client, the run and the purpose.
#[derive(Debug)]
pub(crate) struct ViewTokens {
    /// The key for authenticated clients, which all gateways over a store share.
    key: SealKey,
    /// The key of this process, for clients without authentication.
    process_key: SealKey,
    /// The tokens for decisions that this process has accepted, in order.
    used: Mutex<IndexSet<Arc<str>>>,
}

impl ViewTokens {
    /// Creates tokens that are derived from the key of a store, and from that of this process.
    pub(super) fn new(key: SealKey, process_key: SealKey) -> Self {
        Self {
            key,
            process_key,
            used: Mutex::default(),
        }
    }

    /// Returns the token to read a run; without a run, to check and convert plans.
    pub(super) fn read_token(&self, client: &ClientId, run: Option<&str>) -> Arc<str> {
        self.token(client, READING, run, "")
    }

    /// Returns the tokens for decisions about the calls of a run with these digests.
    pub(super) fn decision_tokens(
        &self,
        client: &ClientId,
        run: &str,
        digests: &[Arc<str>],
    ) -> Object {
        let tokens = digests.iter().map(|digest| {
            let token = self.token(client, DECIDING, Some(run), digest);
            (Arc::clone(digest), Value::Text(token))
        });
        tokens.collect()
    }

    fn token(&self, client: &ClientId, purpose: &str, run: Option<&str>, digest: &str) -> Arc<str> {
        let key = match owner(client) {
            Some(_) => &self.key,
            None => &self.process_key,
        };
        let run = run.map_or(Value::Null, Value::from);
        let [purpose, client, digest] = [purpose, client.as_str(), digest].map(Value::from);
        // Seals of arguments never have this form: they are objects.
        key.seal(&Value::list([purpose, client, run, digest]))
    }

    pub(super) fn may_read(&self, client: &ClientId, run: Option<&str>, token: &str) -> bool {
        is_same(&self.read_token(client, run), token)
    }

    /// Marks the tokens of these digests as used. Returns false and marks none if one of them is wrong or used.
    pub(super) fn take(
        &self,
        client: &ClientId,
        run: &str,
        tokens_of_call: &[(Arc<str>, Arc<str>)],
    ) -> bool {
        let mut used = self.lock();
        let is_valid = |(digest, token): &(Arc<str>, Arc<str>)| {
            is_same(&self.token(client, DECIDING, Some(run), digest), token)
                && !used.contains(token)
        };
        if !tokens_of_call.iter().all(is_valid) {
            return false;
        }
        used.extend(tokens_of_call.iter().map(|(_, token)| Arc::clone(token)));
        let excess = used.len().saturating_sub(MAX_USED);
        drop(used.drain(..excess));
        true
    }

    /// Makes tokens valid again, because their decision was not stored.
    pub(super) fn give_back(&self, unused: &[(Arc<str>, Arc<str>)]) {
        let mut used = self.lock();
        for (_, token) in unused {
            used.shift_remove(token);
        }
    }

    fn lock(&self) -> MutexGuard<'_, IndexSet<Arc<str>>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_same(own: &str, token: &str) -> bool {
    own.as_bytes().ct_eq(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_of_one_client_run_and_call() {
        let key = |byte| SealKey::new([byte; 32]);
        let tokens = ViewTokens::new(key(7), key(1));
        let replica = ViewTokens::new(key(7), key(2));
        let (ada, bob, local) = (
            ClientId::new("ada"),
            ClientId::new("bob"),
            ClientId::local(),
        );
        let digests = ["1", "2"].map(Arc::<str>::from);
        let tokens_of_call = |of: &str, client: &ClientId| -> [(Arc<str>, Arc<str>); 1] {
            let own = tokens.decision_tokens(client, "r", &digests);
            let token = own.get(of).unwrap().as_text().unwrap();
            [(of.into(), token.into())]
        };
        let read_token = tokens.read_token(&ada, Some("r"));
        assert!(replica.may_read(&ada, Some("r"), &read_token));
        assert!(!tokens.may_read(&ada, Some("q"), &read_token));
        assert!(!tokens.may_read(&ada, None, &read_token));
        assert!(!tokens.may_read(&bob, Some("r"), &read_token));
        let of_process = tokens.read_token(&local, Some("r"));
        assert!(tokens.may_read(&local, Some("r"), &of_process));
        assert!(!replica.may_read(&local, Some("r"), &of_process));
        let call = tokens_of_call("1", &ada);
        assert!(!tokens.take(&ada, "r", &[("1".into(), read_token)]));
        assert!(!tokens.take(&bob, "r", &call));
        assert!(!tokens.take(&ada, "q", &call));
        assert!(!tokens.take(&ada, "r", &[("2".into(), Arc::clone(&call[0].1))]));
        assert!(tokens.take(&ada, "r", &call));
        assert!(!tokens.take(&ada, "r", &call));
        tokens.give_back(&call);
        assert!(tokens.take(&ada, "r", &call));
        assert!(replica.take(&ada, "r", &tokens_of_call("2", &ada)));
        assert!(!replica.take(&local, "r", &tokens_of_call("2", &local)));
        let elsewhere = ViewTokens::new(key(8), key(1));
        assert!(!elsewhere.take(&ada, "r", &tokens_of_call("2", &ada)));
    }
}
