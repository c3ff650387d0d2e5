//! Parses the fields of a remote server.

use http::{HeaderName, HeaderValue};
use reqwest::Url;
use serde_json::{Map, Value};

use super::server_reader::{ServerReader, URL_FIELDS, escape, is_secret_name};
use super::{Grant, HttpConfig, OauthConfig, ServerTransport};

/// The headers that the transport sets itself.
const RESERVED: [&str; 8] = [
    "accept",
    "content-type",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
];

impl ServerReader<'_> {
    pub(super) fn read_http(&mut self, fields: Map<String, Value>) {
        let mut http = HttpConfig::default();
        let mut has_address = false;
        for (field, value) in fields {
            match field.as_str() {
                name if URL_FIELDS.contains(&name) => {
                    has_address = true;
                    http.url = self.read_url(&format!("/{name}"), &value);
                }
                "headers" => http.headers = self.read_headers(&value),
                "oauth" => http.oauth = self.read_oauth(value),
                _ => self.unknown.push(field),
            }
        }
        if !has_address {
            self.problem("", "it has no `url`", "write the address of the server");
        }
        self.config.reach = ServerTransport::Http(http);
    }

    pub(super) fn read_url(&mut self, field: &str, value: &Value) -> String {
        let issues = self.problems.len();
        let text = self.read_text(field, value);
        // The text itself is invalid, and a second problem about it would not help.
        if self.problems.len() > issues {
            return text;
        }
        let problem = match Url::parse(text.trim()) {
            // An address with variables can be validated only after they are expanded.
            _ if self.has_variable(&text) => None,
            Ok(url) if !matches!(url.scheme(), "http" | "https") => {
                Some("must begin with `https://` or `http://`")
            }
            // Addresses appear in messages and logs, so they must not contain credentials.
            Ok(url) if !url.username().is_empty() || url.password().is_some() => {
                Some("must not contain a password")
            }
            Ok(_) => None,
            Err(_) => Some("is not an address"),
        };
        if let Some(problem) = problem {
            let name = field.trim_start_matches('/');
            self.problem(
                field,
                &format!("`{name}` {problem}"),
                "write it as `https://HOST/PATH`, and put keys into `headers`",
            );
        }
        text.trim().to_owned()
    }

    pub(super) fn read_headers(&mut self, value: &Value) -> Vec<(String, String)> {
        let Value::Object(headers) = value else {
            self.problem(
                "/headers",
                "`headers` must be an object of strings",
                r#"write `{"NAME": "value"}`"#,
            );
            return Vec::new();
        };
        let mut read = Vec::with_capacity(headers.len());
        for (name, value) in headers {
            let field = format!("/headers/{}", escape(name));
            let value = self.read_text(&field, value);
            if is_secret_name(name) || name.eq_ignore_ascii_case("cookie") {
                self.add_secret(&value);
                // Servers may quote the credential without its scheme, such as `Bearer`.
                self.add_secret(value.rsplit(' ').next().unwrap_or_default());
            }
            // The transport sets these headers for each message.
            if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
                self.problem(
                    &field,
                    &format!("the header `{name}` belongs to the protocol"),
                    "leave it out",
                );
            } else if name.parse::<HeaderName>().is_err() {
                self.problem(
                    &field,
                    &format!("`{name}` is not the name of a header"),
                    "use letters, digits and `-`",
                );
            } else if HeaderValue::from_str(&value).is_err() && !self.has_variable(&value) {
                self.problem(
                    &field,
                    &format!("the value of the header `{name}` has invalid characters"),
                    "leave out line breaks and control characters",
                );
            }
            read.push((name.clone(), value));
        }
        read
    }

    fn read_oauth(&mut self, value: Value) -> OauthConfig {
        let Value::Object(fields) = value else {
            self.problem(
                "/oauth",
                "`oauth` must be an object",
                r#"write `{"clientId": "…"}`"#,
            );
            return OauthConfig::default();
        };
        let mut oauth = OauthConfig::default();
        for (name, value) in fields {
            let field = format!("/oauth/{}", escape(&name));
            match name.as_str() {
                "clientId" => oauth.client_id = Some(self.read_text(&field, &value)),
                "clientSecret" => {
                    let secret = self.read_text(&field, &value);
                    // A secret that the file contains literally is redacted like one from a variable.
                    self.add_secret(&secret);
                    oauth.client_secret = Some(secret);
                }
                "clientMetadataUrl" => {
                    oauth.client_metadata_url = Some(self.read_text(&field, &value));
                }
                "scopes" => oauth.scopes = self.read_scopes(&field, &value),
                "callbackPort" => {
                    oauth.callback_port = value.as_u64().and_then(|port| u16::try_from(port).ok());
                    if oauth.callback_port.is_none() {
                        self.problem(
                            &field,
                            "`callbackPort` must be a port",
                            "write a number, or leave it out",
                        );
                    }
                }
                "grant" => match self.read_text(&field, &value).as_str() {
                    "authorization_code" => oauth.grant = Grant::AuthorizationCode,
                    "client_credentials" => oauth.grant = Grant::ClientCredentials,
                    other => self.problem(
                        &field,
                        &format!("unknown grant `{other}`"),
                        "write `authorization_code` or `client_credentials`",
                    ),
                },
                // Clients have additional fields, so an unknown field is only a warning.
                _ => self.unknown.push(format!("oauth.{name}")),
            }
        }
        if oauth.client_secret.is_some() && oauth.client_id.is_none() {
            self.problem(
                "/oauth",
                "`clientSecret` belongs to a `clientId`, which is missing",
                "write both",
            );
        } else if oauth.grant == Grant::ClientCredentials && oauth.client_secret.is_none() {
            self.problem(
                "/oauth",
                "the grant `client_credentials` needs credentials",
                "write `clientId` and `clientSecret`",
            );
        }
        oauth
    }

    /// Parses a list of texts, or one text separated by spaces as OAuth writes it.
    fn read_scopes(&mut self, field: &str, value: &Value) -> Vec<String> {
        match value {
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items
                    .map(|(index, item)| self.read_text(&format!("{field}/{index}"), item))
                    .collect()
            }
            value => {
                let text = self.read_text(field, value);
                text.split_whitespace().map(str::to_owned).collect()
            }
        }
    }
}
