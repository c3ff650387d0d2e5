//! Tasks that end with their owner.

use tokio::task::AbortHandle;

/// A guard that aborts a task when dropped.
#[derive(Debug)]
pub(super) struct AbortOnDrop(pub(super) AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
