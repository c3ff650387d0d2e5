//! The parser of the fields of an HTTP API with an OpenAPI document.

use serde_json::{Map, Value};

use super::server::{OpenApiConfig, ServerTransport};
use super::server_reader::ServerReader;

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
