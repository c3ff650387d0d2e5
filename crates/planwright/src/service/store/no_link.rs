//! The link of a run to its store, in a library without stores.

use std::sync::Arc;

use planwright_engine::{Approver, Canceller, Durations};

/// The link of a run to a store that does not exist.
pub(in crate::service) struct NoStoreLink;

#[expect(
    clippy::unused_async,
    clippy::unused_self,
    reason = "the link to a store has the same methods"
)]
impl NoStoreLink {
    pub(in crate::service) fn approver(&self, approver: Arc<dyn Approver>) -> Arc<dyn Approver> {
        approver
    }

    pub(in crate::service) fn watch(&mut self, _: Canceller) {}

    pub(in crate::service) fn extend(&self) {}

    pub(in crate::service) async fn learn(&mut self, _: &Durations) {}
}
