//! HTTP APIs with an OpenAPI document as servers within this process: messages of MCP on one side, HTTP requests on the other.
//!
//! Design: [HTTP APIs are servers within the process](https://github.com/planwright/planwright/blob/main/docs/design/transports.md#http-apis-are-servers-within-the-process).

mod api_client;
mod document;
mod transport;

pub(crate) use transport::OpenApiTransport;
