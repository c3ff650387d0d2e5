//! The server: its address, the thread that drives the connections to it, and notice of commits.

use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures::future::{Either, select};
use futures::stream::poll_fn;
use futures::{FutureExt, StreamExt};
use planwright_store::database::{DatabaseError, QueryCause, QueryError};
use planwright_store::{FileProblem, StoreError};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{sleep, timeout};
use tokio_postgres::{AsyncMessage, Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::PostgresOptions;
use crate::tls::Encryption;
use crate::values::query_error;

/// The channel on which a trigger of the tables announces requests to runs. Each commit is announced on another one.
const REQUESTS: &str = "planwright_requests";

/// The number of times that [`PostgresServer::silence`] fits into the time of a lease, so that a lease survives failed renewals.
const SILENCES_PER_LEASE: u32 = 4;

/// The pause between two announcements of commits, as long as watchers pause between two looks.
const ANNOUNCE_PAUSE: Duration = Duration::from_millis(25);

/// The pause between two attempts to listen.
const LISTEN_RETRY_PAUSE: Duration = Duration::from_secs(1);

/// A server that connections can be opened to.
pub(crate) struct PostgresServer {
    /// The address without its password.
    location: PathBuf,
    config: Config,
    tls: MakeRustlsConnect,
    lease_time: Duration,
    write_timeout: Duration,
    /// A number that grows with each commit, of any process, that this one has noticed.
    version: Arc<AtomicI64>,
    /// The same for commits with requests to runs.
    request_version: Arc<AtomicI64>,
    announcements: Arc<Announcements>,
    handle: Handle,
    /// The threads of the connections. `None` once this is dropped.
    runtime: Option<Runtime>,
}

impl PostgresServer {
    /// Reads the address of a server; it is not reached yet.
    pub(crate) fn open(url: &str, options: &PostgresOptions) -> Result<Self, StoreError> {
        let PostgresOptions {
            lease_time,
            write_timeout,
            ..
        } = *options;
        let silence = silence(lease_time);
        let location = PathBuf::from(without_password(url));
        let failed = |reason: String| QueryError::failed(reason).at(&location);
        let invalid = |reason: String| failed(format!("its address is invalid: {reason}"));
        let (address, encryption) = Encryption::of(url).map_err(invalid)?;
        let mut config = Config::from_str(&address).map_err(|error| invalid(reason_of(&error)))?;
        config
            .tcp_user_timeout(silence)
            .keepalives_idle(silence)
            .keepalives_interval(silence)
            .keepalives_retries(1);
        if config.get_application_name().is_none() {
            config.application_name("planwright");
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("planwright-postgres")
            .enable_all()
            .build()
            .map_err(|error| failed(error.to_string()))?;
        Ok(Self {
            tls: encryption.connector().map_err(failed)?,
            location,
            config,
            lease_time,
            write_timeout,
            version: Arc::default(),
            request_version: Arc::default(),
            announcements: Arc::default(),
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }

    /// Returns the address without its password.
    pub(crate) fn location(&self) -> &Path {
        &self.location
    }

    /// Returns a number that grows with each commit.
    pub(crate) fn version(&self) -> i64 {
        self.version.load(Ordering::Acquire)
    }

    /// Returns a number that grows with each commit that contains a request to a run.
    pub(crate) fn request_version(&self) -> i64 {
        self.request_version.load(Ordering::Acquire)
    }

    /// Returns the time after which the runs of a silent process count as interrupted.
    pub(crate) fn lease_time(&self) -> Duration {
        self.lease_time
    }

    /// Returns the time that an operation waits for an unreachable server.
    pub(crate) fn write_timeout(&self) -> Duration {
        self.write_timeout
    }

    /// Returns the time after which a silent server counts as lost. One attempt to connect may take as long.
    pub(crate) fn silence(&self) -> Duration {
        silence(self.lease_time)
    }

    /// Connects, or fails within [`PostgresServer::silence`].
    pub(crate) fn connect(&self) -> Result<Client, QueryError> {
        let (client, connection) = self.wait(within(self.silence(), self.connecting()))?;
        self.handle.spawn(connection);
        Ok(client)
    }

    /// Connects.
    pub(crate) fn connecting(
        &self,
    ) -> impl Future<Output = Result<(Client, ConnectionDriver), tokio_postgres::Error>> + Send + use<>
    {
        connect(self.config.clone(), self.tls.clone())
    }

    /// Announces a commit to all processes, within [`ANNOUNCE_PAUSE`].
    pub(crate) fn announce(&self) {
        self.announcements.due.fetch_add(1, Ordering::AcqRel);
        self.announcements.wakes.notify_one();
    }

    /// Returns true if a commit is not announced yet.
    pub(crate) fn has_to_announce(&self) -> bool {
        self.announcements.are_due()
    }

    /// Waits for `work` on this thread, for at most `limit`.
    pub(crate) fn wait_within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, QueryError> {
        // The timer runs on the threads of the connections.
        let _context = self.handle.enter();
        pollster::block_on(within(limit, work))
    }

    /// Listens for commits of all processes, and connects again if the connection is lost.
    pub(crate) fn listen(&self) -> Result<(), QueryError> {
        let (config, tls, limit) = (self.config.clone(), self.tls.clone(), self.silence());
        let version = Arc::clone(&self.version);
        let requests = Arc::clone(&self.request_version);
        let announcements = Arc::clone(&self.announcements);
        let longest_silence = self.lease_time;
        let mut listener = self.wait(within(limit, listen(config.clone(), tls.clone())))?;
        self.handle.spawn(async move {
            loop {
                let (client, mut notices) = listener;
                let listening = async {
                    loop {
                        let noticed = match timeout(longest_silence, notices.recv()).await {
                            Ok(Some(Notice::Request)) => &requests,
                            Ok(None) => return,
                            // A process that was killed may not have announced its last commits.
                            Ok(Some(Notice::Commit)) | Err(_) => &version,
                        };
                        noticed.fetch_add(1, Ordering::AcqRel);
                    }
                };
                let announcing = announcements.send(&client);
                match select(listening.boxed(), announcing.boxed()).await {
                    Either::Left(((), announcing)) => drop(announcing),
                    Either::Right((_, listening)) => drop(listening),
                }
                drop(client);
                listener = loop {
                    match within(limit, listen(config.clone(), tls.clone())).await {
                        Ok(listener) => break listener,
                        Err(error) => {
                            tracing::debug!(%error, "cannot listen for commits of the store; trying again");
                            sleep(LISTEN_RETRY_PAUSE).await;
                        }
                    }
                };
                // Commits may have been missed.
                version.fetch_add(1, Ordering::AcqRel);
                requests.fetch_add(1, Ordering::AcqRel);
            }
        });
        Ok(())
    }

    /// Waits for `work`, which runs on the threads of the connections. Any thread may call this, including one of a tokio runtime.
    fn wait<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        match pollster::block_on(self.handle.spawn(work)) {
            Ok(result) => result,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A runtime must not wait for its threads if this is a thread of another one.
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for PostgresServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("location", &self.location)
            .finish_non_exhaustive()
    }
}

/// Commits of this process, and those that it has announced. Each notice wakes up all processes, so commits that follow each other share it.
#[derive(Default)]
struct Announcements {
    due: AtomicI64,
    sent: AtomicI64,
    wakes: Notify,
}

impl Announcements {
    fn are_due(&self) -> bool {
        self.sent.load(Ordering::Acquire) < self.due.load(Ordering::Acquire)
    }

    /// Announces commits over this connection until it is lost.
    async fn send(&self, client: &Client) -> tokio_postgres::Error {
        loop {
            if self.are_due() {
                let due = self.due.load(Ordering::Acquire);
                if let Err(error) = client.batch_execute("NOTIFY planwright_commits").await {
                    return error;
                }
                self.sent.store(due, Ordering::Release);
                sleep(ANNOUNCE_PAUSE).await;
            } else {
                self.wakes.notified().await;
            }
        }
    }
}

/// A connection in progress: it must be driven for its client to get results.
pub(crate) type ConnectionDriver = futures::future::BoxFuture<'static, ()>;

async fn connect(
    config: Config,
    tls: MakeRustlsConnect,
) -> Result<(Client, ConnectionDriver), tokio_postgres::Error> {
    let (client, connection) = config.connect(tls).await?;
    let driver = async move {
        // Its client gets the error, too.
        let _ = connection.await;
    };
    Ok((client, Box::pin(driver)))
}

/// Notice of a commit.
enum Notice {
    Commit,
    /// A commit that contains a request to a run.
    Request,
}

/// A connection with notice of commits. The channel closes if the connection is lost.
type Listener = (Client, UnboundedReceiver<Notice>);

async fn listen(config: Config, tls: MakeRustlsConnect) -> Result<Listener, tokio_postgres::Error> {
    let (client, mut connection) = config.connect(tls).await?;
    let (sender, receiver) = unbounded_channel();
    tokio::spawn(async move {
        let mut messages = poll_fn(move |context| connection.poll_message(context));
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notification(notification) = message {
                let notice = match notification.channel() {
                    REQUESTS => Notice::Request,
                    _ => Notice::Commit,
                };
                if sender.send(notice).is_err() {
                    break;
                }
            }
        }
    });
    client
        .batch_execute(&format!("LISTEN planwright_commits; LISTEN {REQUESTS}"))
        .await?;
    Ok((client, receiver))
}

fn silence(lease_time: Duration) -> Duration {
    // Systems count such times in seconds.
    (lease_time / SILENCES_PER_LEASE).max(Duration::from_secs(1))
}

/// Waits for `work`, for at most `limit`.
pub(crate) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, QueryError> {
    match timeout(limit, work).await {
        Ok(result) => result.map_err(|error| query_error(&error)),
        Err(_) => Err(QueryError::Database(DatabaseError {
            problem: FileProblem::Failed(format!(
                "its server does not answer within {} ms",
                limit.as_millis()
            )),
            cause: QueryCause::Transient,
        })),
    }
}

/// Returns the reason of an error, with that of its cause.
pub(crate) fn reason_of(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return error.message().to_owned();
    }
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Returns `url` with a password replaced: messages repeat it.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return "postgres".to_owned();
    };
    // A password may have any of these characters, and parameters may have a password, too.
    let (user, host) = match rest.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, rest),
    };
    let host = host.split('?').next().unwrap_or_default();
    match user.and_then(|user| user.split([':', '?']).next()) {
        Some(user) => format!("{scheme}://{user}@{host}"),
        None => format!("{scheme}://{host}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_message_has_the_password() {
        for (url, shown) in [
            ("postgres://me:se:cret@h:5/d", "postgres://me@h:5/d"),
            ("postgresql://me@h/d?password=secret", "postgresql://me@h/d"),
            ("postgres://h/d", "postgres://h/d"),
            ("postgres://me:se?cret@h/d", "postgres://me@h/d"),
            ("postgres://me:se@cr?et@h/d?x=y", "postgres://me@h/d"),
            ("host=h password=secret", "postgres"),
        ] {
            assert_eq!(without_password(url), shown);
        }
    }
}
