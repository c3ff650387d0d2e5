//! OpenAPI 3 documents as tools. [`Api::read`] reads a document in JSON or YAML; each [`Operation`] has the definition of a
//! tool, turns arguments into an [`HttpRequest`], and an [`HttpResponse`] into the result of the call.
//!
//! Nothing here does input or output: the caller fetches the document and sends the requests.
#![warn(missing_docs)]

/// The text of a document, in JSON or YAML.
mod document;

/// A reader of YAML.
mod yaml;

/// References within a document.
mod reference;

/// Schemas of a document as JSON Schema 2020-12.
mod schema;

/// Names of tools and arguments.
mod name;

/// Parameters, and their texts in a request.
mod parameter;

/// Bodies of requests.
mod body;

/// Schemas of responses.
mod response;

/// The arguments of a tool.
mod input;

/// Operations as tools, and the requests of their calls.
mod operation;

/// The whole API.
mod api;

/// The results of calls.
mod result;

pub use api::{Api, ApiOptions, LeftOut};
pub use document::DocumentError;
pub use operation::{HttpRequest, InvalidArgument, Operation};
pub use result::{HttpResponse, call_result};
