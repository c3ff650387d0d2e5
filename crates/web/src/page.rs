//! The page as a router: the document, and the JSON interface behind the checks.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use planwright::Planwright;
use planwright::core::CheckedPlan;
use planwright::drawing::Drawing;
use planwright::loaded_plan::ResultLabels;
use planwright::planner::dates::{Now, TimeError};
use planwright::store::Store;

use crate::api;
use crate::board::RunBoard;
use crate::document::PageDocument;
use crate::feeds::RunFeeds;
use crate::guard::{self, HostRule};
use crate::session::{Access, MAX_WRONG_PASSPHRASES, Sessions, WrongAttempts};
use crate::streams::OpenStreams;
use crate::tools::PageTools;

/// The largest body of a request, in bytes.
const MAX_BODY: usize = 4 * 1024 * 1024;

/// Marks the ways of untrusted and private values in a drawing of a plan, with the labels of the results that the plan does not compute.
pub type FlowMarker = dyn Fn(&mut Drawing, &CheckedPlan, &ResultLabels) + Send + Sync;

/// The subject of a page: a store with its runs, and the tools of plans.
#[derive(Clone)]
pub struct PageSettings {
    /// The service through which runs are read and decided. Its store is `store`.
    pub service: Planwright,
    /// The store.
    pub store: Store,
    /// True if a decision requires a passphrase even if the store has none.
    pub requires_passphrase: bool,
    /// The tools of plans.
    pub tools: Arc<dyn PageTools>,
    /// The name of the person, as it is stored with decisions.
    pub person: Option<String>,
    /// The current time.
    pub now: fn() -> SystemTime,
    /// Marks the paths of untrusted and private values in a drawing of a plan, if the configuration has a policy for them.
    pub mark_flow: Arc<FlowMarker>,
    /// The page of a diagnostic code or of a kind of error, in Markdown; none for another name.
    pub code_page: fn(&str) -> Option<&'static str>,
    /// The current day in the time zone and calendar of the person, for phrases of time.
    pub today: Arc<dyn Fn() -> Result<Now, TimeError> + Send + Sync>,
}

impl fmt::Debug for PageSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageSettings")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

/// The state that all requests share.
pub(crate) struct PageState {
    pub(crate) settings: PageSettings,
    pub(crate) sessions: Sessions,
    pub(crate) hosts: Arc<HostRule>,
    /// The name of the cookie. It contains the port, because browsers share the cookies of all ports of a host.
    pub(crate) cookie: String,
    pub(crate) board: Arc<RunBoard>,
    pub(crate) policy: HeaderValue,
    pub(crate) streams: OpenStreams,
    pub(crate) feeds: RunFeeds,
    pub(crate) wrong_passphrases: WrongAttempts,
    pub(crate) inspections: api::Inspections,
    pub(crate) running: api::RunningRuns,
    pub(crate) open_tools: tokio::sync::Mutex<Option<crate::OpenTools>>,
    pub(crate) html: String,
}

impl fmt::Debug for PageState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageState")
            .field("settings", &self.settings)
            .field("sessions", &self.sessions)
            .finish_non_exhaustive()
    }
}

/// The page with its JSON interface.
#[derive(Clone, Debug)]
pub struct Page(pub(crate) Arc<PageState>);

impl Page {
    /// The page for the parties of `access`, on `port` of loopback.
    pub fn new(settings: PageSettings, access: Access, port: u16) -> Self {
        Self::behind(settings, access, port, guard::loopback(port))
    }

    /// The page for the parties of `access`, as a part of a server on `port` with the names of `hosts`.
    pub fn behind(settings: PageSettings, access: Access, port: u16, hosts: Arc<HostRule>) -> Self {
        let PageDocument { html, policy } = PageDocument::assemble();
        let policy = HeaderValue::try_from(policy)
            .unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"));
        Self(Arc::new(PageState {
            sessions: Sessions::new(access),
            hosts,
            cookie: format!("planwright-{port}"),
            board: Arc::new(RunBoard::new(settings.store.clone())),
            policy,
            streams: OpenStreams::default(),
            feeds: RunFeeds::default(),
            wrong_passphrases: WrongAttempts::new(MAX_WRONG_PASSPHRASES),
            inspections: api::Inspections::default(),
            running: api::RunningRuns::default(),
            open_tools: tokio::sync::Mutex::default(),
            html,
            settings,
        }))
    }

    /// The routes: the document at `/`, the interface below `/api`.
    pub fn router(&self) -> Router {
        let state = Arc::clone(&self.0);
        Router::new()
            .route("/", get(document))
            .nest("/api", api::routes())
            .layer(DefaultBodyLimit::max(MAX_BODY))
            .layer(from_fn_with_state(Arc::clone(&state), guard::check))
            .layer(from_fn_with_state(Arc::clone(&state), guard::set_headers))
            .with_state(state)
    }

    /// The client with the session of a request: `Some(None)` for the owner of the page, `None` without a session.
    pub fn session_client(&self, headers: &HeaderMap) -> Option<Option<Arc<str>>> {
        let Self(state) = self;
        let visitor = state.sessions.visitor(headers, &state.cookie)?;
        Some(visitor.party())
    }

    /// Ends all streams of events, and those that begin later at once, so that a server can shut down.
    pub fn close(&self) {
        self.0.streams.close();
    }

    /// Drains the runs of the page, and cancels their calls that are still in flight after `limit`. Returns once all runs have ended and
    /// their tools are closed.
    pub async fn drain(&self, limit: Duration) {
        self.0.running.drain(limit).await;
    }

    /// Follows the store for all streams of events, for as long as it is awaited.
    pub fn watch(&self) -> impl Future<Output = Infallible> + use<> {
        let state = Arc::clone(&self.0);
        async move { state.board.watch().await }
    }
}

async fn document(State(state): State<Arc<PageState>>) -> Response {
    let kind = "text/html; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], state.html.clone()).into_response()
}
