//! `POST /api/session`: a token for a cookie and a key.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use super::input::JsonBody;
use crate::error::ApiError;
use crate::page::PageState;
use crate::session::NewSession;

#[derive(Deserialize)]
pub(crate) struct Login {
    token: String,
}

/// The key of the session, which each request has to show beside the cookie.
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
    let cookie = format!(
        "{}={cookie}; HttpOnly; SameSite=Strict; Path=/{}",
        state.cookie,
        if is_encrypted { "; Secure" } else { "" }
    );
    let cookie = HeaderValue::try_from(cookie)
        .map_err(|error| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    Ok(([(header::SET_COOKIE, cookie)], Json(Opened { key })).into_response())
}
