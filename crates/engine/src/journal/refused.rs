//! A journal for a run that must not start: it stores nothing, so nothing is called.

use std::future::ready;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Entry, Journal, JournalError};

/// Fails to store anything, for the reason why the run must not start.
#[derive(Debug)]
pub(crate) struct RefusedJournal(pub(crate) JournalError);

impl Journal for RefusedJournal {
    fn append(&self, _: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        ready(Err(self.0.clone())).boxed()
    }
}
