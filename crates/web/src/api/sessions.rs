//! `POST /api/session`: a token for a cookie and a key. `POST /api/session/end` ends the session.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};

use super::input::JsonBody;
use crate::error::ApiError;
use crate::page::PageState;
use crate::session::{NewSession, Visitor};

#[derive(Deserialize)]
pub(crate) struct Login {
    token: String,
}

/// The key of the session. Each request must have it in addition to the cookie.
#[derive(Serialize)]
struct Opened {
    key: String,
}

pub(crate) async fn open(
    State(state): State<Arc<PageState>>,
    headers: HeaderMap,
    JsonBody(login): JsonBody<Login>,
) -> Result<Response, ApiError> {
    let NewSession { cookie, key } = state.sessions.open(&login.token)?;
    let origin = headers.get(header::ORIGIN).map(HeaderValue::as_bytes);
    let is_encrypted = origin.is_some_and(|origin| origin.starts_with(b"https://"));
    let secure = if is_encrypted { "; Secure" } else { "" };
    let cookie = set_cookie(&state, &cookie, secure)?;
    Ok(([(header::SET_COOKIE, cookie)], Json(Opened { key })).into_response())
}

pub(crate) async fn end(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
) -> Result<Response, ApiError> {
    state.sessions.close(&visitor);
    let cookie = set_cookie(&state, "", "; Max-Age=0")?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response())
}

/// The header that sets the cookie of the session, with further attributes.
fn set_cookie(state: &PageState, value: &str, attributes: &str) -> Result<HeaderValue, ApiError> {
    let name = &state.cookie;
    let cookie = format!("{name}={value}; HttpOnly; SameSite=Strict; Path=/{attributes}");
    HeaderValue::try_from(cookie)
        .map_err(|error| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
}
