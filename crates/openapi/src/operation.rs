//! Operations as tools, and the requests of their calls.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::api::ApiOptions;
use super::body::write_body;
use super::input::{Body, InputReader, OperationPlace, Target, ToolArgument};
use super::name::{distinct_name, valid_name};
use super::parameter::Location;
use super::response::{OutputSchema, output_schema};

/// An operation of an API as a tool.
#[derive(Clone, Debug)]
pub struct Operation {
    name: String,
    title: Option<String>,
    description: String,
    method: String,
    /// The path with its parameters in braces.
    path: String,
    input: Value,
    output: Option<OutputSchema>,
    arguments: Vec<ToolArgument>,
    body: Option<Body>,
}

/// A request, whose path is relative to the address of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// The method, in capitals.
    pub method: String,
    /// The encoded path, which begins with `/`.
    pub path: String,
    /// The encoded query without `?`; empty if there is none.
    pub query: String,
    /// The headers besides those of every request.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
}

/// The reason, as one clause, why arguments cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidArgument(String);

impl Operation {
    /// Reads an operation.
    ///
    /// # Errors
    ///
    /// The reason, as one clause, why it cannot be called.
    pub(crate) fn read(
        place: &OperationPlace<'_>,
        options: &ApiOptions,
        names: &mut HashSet<String>,
    ) -> Result<Self, String> {
        let operation = place.operation;
        let text = |field: &str| {
            let text = operation.get(field).and_then(Value::as_str).map(str::trim);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let method = place.method.to_ascii_uppercase();
        let mut inputs = InputReader::new(place);
        inputs.read_parameters(place, options)?;
        let body = match operation.get("requestBody") {
            Some(body) => Some(inputs.read_body(place.document, body)?),
            None => None,
        };
        let written = match text("operationId") {
            Some(id) => valid_name(&id),
            None => valid_name(&format!("{}{}", place.method, place.path)),
        };
        let (arguments, input) = inputs.finish()?;
        let title = text("summary");
        let description = [title.clone(), text("description")];
        let mut description: Vec<String> = description.into_iter().flatten().collect();
        // Many documents repeat one text in both fields.
        description.dedup();
        if description.is_empty() {
            description.push(format!("{method} {}", place.path));
        }
        Ok(Self {
            name: distinct_name(written, names),
            title,
            description: description.join("\n\n"),
            method,
            path: place.path.to_owned(),
            input,
            output: output_schema(place.document, place.version, operation),
            arguments,
            body,
        })
    }

    /// Returns the name of the tool.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the schema of the structured content, if the results have any.
    pub(crate) fn output(&self) -> Option<&OutputSchema> {
        self.output.as_ref()
    }

    /// Returns the definition of the tool, as an entry of `tools/list`.
    pub fn tool(&self) -> Value {
        let is_read_only = matches!(&*self.method, "GET" | "HEAD" | "OPTIONS" | "TRACE");
        let mut annotations = Map::new();
        annotations.insert("readOnlyHint".to_owned(), is_read_only.into());
        if self.method == "DELETE" {
            annotations.insert("destructiveHint".to_owned(), true.into());
        }
        if is_read_only || matches!(&*self.method, "PUT" | "DELETE") {
            annotations.insert("idempotentHint".to_owned(), true.into());
        }
        annotations.insert("openWorldHint".to_owned(), true.into());
        let mut tool = Map::new();
        tool.insert("name".to_owned(), json!(self.name));
        if let Some(title) = &self.title {
            tool.insert("title".to_owned(), json!(title));
        }
        tool.insert("description".to_owned(), json!(self.description));
        tool.insert("inputSchema".to_owned(), self.input.clone());
        if let Some(output) = &self.output {
            tool.insert("outputSchema".to_owned(), output.schema.clone());
        }
        tool.insert("annotations".to_owned(), Value::Object(annotations));
        Value::Object(tool)
    }

    /// Returns the request of a call.
    ///
    /// # Errors
    ///
    /// Fails if an argument is unknown, or cannot be sent where it belongs.
    pub fn request(&self, arguments: &Map<String, Value>) -> Result<HttpRequest, InvalidArgument> {
        let is_known = |name: &str| self.arguments.iter().any(|known| known.name == name);
        if let Some(name) = arguments.keys().find(|name| !is_known(name)) {
            return Err(InvalidArgument(format!("there is no parameter `{name}`")));
        }
        let mut request = HttpRequest {
            method: self.method.clone(),
            path: self.path.clone(),
            query: String::new(),
            headers: Vec::new(),
            body: None,
        };
        let mut query = Vec::new();
        let mut cookies = Vec::new();
        let mut fields = Map::new();
        let mut whole_body = None;
        let mut path_texts = Vec::new();
        for ToolArgument { name, target } in &self.arguments {
            let Some(value) = arguments.get(name) else {
                continue;
            };
            match target {
                Target::Field(field) => {
                    fields.insert(field.clone(), value.clone());
                }
                Target::Body => whole_body = Some(value.clone()),
                Target::Parameter(parameter) => match parameter.location {
                    Location::Path => {
                        let text = parameter.path_text(value);
                        if text.is_empty() || value.is_null() {
                            return Err(InvalidArgument(format!(
                                "the parameter `{name}` is empty"
                            )));
                        }
                        path_texts.push((format!("{{{}}}", parameter.name), text));
                    }
                    Location::Query => parameter.add_query(value, &mut query),
                    Location::Header | Location::Cookie if value.is_null() => {}
                    Location::Header => {
                        let text = header_text(name, parameter.plain_text(value))?;
                        request.headers.push((parameter.name.clone(), text));
                    }
                    Location::Cookie => {
                        let text = header_text(name, parameter.plain_text(value))?;
                        if text.contains([';', ',', '"', '\\', ' ']) {
                            return Err(InvalidArgument(format!(
                                "the parameter `{name}` has characters that a cookie cannot have"
                            )));
                        }
                        cookies.push(format!("{}={text}", parameter.name));
                    }
                },
            }
        }
        request.path = self.filled_path(&path_texts)?;
        request.query = query.join("&");
        if !cookies.is_empty() {
            request
                .headers
                .push(("Cookie".to_owned(), cookies.join("; ")));
        }
        if let Some(body) = &self.body {
            let has_fields = self
                .arguments
                .iter()
                .any(|argument| matches!(argument.target, Target::Field(_)));
            let value = match whole_body {
                Some(value) => Some(value),
                None if has_fields && (body.is_required || !fields.is_empty()) => {
                    Some(Value::Object(fields))
                }
                None => None,
            };
            if let Some(value) = value {
                let content_type = body.content_type.clone();
                request
                    .headers
                    .push(("Content-Type".to_owned(), content_type));
                request.body = Some(write_body(body.encoding, &body.styles, &value));
            }
        }
        Ok(request)
    }

    /// Returns the path with its parameters filled in. No argument can lead to another operation: a segment that is `..` would.
    fn filled_path(&self, texts: &[(String, String)]) -> Result<String, InvalidArgument> {
        let mut segments = Vec::new();
        for segment in self.path.split('/') {
            let mut filled = String::new();
            let mut rest = segment;
            // Texts are not searched for parameters again.
            while let Some(start) = rest.find('{') {
                let end = rest[start..].find('}').map(|end| start + end + 1);
                let Some(end) = end else { break };
                filled.push_str(&rest[..start]);
                let name = &rest[start..end];
                let text = texts.iter().find(|(known, _)| known == name);
                let (_, text) = text.ok_or_else(|| {
                    let name = name.trim_matches(['{', '}']);
                    InvalidArgument(format!("the parameter `{name}` is missing"))
                })?;
                filled.push_str(text);
                rest = &rest[end..];
            }
            filled.push_str(rest);
            if filled != segment && matches!(&*filled, "." | "..") {
                return Err(InvalidArgument(format!(
                    "`{filled}` cannot be a part of the path `{}`",
                    self.path
                )));
            }
            segments.push(filled);
        }
        Ok(segments.join("/"))
    }
}

fn header_text(name: &str, text: String) -> Result<String, InvalidArgument> {
    if text
        .chars()
        .any(|character| character.is_control() && character != '\t')
    {
        return Err(InvalidArgument(format!(
            "the parameter `{name}` has characters that a header cannot have"
        )));
    }
    Ok(text)
}
