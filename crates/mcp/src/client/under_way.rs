//! For whom requests are under way on a connection.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use planwright_core::Value;

use super::caller::Caller;

/// The requests under way that were made for somebody, by their ids.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    // A plain mutex: it is held for one look-up, and never across a wait.
    requests: Mutex<BTreeMap<i64, Request>>,
}

#[derive(Debug)]
struct Request {
    caller: Arc<dyn Caller>,
    progress_token: Option<Value>,
}

/// To whom belongs what a server says without saying about which request.
#[derive(Debug)]
pub(super) enum Whose {
    /// Nothing is under way for anybody.
    Nobody,
    /// All that is under way is for one client. This is its newest request's caller.
    One(Arc<dyn Caller>),
    /// Requests of several clients are under way.
    Several,
}

impl UnderWay {
    /// The request `id` is made for `caller`, who gave this token where it wants to hear of progress.
    pub(super) fn add(&self, id: i64, caller: Arc<dyn Caller>, progress_token: Option<Value>) {
        let request = Request {
            caller,
            progress_token,
        };
        self.requests().insert(id, request);
    }

    /// The request `id` has ended.
    pub(super) fn remove(&self, id: i64) {
        self.requests().remove(&id);
    }

    /// Who wants to hear of the progress of the request `id`, and the token that it knows it by.
    pub(super) fn watcher(&self, id: i64) -> Option<(Arc<dyn Caller>, Value)> {
        let requests = self.requests();
        let request = requests.get(&id)?;
        let token = request.progress_token.clone()?;
        Some((Arc::clone(&request.caller), token))
    }

    /// Whom all that is under way is for.
    pub(super) fn whose(&self) -> Whose {
        let requests = self.requests();
        let mut callers = requests.values().rev().map(|request| &request.caller);
        let Some(newest) = callers.next() else {
            return Whose::Nobody;
        };
        if callers.all(|caller| is_same_client(caller, newest)) {
            Whose::One(Arc::clone(newest))
        } else {
            Whose::Several
        }
    }

    fn requests(&self) -> MutexGuard<'_, BTreeMap<i64, Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_same_client(one: &Arc<dyn Caller>, other: &Arc<dyn Caller>) -> bool {
    // Not `Arc::ptr_eq`: it compares tables of functions too, of which one type may have several.
    if std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other)) {
        return true;
    }
    match (one.client(), other.client()) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}
