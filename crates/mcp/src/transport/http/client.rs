//! The HTTP client of `rmcp`'s transport, implemented with `reqwest`. Incoming messages pass the router.

use std::collections::HashMap;
use std::sync::{Arc, Once};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::BoxStream;
use http::{HeaderMap, HeaderName, HeaderValue};
use planwright_core::ServerName;
use reqwest::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::failure::{HttpConnectionState, HttpError, HttpFailure};
use super::response::{self, ExpectedResponse};
use crate::config::HttpConfig;
use crate::transport::auth::authorizer::Authorizer;
use crate::upstream::ConnectOptions;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

const KEEPALIVE: Duration = Duration::from_secs(30);

/// The maximum number of times that one message is sent again after a new authorization, and after an extension of its
/// scopes.
const MAX_AUTHORIZATIONS: u32 = 2;
const MAX_SCOPE_UPGRADES: u32 = 2;

const MAX_REDIRECTS: usize = 5;

#[derive(Clone, Debug)]
pub(super) struct HttpClient {
    http: Client,
    url: Url,
    authorizer: Option<Arc<Authorizer>>,
    pub(super) connection: Arc<HttpConnectionState>,
}

impl HttpClient {
    pub(super) fn new(
        server: &ServerName,
        config: &HttpConfig,
        options: &ConnectOptions,
        connection: Arc<HttpConnectionState>,
    ) -> Result<Self, HttpFailure> {
        let url = Url::parse(&config.url).map_err(|error| {
            HttpFailure::unsent(
                format!("its `url` is not an address: {error}"),
                "write it as `https://HOST/PATH`",
            )
        })?;
        let http = client_with_headers(&config.headers)?;
        let authorizer = Authorizer::new(server, &url, config, options).map(Arc::new);
        Ok(Self {
            http,
            url,
            authorizer,
            connection,
        })
    }

    fn request(
        &self,
        method: Method,
        accept: &'static str,
        session: Option<&str>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> RequestBuilder {
        let mut request = self.http.request(method, self.url.clone());
        request = request.header(ACCEPT, accept);
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        request.headers(headers.into_iter().collect())
    }

    /// Sends a request, and repeats it after authorization. The server has not carried out a request that it refuses.
    async fn send(&self, request: RequestBuilder) -> Result<Response, HttpError> {
        let sent = self.send_authorized(request).await;
        sent.map_err(|failure| self.connection.record_failure(failure))
    }

    async fn send_authorized(&self, request: RequestBuilder) -> Result<Response, HttpFailure> {
        let (mut authorizations, mut scope_upgrades) = (0, 0);
        let Some(authorizer) = &self.authorizer else {
            return request.send().await.map_err(HttpFailure::unreachable);
        };
        loop {
            // Only a request whose body is in memory can be sent again.
            let Some(attempt) = request.try_clone() else {
                return request.send().await.map_err(HttpFailure::unreachable);
            };
            // Read anew in each round, because the authorization below replaces it.
            let token = authorizer.token().await?;
            let attempt = match &token {
                Some(token) => attempt.bearer_auth(token),
                None => attempt,
            };
            let response = attempt.send().await.map_err(HttpFailure::unreachable)?;
            let challenge = challenge(&response);
            let is_authorized = match response.status() {
                StatusCode::UNAUTHORIZED if authorizations < MAX_AUTHORIZATIONS => {
                    authorizations += 1;
                    authorizer
                        .reauthorize(challenge.as_deref(), token.as_deref())
                        .await?;
                    true
                }
                StatusCode::FORBIDDEN if scope_upgrades < MAX_SCOPE_UPGRADES => {
                    scope_upgrades += 1;
                    authorizer.extend_scopes(challenge.as_deref()).await?
                }
                _ => false,
            };
            if !is_authorized {
                return Ok(response);
            }
        }
    }

    async fn post(
        &self,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let expected = ExpectedResponse::to(&message);
        let body = Bytes::from(serde_json::to_vec(&message)?);
        // Large arguments need not be in memory twice while the response is awaited.
        drop(message);
        let accept = "application/json, text/event-stream";
        let request = self
            .request(Method::POST, accept, session.as_deref(), headers)
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        let response = self.send(request).await?;
        let status = response.status();
        let has_session = session.is_some();
        let answer = if status == StatusCode::NOT_FOUND && has_session {
            // Upon this error `rmcp` opens a new session.
            return Err(StreamableHttpError::SessionExpired);
        } else if status.is_success() {
            response::read_success(response, expected, has_session, &self.connection).await
        } else {
            response::read_refusal(response, expected, &self.connection).await
        };
        answer.map_err(|error| self.connection.record_failure(error.into()))
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpFailure;

    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        self.post(message, session_id, custom_headers).await
    }

    async fn delete_session(
        &self,
        _uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        let accept = "application/json, text/event-stream";
        let request = self.request(Method::DELETE, accept, Some(&session_id), custom_headers);
        // A server may refuse to end a session, which has no consequence.
        self.send(request).await.map(drop)
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        let session = session_id.as_deref();
        let mut request = self.request(Method::GET, "text/event-stream", session, custom_headers);
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let response = self.send(request).await?;
        let status = response.status();
        let kind = response.headers().get(CONTENT_TYPE);
        let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if status.is_success() && is_stream {
            let connection = Arc::clone(&self.connection);
            return Ok(response::events(
                response,
                ExpectedResponse::default(),
                connection,
            ));
        }
        let may_pass = status.is_server_error()
            || matches!(
                status,
                StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
            );
        if may_pass {
            let failure = HttpFailure::status(status, response.headers());
            return Err(StreamableHttpError::Client(failure));
        }
        // With this error `rmcp` does not try again.
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}

fn challenge(response: &Response) -> Option<String> {
    let challenges = response.headers().get_all(WWW_AUTHENTICATE);
    let mut challenges = challenges.iter().filter_map(|value| value.to_str().ok());
    let is_bearer = |value: &&str| {
        let scheme = value.trim_start().get(..6);
        scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"))
    };
    challenges.find(is_bearer).map(str::to_owned)
}

/// Creates a client whose requests have `headers`.
pub(crate) fn client_with_headers(headers: &[(String, String)]) -> Result<Client, HttpFailure> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let pair = (name.parse::<HeaderName>(), HeaderValue::from_str(value));
        let (Ok(key), Ok(mut value)) = pair else {
            return Err(HttpFailure::unsent(
                format!("the header `{name}` cannot be sent"),
                "look at its name and its value",
            ));
        };
        // Keeps the value out of debug output.
        value.set_sensitive(true);
        map.append(key, value);
    }
    install_crypto_provider();
    Client::builder()
        .default_headers(map)
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_keepalive(KEEPALIVE)
        // The headers may hold a key that is meant for this server alone.
        .redirect(same_origin_policy())
        // These do not depend on the features that other crates enable in `reqwest`.
        .http1_only()
        .no_gzip()
        .build()
        .map_err(HttpFailure::unreachable)
}

/// Follows only redirects that preserve method and body, and only within one origin, because requests carry
/// credentials.
fn same_origin_policy() -> Policy {
    Policy::custom(|attempt| {
        let keeps_the_message = matches!(
            attempt.status(),
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
        );
        let first = attempt.previous().first();
        let is_same_origin = first.is_some_and(|url| url.origin() == attempt.url().origin());
        if keeps_the_message && is_same_origin && attempt.previous().len() <= MAX_REDIRECTS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

/// Installs `ring` as the cryptography provider, unless the embedding program has installed another.
fn install_crypto_provider() {
    static CHOICE: Once = Once::new();
    CHOICE.call_once(|| {
        // An error means that a provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
