//! The page as a view of an MCP client: the same document, and its requests without HTTP. The client authenticates its user, and
//! the gateway passes the requests on. Only decisions write, and the gateway requires a separate token for them.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, Uri, header};
use axum::response::IntoResponse;
use serde_json::Value;
use tower::ServiceExt;

use crate::api;
use crate::error::ApiError;
use crate::page::{Page, PageSettings};
use crate::session::{Access, PageToken, Visitor};

/// The largest answer, in bytes.
const MAX_ANSWER: usize = 16 * 1024 * 1024;

/// The paths that are read by a request with a body. All other read requests of a view have none.
const READ_WITH_BODY: [&str; 3] = ["check_arguments", "plan/check", "plan/convert"];

/// A request of the page to its server.
#[derive(Clone, Debug)]
pub struct ViewRequest {
    /// The run of the view, which may read no other; `None` for the view of a checked plan.
    pub run: Option<String>,
    /// The path below `/api/`, with its query.
    pub path: String,
    /// The body.
    pub body: Option<Value>,
}

/// The answer to a [`ViewRequest`].
#[derive(Clone, Debug)]
pub struct ViewAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The answer; `{"error": {"message", "help"}}` for a failure.
    pub body: Value,
}

impl ViewRequest {
    /// Returns true if the request reads the run of the view, or nothing of any run. A stream of events would never end, so it is no such
    /// request.
    fn is_of_view(&self, path: &str) -> bool {
        if path == "check_arguments" {
            let run = self.body.as_ref().and_then(|body| body.get("run"));
            return self.run.is_some() && run.and_then(Value::as_str) == self.run.as_deref();
        }
        let of_run = self.run.as_deref().and_then(|run| {
            let rest = path.strip_prefix("runs/")?.strip_prefix(run)?;
            Some(rest.is_empty() || rest.starts_with('/'))
        });
        of_run.unwrap_or_else(|| {
            matches!(path, "config" | "plan/check" | "plan/convert") || path.starts_with("codes/")
        })
    }
}

impl Page {
    /// The page as a view of a client, without a server.
    ///
    /// # Errors
    ///
    /// The system has no random numbers.
    pub fn for_views(settings: PageSettings) -> Result<Self, getrandom::Error> {
        // Sessions are for browsers, so this token is never passed on.
        Ok(Self::new(settings, Access::Owner(PageToken::random()?), 0))
    }

    /// Returns the document, which sends its requests to the client that shows it.
    pub fn view_document(&self) -> String {
        let Self(state) = self;
        state
            .html
            .replacen("<html ", "<html data-source=\"client\" ", 1)
    }

    /// Answers a request that reads. `client` is the authenticated client of the gateway; `None` is its local user.
    pub async fn read(&self, client: Option<&str>, request: ViewRequest) -> ViewAnswer {
        let uri = match uri(&request) {
            Ok(uri) => uri,
            Err(error) => return answer(error.into_response()).await,
        };
        // The path as the routes see it, without its query.
        let path = uri.path().trim_start_matches('/');
        if request.body.is_some() && !READ_WITH_BODY.contains(&path) {
            let error = ApiError::new(StatusCode::FORBIDDEN, "a view of a client reads only");
            return answer(error.into_response()).await;
        }
        if !request.is_of_view(path) {
            let message = "a view of a client reads its own run only";
            let error = ApiError::new(StatusCode::FORBIDDEN, message);
            return answer(error.into_response()).await;
        }
        self.ask(client, request).await
    }

    /// Stores the decisions of `body`, as `POST /api/decisions` does.
    pub async fn decide(&self, client: Option<&str>, body: Value) -> ViewAnswer {
        let path = "decisions".to_owned();
        let request = ViewRequest {
            run: None,
            path,
            body: Some(body),
        };
        self.ask(client, request).await
    }

    async fn ask(&self, client: Option<&str>, request: ViewRequest) -> ViewAnswer {
        let Self(state) = self;
        let uri = match uri(&request) {
            Ok(uri) => uri,
            Err(error) => return answer(error.into_response()).await,
        };
        let (method, body) = match request.body {
            None => (Method::GET, Body::empty()),
            Some(body) => (Method::POST, Body::from(body.to_string())),
        };
        let sent = Request::builder()
            .method(method)
            .uri(uri)
            .header(header::CONTENT_TYPE, "application/json")
            .extension(Visitor::of_gateway(client))
            .body(body);
        let sent = match sent {
            Ok(sent) => sent,
            Err(error) => {
                let error = ApiError::new(StatusCode::BAD_REQUEST, error.to_string());
                return answer(error.into_response()).await;
            }
        };
        let routes = api::routes().with_state(std::sync::Arc::clone(state));
        match routes.oneshot(sent).await {
            Ok(response) => answer(response).await,
            Err(never) => match never {},
        }
    }
}

fn uri(request: &ViewRequest) -> Result<Uri, ApiError> {
    let path = format!("/{}", request.path.trim_start_matches('/'));
    Uri::try_from(path).map_err(|error| ApiError::bad(error.to_string()))
}

async fn answer(response: axum::response::Response) -> ViewAnswer {
    let status = response.status().as_u16();
    let failure = |message: String| ViewAnswer {
        status: 500,
        body: serde_json::json!({"error": {"message": message}}),
    };
    let bytes = match axum::body::to_bytes(response.into_body(), MAX_ANSWER).await {
        Ok(bytes) => bytes,
        Err(error) => return failure(format!("the answer is too large for a view: {error}")),
    };
    if bytes.is_empty() {
        return ViewAnswer {
            status,
            body: Value::Null,
        };
    }
    match serde_json::from_slice(&bytes) {
        Ok(body) => ViewAnswer { status, body },
        Err(error) => failure(format!("the answer is not JSON: {error}")),
    }
}
