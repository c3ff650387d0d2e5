//! Blocking work on threads of its own, with a limit of concurrency.

use tokio::sync::Semaphore;
use tokio::task::JoinError;

/// The largest number of pieces of work in progress. One thread writes for all runs, so that more would not be done sooner; and each thread
/// that has ever waited keeps a megabyte or so.
static PERMITS: Semaphore = Semaphore::const_new(8);

/// Runs `work` on a thread that may block, once a permit is free.
pub(crate) fn spawn_blocking_limited<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Result<T, JoinError>> {
    // The closure may own large values, and would make the future of its caller larger by them.
    let work = Box::new(work);
    async move {
        // The semaphore is never closed.
        let _permit = PERMITS.acquire().await;
        tokio::task::spawn_blocking(work).await
    }
}
