//! A connection that is driven by the thread that uses it, for one that waits for each answer: on the threads of the other connections,
//! each message and each answer would wake up two more threads.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use planwright_store::database::QueryError;
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tokio_postgres::Client;

use crate::server::{ConnectionDriver, PostgresServer, within};

/// The driver of a connection. It must not be used in a task of a tokio runtime.
pub(crate) struct OwnThread {
    /// `None` once this is dropped.
    runtime: Option<Runtime>,
    /// `None` once the connection is closed.
    driver: RefCell<Option<ConnectionDriver>>,
}

impl OwnThread {
    /// Connects, or fails within [`PostgresServer::silence`].
    pub(crate) fn connect(server: &PostgresServer) -> Result<(Client, Self), QueryError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| QueryError::failed(error.to_string()))?;
        let connected = runtime.block_on(within(server.silence(), server.connecting()));
        let own = Self {
            runtime: Some(runtime),
            driver: RefCell::default(),
        };
        let (client, driver) = connected?;
        own.driver.replace(Some(driver));
        Ok((client, own))
    }

    /// Waits for `work`, for at most `limit`.
    pub(crate) fn wait_within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, QueryError> {
        self.block_on(within(limit, async {
            let mut work = pin!(work);
            poll_fn(|context| {
                // The first poll sends the message.
                if let Poll::Ready(result) = work.as_mut().poll(context) {
                    return Poll::Ready(result);
                }
                self.drive(context);
                work.as_mut().poll(context)
            })
            .await
        }))
    }

    /// Reads what the server has sent meanwhile, such as that it is shutting down.
    pub(crate) fn read(&self) {
        self.block_on(async {
            // Tokio looks for what has arrived when a task yields.
            yield_now().await;
            poll_fn(|context| {
                self.drive(context);
                Poll::Ready(())
            })
            .await;
        });
    }

    fn drive(&self, context: &mut std::task::Context<'_>) {
        let mut driver = self.driver.borrow_mut();
        let is_over = driver
            .as_mut()
            .is_some_and(|driver| driver.as_mut().poll(context).is_ready());
        if is_over {
            // The client learns of it.
            *driver = None;
        }
    }

    fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        match &self.runtime {
            Some(runtime) => runtime.block_on(work),
            // Only while this is dropped.
            None => pollster::block_on(work),
        }
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A runtime must not wait for its threads if this is a thread of another one.
            runtime.shutdown_background();
        }
    }
}
