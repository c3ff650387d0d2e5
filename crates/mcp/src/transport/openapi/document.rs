//! The document of an API: read from a file or fetched, and the address that its calls go to.

use std::fs::File;
use std::io::Read;

use planwright_core::text::visible;
use planwright_openapi::{Api, ApiOptions};
use reqwest::Url;

use super::api_client::read_body;
use crate::config::OpenApiConfig;
use crate::session::error::ServerStartError;
use crate::transport::http::{HttpFailure, client_with_headers};

/// The advice for an address that the entry has to state.
const STATE_IT: &str = "if that is right, write the address as `baseUrl`";

/// Reads the document, of at most `limit` bytes.
pub(super) async fn read_api(
    config: &OpenApiConfig,
    limit: usize,
) -> Result<Api, ServerStartError> {
    let fetched = match remote_address(config)? {
        Some(url) => Some(fetch(config, url, limit).await?),
        None => None,
    };
    let path = config.document.clone();
    let options = ApiOptions {
        headers: config
            .headers
            .iter()
            .map(|(name, _)| name.clone())
            .collect(),
    };
    // Large documents take a while.
    let read = tokio::task::spawn_blocking(move || {
        let bytes = match fetched {
            Some(bytes) => bytes,
            None => read_file(&path, limit)?,
        };
        let text =
            String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8".to_owned()))?;
        Api::read(&text, &options).map_err(|error| ServerStartError {
            message: visible(&error.to_string()).into_owned(),
            help: "check that `openapi` names an OpenAPI 3 document".to_owned(),
        })
    });
    // The task ends early only together with the runtime.
    read.await
        .unwrap_or_else(|_| Err(ServerStartError::stopped()))
}

fn read_file(path: &str, limit: usize) -> Result<Vec<u8>, ServerStartError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| {
        // One byte more than the limit shows that the file is longer.
        let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        file.take(bound).read_to_end(&mut bytes)
    });
    match read {
        Ok(_) if bytes.len() > limit => Err(unreadable("it is longer than the limit".to_owned())),
        Ok(_) => Ok(bytes),
        Err(error) => Err(unreadable(format!("`{path}`: {error}"))),
    }
}

async fn fetch(
    config: &OpenApiConfig,
    url: Url,
    limit: usize,
) -> Result<Vec<u8>, ServerStartError> {
    let explain = |failure: HttpFailure| unreadable(failure.message);
    // The credentials are those of the API, which may be somewhere else than its document.
    let stated = config.base_url.as_deref().map(parse_address).transpose()?;
    let is_same = stated.is_none_or(|stated| stated.origin() == url.origin());
    let headers = if is_same { &*config.headers } else { &[] };
    let client = client_with_headers(headers).map_err(explain)?;
    let response = client.get(url).send().await;
    let response = response.map_err(|error| explain(HttpFailure::unreachable(error)))?;
    let status = response.status();
    if !status.is_success() {
        return Err(unreadable(format!(
            "its server answered with HTTP {status}"
        )));
    }
    let body = read_body(response, limit).await.map_err(explain)?;
    body.map_err(|_| unreadable("it is longer than the limit".to_owned()))
}

/// Returns the address that calls go to.
///
/// Credentials go only to an address that the entry states, or to that of its document: what a document names may change
/// without the entry. For the same reason, a remote document cannot name another host.
pub(super) fn base_url(config: &OpenApiConfig, api: &Api) -> Result<Url, ServerStartError> {
    if let Some(stated) = &config.base_url {
        return parse_address(stated);
    }
    let document = remote_address(config)?;
    let named = match (&document, api.server.as_deref()) {
        // By the specification, a document without servers is about its own.
        (Some(document), named) => document.join(named.unwrap_or("/")).ok(),
        (None, named) => named.and_then(|named| Url::parse(named).ok()),
    };
    let has_host =
        |url: &Url| matches!(url.scheme(), "http" | "https") && url.username().is_empty();
    let Some(url) = named.filter(has_host) else {
        return Err(ServerStartError {
            message: "its document does not name the address of the API".to_owned(),
            help: "write it as `baseUrl`".to_owned(),
        });
    };
    let shown = visible(url.as_str()).into_owned();
    match document {
        Some(document) if document.origin() != url.origin() => Err(ServerStartError {
            message: format!(
                "its document is at `{}`, and names the address `{shown}` on another host",
                document.origin().ascii_serialization()
            ),
            help: STATE_IT.to_owned(),
        }),
        None if !config.headers.is_empty() => Err(ServerStartError {
            message: format!(
                "its `headers` would be sent to `{shown}`, which only its document names"
            ),
            help: STATE_IT.to_owned(),
        }),
        _ => Ok(url),
    }
}

/// Returns the address of the document, unless it is a file.
fn remote_address(config: &OpenApiConfig) -> Result<Option<Url>, ServerStartError> {
    let is_remote = config.is_remote();
    is_remote
        .then(|| parse_address(&config.document))
        .transpose()
}

fn parse_address(text: &str) -> Result<Url, ServerStartError> {
    Url::parse(text).map_err(|error| ServerStartError {
        // The text may contain a key.
        message: format!("one of its addresses is invalid: {error}"),
        help: "write it as `https://HOST/PATH`".to_owned(),
    })
}

fn unreadable(reason: String) -> ServerStartError {
    ServerStartError {
        message: format!("its OpenAPI document cannot be read: {reason}"),
        help: "check that `openapi` is the path or the address of the document".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use planwright_openapi::{Api, ApiOptions};

    use super::base_url;
    use crate::config::OpenApiConfig;

    /// Returns the address that calls go to, or the message.
    fn address(document: &str, base: Option<&str>, headers: bool, server: Option<&str>) -> String {
        let servers = server.map_or_else(String::new, |url| format!("servers: [{{url: '{url}'}}]"));
        let text = format!("openapi: 3.1.0\n{servers}");
        let api = Api::read(&text, &ApiOptions::default()).unwrap();
        let key = ("X-Key".to_owned(), "k".to_owned());
        let config = OpenApiConfig {
            document: document.to_owned(),
            base_url: base.map(str::to_owned),
            headers: Vec::from_iter(headers.then_some(key)),
        };
        match base_url(&config, &api) {
            Ok(url) => url.to_string(),
            Err(error) => error.message,
        }
    }

    #[test]
    fn credentials_go_only_where_the_entry_says() {
        let remote = "https://api.example/openapi.json";
        let stated = Some("https://stated.example/v1");
        let other = Some("https://other.example/v2");
        let lines = [
            address("api.yaml", stated, true, other),
            address("api.yaml", None, false, other),
            address("api.yaml", None, true, other),
            address("api.yaml", None, false, Some("/v3")),
            address("api.yaml", None, false, None),
            address(remote, None, true, None),
            address(remote, None, true, Some("/v3")),
            address(remote, None, true, Some("https://api.example/v4")),
            address(remote, None, true, other),
            address(remote, None, false, other),
            address(remote, stated, true, other),
            address(remote, None, false, Some("file:///etc/passwd")),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r"
        https://stated.example/v1
        https://other.example/v2
        its `headers` would be sent to `https://other.example/v2`, which only its document names
        its document does not name the address of the API
        its document does not name the address of the API
        https://api.example/
        https://api.example/v3
        https://api.example/v4
        its document is at `https://api.example`, and names the address `https://other.example/v2` on another host
        its document is at `https://api.example`, and names the address `https://other.example/v2` on another host
        https://stated.example/v1
        its document does not name the address of the API
        ");
    }
}
