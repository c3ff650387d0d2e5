//! Tasks that end with whoever started them.

use tokio::task::AbortHandle;

/// A task that is aborted when this is dropped.
#[derive(Debug)]
pub(super) struct AbortOnDrop(pub(super) AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
