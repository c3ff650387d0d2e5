//! The HTTP requests of an API's calls.

use planwright_openapi::{HttpRequest, HttpResponse, Operation, call_result};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION, USER_AGENT};
use reqwest::{Client, Method, Response, Url};

use crate::config::OpenApiConfig;
use crate::transport::http::{HttpFailure, client_with_headers};
use crate::upstream::ConnectOptions;

/// The maximum length of the body of an error that is read, in bytes.
const MAX_ERROR_BYTES: usize = 64 << 10;

#[derive(Clone, Debug)]
pub(super) struct ApiClient {
    http: Client,
    base: Url,
    user_agent: Option<String>,
    limit: usize,
}

impl ApiClient {
    /// Creates a client for the API at `base`.
    pub(super) fn new(
        config: &OpenApiConfig,
        base: Url,
        options: &ConnectOptions,
    ) -> Result<Self, HttpFailure> {
        let mut names = config.headers.iter().map(|(name, _)| name);
        let has_agent = names.any(|name| name.eq_ignore_ascii_case(USER_AGENT.as_str()));
        let (name, version) = &options.client;
        Ok(Self {
            http: client_with_headers(&config.headers)?,
            base,
            // Some APIs refuse requests without one.
            user_agent: (!has_agent).then(|| format!("{name}/{version}")),
            limit: options.message_limit,
        })
    }

    /// Sends the request of a call, and returns the JSON text of its result.
    pub(super) async fn call(
        &self,
        operation: &Operation,
        request: HttpRequest,
    ) -> Result<String, HttpFailure> {
        let invalid = || HttpFailure::unsent("the request cannot be sent", "check the arguments");
        let method: Method = request.method.parse().map_err(|_| invalid())?;
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let name: reqwest::header::HeaderName = name.parse().map_err(|_| invalid())?;
            headers.append(name, value.parse().map_err(|_| invalid())?);
        }
        let url = self.url(&request);
        let mut builder = self.http.request(method, url);
        builder = builder.header(ACCEPT, "application/json, */*;q=0.5");
        if let Some(agent) = &self.user_agent {
            builder = builder.header(USER_AGENT, agent);
        }
        builder = builder.headers(headers);
        if let Some(body) = request.body {
            builder = builder.body(body);
        }
        let response = builder.send().await.map_err(HttpFailure::unreachable)?;
        let status = response.status();
        let header = |name| {
            let value = response.headers().get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        let (content_type, location) = (header(CONTENT_TYPE), header(LOCATION));
        let body = if status.is_success() {
            let read = read_body(response, self.limit).await?;
            read.map_err(|_| HttpFailure::too_long())?
        } else {
            // The beginning of an error says what it is about.
            read_body(response, MAX_ERROR_BYTES)
                .await?
                .unwrap_or_else(|beginning| beginning)
        };
        let response = HttpResponse {
            status: status.as_u16(),
            status_text: status.to_string(),
            content_type,
            location: location.filter(|_| status.is_redirection()),
            body,
        };
        Ok(call_result(operation, &response))
    }

    /// Returns the address of a request. The query of the base address, such as a key, is that of every request.
    fn url(&self, request: &HttpRequest) -> Url {
        let mut url = self.base.clone();
        let folder = self.base.path().trim_end_matches('/');
        url.set_path(&format!("{folder}{}", request.path));
        let queries = [self.base.query().unwrap_or_default(), &request.query];
        let queries: Vec<&str> = queries
            .into_iter()
            .filter(|query| !query.is_empty())
            .collect();
        url.set_query((!queries.is_empty()).then(|| queries.join("&")).as_deref());
        url.set_fragment(None);
        url
    }
}

/// Reads a body; `Err` with its beginning if it is longer than `limit` bytes.
pub(super) async fn read_body(
    mut response: Response,
    limit: usize,
) -> Result<Result<Vec<u8>, Vec<u8>>, HttpFailure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(HttpFailure::unreachable)? {
        let room = limit - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok(Err(body));
        }
    }
    Ok(Ok(body))
}
