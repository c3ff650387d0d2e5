//! The whole API.

use std::collections::HashSet;

use serde_json::Value;

use super::document::{DocumentError, SpecVersion, read_document};
use super::input::OperationPlace;
use super::operation::Operation;
use super::reference;

/// The methods of operations, in the order of the tools of one path.
const METHODS: [&str; 8] = [
    "get", "head", "options", "trace", "post", "put", "patch", "delete",
];

/// The settings of an entry that change the tools.
#[derive(Clone, Debug, Default)]
pub struct ApiOptions {
    /// The names of the headers that every request has. They are no parameters of the tools.
    pub headers: Vec<String>,
}

impl ApiOptions {
    pub(crate) fn has_header(&self, name: &str) -> bool {
        self.headers
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// An API, as its document describes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Api {
    /// The title.
    pub title: String,
    /// The version of the API.
    pub version: String,
    /// The description, if there is one.
    pub description: Option<String>,
    /// The address of the first server, which may be relative to that of the document.
    pub server: Option<String>,
    /// The operations, in the order of the document.
    pub operations: Vec<Operation>,
    /// The operations that cannot be called.
    pub left_out: Vec<LeftOut>,
}

/// An operation that cannot be called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The operation, as its method and path.
    pub operation: String,
    /// The reason, as one clause.
    pub reason: String,
}

impl Api {
    /// Reads a document in JSON or YAML, of OpenAPI 3.0 or later.
    ///
    /// # Errors
    ///
    /// Fails if the text is not such a document. An operation that cannot be called is not an error, see [`Api::left_out`].
    pub fn read(text: &str, options: &ApiOptions) -> Result<Self, DocumentError> {
        let (document, version) = read_document(text)?;
        let info = |field: &str| match document.get("info").and_then(|info| info.get(field)) {
            Some(Value::String(text)) => text.trim().to_owned(),
            Some(value @ Value::Number(_)) => value.to_string(),
            _ => String::new(),
        };
        let mut api = Self {
            title: info("title"),
            version: info("version"),
            description: Some(info("description")).filter(|text| !text.is_empty()),
            server: server_of(&document),
            operations: Vec::new(),
            left_out: Vec::new(),
        };
        api.read_paths(&document, version, options);
        Ok(api)
    }

    fn read_paths(&mut self, document: &Value, version: SpecVersion, options: &ApiOptions) {
        let mut names = HashSet::new();
        let paths = document.get("paths").and_then(Value::as_object);
        for (path, item) in paths.into_iter().flatten() {
            // Extensions stand beside the paths.
            if !path.starts_with('/') {
                continue;
            }
            let mut leave_out = |method: &str, reason: String| {
                self.left_out.push(LeftOut {
                    operation: format!("{} {path}", method.to_ascii_uppercase()),
                    reason,
                });
            };
            let item = match reference::resolve(document, item) {
                Ok(item) => item,
                Err(reason) => {
                    leave_out("*", reason);
                    continue;
                }
            };
            for method in METHODS {
                let Some(operation) = item.get(method) else {
                    continue;
                };
                let place = OperationPlace {
                    document,
                    version,
                    method,
                    path,
                    item,
                    operation,
                };
                let problem = self_contained(document, item, operation, options);
                let read = match problem {
                    Some(reason) => Err(reason),
                    None => Operation::read(&place, options, &mut names),
                };
                match read {
                    Ok(operation) => self.operations.push(operation),
                    Err(reason) => leave_out(method, reason),
                }
            }
        }
    }
}

/// Returns the reason, as one clause, why an operation needs more than the address and the headers of the entry.
fn self_contained(
    document: &Value,
    item: &Value,
    operation: &Value,
    options: &ApiOptions,
) -> Option<String> {
    let own = server_of(operation).or_else(|| server_of(item));
    if let Some(own) = own
        && Some(&own) != server_of(document).as_ref()
    {
        return Some(format!("it is at another address, `{own}`"));
    }
    let required = operation
        .get("security")
        .or_else(|| document.get("security"));
    let alternatives = required.and_then(Value::as_array)?;
    let schemes = document.pointer("/components/securitySchemes");
    let needs_cookie = |alternative: &Value| {
        let names = alternative.as_object().into_iter().flatten();
        names.into_iter().any(|(name, _)| {
            let scheme = schemes.and_then(|schemes| schemes.get(name));
            let scheme = scheme.and_then(|scheme| reference::resolve(document, scheme).ok());
            let text = |field: &str| scheme?.get(field)?.as_str();
            text("type") == Some("apiKey") && text("in") == Some("cookie")
        })
    };
    let is_impossible = !alternatives.is_empty()
        && !options.has_header("cookie")
        && alternatives.iter().all(needs_cookie);
    is_impossible.then(|| "it needs a cookie, and `headers` has no `Cookie`".to_owned())
}

/// Returns the address of the first server in `servers`, with the defaults of its variables.
fn server_of(holder: &Value) -> Option<String> {
    let server = holder.get("servers")?.as_array()?.first()?;
    let mut url = server.get("url")?.as_str()?.trim().to_owned();
    let variables = server.get("variables").and_then(Value::as_object);
    for (name, variable) in variables.into_iter().flatten() {
        if let Some(default) = variable.get("default") {
            let default = super::parameter::text_of(default);
            url = url.replace(&format!("{{{name}}}"), &default);
        }
    }
    Some(url)
}
