//! The names by which the server may be called, the web pages that may call it, and CORS headers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use planwright::config::Serve;

use super::limits::Refusal;

/// Reads `ADDRESS:PORT`; a bare port means this machine.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    let port: u16 = port.parse().map_err(|_| {
        "it must be an address and a port, such as `127.0.0.1:8000`, or a port".to_owned()
    })?;
    Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}

/// The allowed host names and origins.
#[derive(Debug)]
pub(super) struct HostNames {
    is_loopback: bool,
    hosts: Vec<Arc<str>>,
    origins: Vec<Arc<str>>,
}

impl HostNames {
    pub(super) fn new(listen: SocketAddr, serve: &Serve) -> Self {
        Self {
            is_loopback: listen.ip().is_loopback(),
            hosts: serve.hosts.clone(),
            origins: serve.origins.clone(),
        }
    }

    /// Checks that a request calls the server by its name, and comes from a page that may send it.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let (Some(host), None) = (host, hosts.next()) else {
            return Err(Refusal::Host);
        };
        let authority = uri.authority().map(axum::http::uri::Authority::as_str);
        if !self.is_known(host) || authority.is_some_and(|name| !self.is_known(name)) {
            return Err(Refusal::Host);
        }
        for origin in headers.get_all(header::ORIGIN) {
            let text = origin.to_str().map_err(|_| Refusal::Origin)?;
            if !self.may_send(&text.to_ascii_lowercase()) {
                return Err(Refusal::Origin);
            }
        }
        Ok(())
    }

    /// Returns true if the server has this name in the form of a `Host` header.
    pub(super) fn is_known(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let Some(name) = without_port(&host) else {
            return false;
        };
        if self
            .hosts
            .iter()
            .any(|known| **known == *host || **known == *name)
        {
            return true;
        }
        match address(name) {
            // An address is not resolved, so no web page can rebind it as it could rebind a name.
            Some(address) => !self.is_loopback || address.is_loopback(),
            None => name == "localhost",
        }
    }

    fn may_send(&self, origin: &str) -> bool {
        if self.origins.iter().any(|known| **known == *origin) {
            return true;
        }
        let is_here = |host: &str| {
            let name = without_port(host).unwrap_or_default();
            name == "localhost" || address(name).is_some_and(|address| address.is_loopback())
        };
        self.is_loopback
            && ["http://", "https://"]
                .iter()
                .any(|scheme| origin.strip_prefix(scheme).is_some_and(is_here))
    }
}

/// Returns the name in `name`, `name:80` or `[::1]:80`.
fn without_port(host: &str) -> Option<&str> {
    let end = host.rfind(']').map_or(0, |end| end + 1);
    match host.get(end..)?.split_once(':') {
        None => Some(host),
        Some((name, port)) => {
            let is_port = port.parse::<u16>().is_ok();
            is_port.then(|| host.get(..end + name.len()))?
        }
    }
}

fn address(name: &str) -> Option<IpAddr> {
    match name.strip_prefix('[') {
        Some(rest) => {
            let inner: Ipv6Addr = rest.strip_suffix(']')?.parse().ok()?;
            Some(inner.into())
        }
        None => name.parse::<Ipv4Addr>().ok().map(IpAddr::from),
    }
}

const ALLOW_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-allow-private-network");
const REQUEST_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-request-private-network");

/// The methods that pages may use.
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");

/// The response headers that pages may read in addition to those that browsers always allow.
const EXPOSED: HeaderValue =
    HeaderValue::from_static("Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate, Retry-After");

/// The time for which browsers may cache a preflight response, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// Returns the response to a preflight request of an allowed origin; `None` for any other request.
pub(super) fn preflight(method: &Method, headers: &HeaderMap) -> Option<Response> {
    let asks = *method == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if !asks {
        return None;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    let answer = response.headers_mut();
    answer.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    answer.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    // Arguments of tools may travel in headers of any name.
    if let Some(wanted) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        answer.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    if headers.contains_key(REQUEST_PRIVATE_NETWORK) {
        answer.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
    }
    Some(response)
}

/// Lets the page at the allowed `origin` read a response.
pub(super) fn share(origin: HeaderValue, answer: &mut HeaderMap) {
    answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    answer.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    answer.append(header::VARY, HeaderValue::from_static("Origin"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(listen: &str, host: &str, origin: Option<&str>) -> Result<(), Refusal> {
        let mut serve = Serve::default();
        serve.hosts.push("plans.example.com".into());
        serve.origins.push("https://chat.example.com".into());
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        HostNames::new(listen.parse().unwrap(), &serve).check(&Uri::from_static("/mcp"), &headers)
    }

    #[test]
    fn hosts() {
        let here = "127.0.0.1:8000";
        let anywhere = "0.0.0.0:8000";
        for (listen, host, expected) in [
            (here, "127.0.0.1:8000", true),
            (here, "127.0.0.1", true),
            (here, "LocalHost:9", true),
            (here, "[::1]:8000", true),
            (here, "plans.example.com", true),
            (here, "plans.example.com:443", true),
            (here, "192.168.0.7:8000", false),
            (here, "evil.example.com", false),
            (here, "localhost.evil.example.com", false),
            (here, "localhost:evil", false),
            (here, "127.0.0.1.evil.example.com", false),
            (here, "localhost@evil.example.com", false),
            (here, "[::1]evil.example.com", false),
            (here, "", false),
            (anywhere, "192.168.0.7:8000", true),
            (anywhere, "[2001:db8::1]:8000", true),
            (anywhere, "evil.example.com:8000", false),
        ] {
            let result = check(listen, host, None);
            assert_eq!(result.is_ok(), expected, "{host} at {listen}");
        }
    }

    #[test]
    fn origins() {
        let here = "127.0.0.1:8000";
        let anywhere = "0.0.0.0:8000";
        for (listen, origin, expected) in [
            (here, "http://localhost:6274", true),
            (here, "http://127.0.0.1:8000", true),
            (here, "https://[::1]", true),
            (here, "https://Chat.example.com", true),
            (here, "https://chat.example.com:444", false),
            (here, "http://chat.example.com", false),
            (here, "null", false),
            (here, "", false),
            (here, "http://localhost.evil.example.com", false),
            (here, "http://evil.example.com", false),
            (here, "file://localhost", false),
            (anywhere, "https://chat.example.com", true),
            (anywhere, "http://localhost:6274", false),
        ] {
            let result = check(listen, "127.0.0.1", Some(origin));
            assert_eq!(result.is_ok(), expected, "{origin} at {listen}");
        }
    }

    #[test]
    fn where_to_listen() {
        for (text, expected) in [
            ("8000", "127.0.0.1:8000"),
            ("localhost:0", "127.0.0.1:0"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(listen_address(text).unwrap().to_string(), expected);
        }
        for wrong in ["", "evil.example.com:80", "127.0.0.1", "70000"] {
            assert!(listen_address(wrong).is_err(), "{wrong}");
        }
    }
}
