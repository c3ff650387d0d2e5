//! Readers of requests whose refusals have the form of all errors.

use std::error::Error as _;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use planwright::core::value::number::first_inexact_number;
use serde::de::DeserializeOwned;

use crate::error::ApiError;

/// The JSON in the body of a request.
pub(crate) struct JsonBody<T>(pub(crate) T);

/// The parameters of a request.
pub(crate) struct Parameters<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        // A form of another page cannot have this type.
        if !is_json(request.headers()) {
            return Err(ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the body is not `application/json`",
            ));
        }
        let bytes = Bytes::from_request(request, state).await.map_err(|error| {
            let message = match error.status() {
                StatusCode::PAYLOAD_TOO_LARGE => {
                    "the request has more bytes than this part of the interface takes".to_owned()
                }
                _ => "the request was interrupted".to_owned(),
            };
            ApiError::new(error.status(), message)
        })?;
        let body = serde_json::from_slice(&bytes)
            .map_err(|error| ApiError::bad(format!("the body cannot be read: {error}")))?;
        // The number would be rounded, and the tool would receive another number than the person wrote.
        let text = String::from_utf8_lossy(&bytes);
        if let Some(number) = first_inexact_number(&text) {
            let message = format!("64 bits cannot represent the number `{number}`");
            return Err(ApiError::bad(message));
        }
        Ok(Self(body))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Parameters<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let query = Query::from_request_parts(parts, state).await;
        query
            .map(|Query(parameters)| Self(parameters))
            .map_err(|error| {
                let cause = error
                    .source()
                    .map_or(error.body_text(), ToString::to_string);
                ApiError::bad(format!("the parameters cannot be read: {cause}"))
            })
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}
