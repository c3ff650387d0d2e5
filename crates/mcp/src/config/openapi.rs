//! The configuration of an HTTP API with an OpenAPI document, and the parser of its fields.

use std::fmt;
use std::path::{Path, PathBuf};

#[cfg(feature = "http")]
use serde_json::{Map, Value};

use super::origin::without_query;
#[cfg(feature = "http")]
use super::{ServerTransport, server_reader::ServerReader};

/// The document of an HTTP API, and the address and credentials for its calls.
#[derive(Clone, Default)]
pub struct OpenApiConfig {
    /// The path or the address of the document.
    pub document: String,
    /// The address of the API. Without it, the document names the address.
    pub base_url: Option<String>,
    /// The headers of every request.
    pub headers: Vec<(String, String)>,
}

impl OpenApiConfig {
    /// Returns true if the document is at an address.
    pub(crate) fn is_remote(&self) -> bool {
        self.document.starts_with("https://") || self.document.starts_with("http://")
    }

    /// Returns true if the document is at a path from the folder of the file that names it.
    pub fn is_relative(&self) -> bool {
        !self.is_remote() && Path::new(&self.document).is_relative()
    }

    /// Makes a relative path of the document one from the folder of `file`, which names it. The working folder must not
    /// decide which document gets the credentials of the entry.
    pub(super) fn resolve_from(&mut self, file: &str) {
        let folder = Path::new(file).parent();
        let is_path = !self.is_remote() && !self.document.starts_with("${");
        if let Some(folder) = folder.filter(|_| is_path) {
            // Without the `.` of `./api.yaml`.
            let path: PathBuf = folder.join(&self.document).components().collect();
            self.document = path.to_string_lossy().into_owned();
        }
    }
}

impl fmt::Debug for OpenApiConfig {
    /// Omits header values and the queries of addresses, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("OpenApiConfig")
            .field("document", &without_query(&self.document))
            .field("base_url", &self.base_url.as_deref().map(without_query))
            .field("headers", &headers)
            .finish()
    }
}

#[cfg(feature = "http")]
impl ServerReader<'_> {
    pub(super) fn read_openapi(&mut self, fields: Map<String, Value>) {
        let mut api = OpenApiConfig::default();
        for (field, value) in fields {
            match field.as_str() {
                "openapi" => api.document = self.read_document(&value),
                "baseUrl" => api.base_url = Some(self.read_url("/baseUrl", &value)),
                "headers" => api.headers = self.read_headers(&value),
                _ => self.unknown.push(field),
            }
        }
        // No message of MCP leaves this process.
        if self.config.protocol.take().is_some() {
            self.unknown.push("protocol".to_owned());
        }
        if self.problems.is_empty() && api.document.is_empty() {
            self.problem(
                "",
                "it has no `openapi`",
                "write the path or the address of the OpenAPI document",
            );
        }
        self.config.reach = ServerTransport::OpenApi(api);
    }

    /// Reads the path or the address of the document.
    fn read_document(&mut self, value: &Value) -> String {
        let is_address = value
            .as_str()
            .is_some_and(|text| text.trim().contains("://"));
        if is_address {
            self.read_url("/openapi", value)
        } else {
            self.read_text("/openapi", value).trim().to_owned()
        }
    }
}
