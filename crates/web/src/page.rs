//! The page as a router: the document, and the JSON interface behind the checks.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderValue, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use planwright::Planwright;
use planwright::core::CheckedPlan;
use planwright::drawing::Drawing;
use planwright::loaded_plan::LoadedPlan;
use planwright::planner::dates::{Now, TimeError};
use planwright::store::Store;
use tokio::sync::Semaphore;

use crate::api;
use crate::board::RunBoard;
use crate::document::Document;
use crate::guard::{self, Hosts};
use crate::session::{Access, Sessions, WrongAttempts};
use crate::tools::PageTools;

/// The largest body of a request, in bytes.
const MAX_BODY: usize = 4 * 1024 * 1024;

/// The most streams of events at one time.
const MAX_STREAMS: usize = 256;

/// Marks the ways of untrusted and private values in a drawing of a plan. The loaded plan has the labels of results that it did not compute.
pub type FlowMarker = dyn Fn(&mut Drawing, &CheckedPlan, &LoadedPlan) + Send + Sync;

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
    /// Marks the ways of untrusted and private values in a drawing of a plan, if the configuration has a policy for them.
    pub mark_flow: Arc<FlowMarker>,
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
#[derive(Debug)]
pub(crate) struct PageState {
    pub(crate) settings: PageSettings,
    pub(crate) sessions: Sessions,
    pub(crate) hosts: Hosts,
    /// The name of the cookie: browsers share the cookies of all ports of a host.
    pub(crate) cookie: String,
    pub(crate) board: Arc<RunBoard>,
    pub(crate) policy: HeaderValue,
    /// A permit for each stream of events.
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) wrong_passphrases: WrongAttempts,
    pub(crate) inspections: api::Inspections,
    pub(crate) running: api::RunningRuns,
    pub(crate) open_tools: tokio::sync::Mutex<Option<crate::OpenTools>>,
    pub(crate) html: String,
}

/// The page with its JSON interface.
#[derive(Clone, Debug)]
pub struct Page(pub(crate) Arc<PageState>);

impl Page {
    /// The page for the parties of `access`, on `port`. `hosts` are further names of the server, besides those of loopback.
    pub fn new(settings: PageSettings, access: Access, port: u16, hosts: &[Arc<str>]) -> Self {
        let Document { html, policy } = Document::assemble();
        let policy = HeaderValue::try_from(policy)
            .unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"));
        Self(Arc::new(PageState {
            sessions: Sessions::new(access),
            hosts: Hosts::new(port, hosts),
            cookie: format!("planwright-{port}"),
            board: Arc::new(RunBoard::new(settings.store.clone())),
            policy,
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            wrong_passphrases: WrongAttempts::default(),
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
