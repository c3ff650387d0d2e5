//! Operations as tools, and the requests of their calls.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::api::ReadOptions;
use super::body::{Encoding, body_fields, body_type, write_body};
use super::document::SpecVersion;
use super::name::{distinct_name, valid_name};
use super::parameter::{Location, Parameter};
use super::reference;
use super::response::{OutputSchema, output_schema};
use super::schema::{Direction, SchemaReader};

/// Headers that belong to the connection and to the entry of the server, and not to the arguments of a call.
const OWN_HEADERS: [&str; 9] = [
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "host",
    "te",
    "transfer-encoding",
    "upgrade",
];

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
    arguments: Vec<Argument>,
    body: Option<Body>,
}

/// An argument of the tool, and its place in a request.
#[derive(Clone, Debug)]
struct Argument {
    name: String,
    target: Target,
}

#[derive(Clone, Debug)]
enum Target {
    Parameter(Parameter),
    /// The field of the body with this name.
    Field(String),
    Body,
}

#[derive(Clone, Debug)]
struct Body {
    content_type: String,
    encoding: Encoding,
    is_required: bool,
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
pub struct ArgumentError(String);

/// The place of an operation in a document.
pub(crate) struct OperationPlace<'d> {
    pub(crate) document: &'d Value,
    pub(crate) version: SpecVersion,
    pub(crate) method: &'d str,
    pub(crate) path: &'d str,
    pub(crate) item: &'d Value,
    pub(crate) operation: &'d Value,
}

impl Operation {
    /// Reads an operation.
    ///
    /// # Errors
    ///
    /// The reason, as one clause, why it cannot be called.
    pub(crate) fn read(
        place: &OperationPlace<'_>,
        options: &ReadOptions,
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
    pub fn request(&self, arguments: &Map<String, Value>) -> Result<HttpRequest, ArgumentError> {
        let is_known = |name: &str| self.arguments.iter().any(|known| known.name == name);
        if let Some(name) = arguments.keys().find(|name| !is_known(name)) {
            return Err(ArgumentError(format!("there is no parameter `{name}`")));
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
        for Argument { name, target } in &self.arguments {
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
                            return Err(ArgumentError(format!("the parameter `{name}` is empty")));
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
                            return Err(ArgumentError(format!(
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
                request.body = Some(write_body(body.encoding, &value));
            }
        }
        Ok(request)
    }

    /// Returns the path with its parameters filled in. No argument can lead to another operation: a segment that is `..` would.
    fn filled_path(&self, texts: &[(String, String)]) -> Result<String, ArgumentError> {
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
                    ArgumentError(format!("the parameter `{name}` is missing"))
                })?;
                filled.push_str(text);
                rest = &rest[end..];
            }
            filled.push_str(rest);
            if filled != segment && matches!(&*filled, "." | "..") {
                return Err(ArgumentError(format!(
                    "`{filled}` cannot be a part of the path `{}`",
                    self.path
                )));
            }
            segments.push(filled);
        }
        Ok(segments.join("/"))
    }
}

fn header_text(name: &str, text: String) -> Result<String, ArgumentError> {
    if text
        .chars()
        .any(|character| character.is_control() && character != '\t')
    {
        return Err(ArgumentError(format!(
            "the parameter `{name}` has characters that a header cannot have"
        )));
    }
    Ok(text)
}

/// Collects the arguments of a tool, with their schemas.
struct InputReader<'d> {
    schemas: SchemaReader<'d>,
    arguments: Vec<Argument>,
    properties: Map<String, Value>,
    required: Vec<String>,
    names: HashSet<String>,
}

impl<'d> InputReader<'d> {
    fn new(place: &OperationPlace<'d>) -> Self {
        Self {
            schemas: SchemaReader::new(place.document, place.version, Direction::Input),
            arguments: Vec::new(),
            properties: Map::new(),
            required: Vec::new(),
            names: HashSet::new(),
        }
    }

    fn read_parameters(
        &mut self,
        place: &OperationPlace<'d>,
        options: &ReadOptions,
    ) -> Result<(), String> {
        let mut parameters: Vec<(&'d str, Location, &'d Value)> = Vec::new();
        for holder in [place.item, place.operation] {
            let listed = holder.get("parameters").and_then(Value::as_array);
            for parameter in listed.into_iter().flatten() {
                let parameter = reference::resolve(place.document, parameter)?;
                let text = |field: &str| parameter.get(field).and_then(Value::as_str);
                let (Some(name), Some(location)) = (text("name"), text("in")) else {
                    return Err("one of its parameters has no name or no place".to_owned());
                };
                let Some(location) = Location::named(location) else {
                    return Err(format!(
                        "its parameter `{name}` is in the unknown place `{location}`"
                    ));
                };
                // The operation replaces the parameters of its path.
                let known = parameters
                    .iter()
                    .position(|(known, place, _)| *known == name && *place == location);
                match known {
                    Some(index) => parameters[index].2 = parameter,
                    None => parameters.push((name, location, parameter)),
                }
            }
        }
        for segment in place.path.split('{').skip(1) {
            let name = segment.split('}').next().unwrap_or_default();
            let is_declared = parameters
                .iter()
                .any(|(known, location, _)| *known == name && *location == Location::Path);
            if !is_declared {
                return Err(format!(
                    "its path has the parameter `{name}`, which it does not declare"
                ));
            }
        }
        for (name, location, object) in parameters {
            let is_own = match location {
                Location::Header => {
                    OWN_HEADERS.contains(&&*name.to_ascii_lowercase()) || options.has_header(name)
                }
                Location::Cookie => options.has_header("cookie"),
                Location::Path | Location::Query => false,
            };
            if !is_own {
                self.read_parameter(name, location, object)?;
            }
        }
        Ok(())
    }

    fn read_parameter(
        &mut self,
        name: &'d str,
        location: Location,
        object: &'d Value,
    ) -> Result<(), String> {
        let content = object.get("content").and_then(Value::as_object);
        let media = content.and_then(|content| content.values().next());
        let schema = media.unwrap_or(object).get("schema");
        let mut schema = match schema {
            Some(schema) => self.schemas.read(schema)?,
            None => json!({ "type": "string" }),
        };
        describe(&mut schema, object);
        let mut argument = valid_name(name);
        if self.names.contains(&argument) {
            argument = valid_name(&format!("{name}_{}", location.name()));
        }
        let argument = distinct_name(argument, &mut self.names);
        let is_required = object.get("required") == Some(&Value::Bool(true));
        // A path without one of its parameters is another path.
        if is_required || location == Location::Path {
            self.required.push(argument.clone());
        }
        self.add(
            argument,
            schema,
            Target::Parameter(Parameter::read(name, location, object)),
        );
        Ok(())
    }

    fn read_body(&mut self, document: &'d Value, body: &'d Value) -> Result<Body, String> {
        let body = reference::resolve(document, body)?;
        let chosen = body_type(body)?;
        let is_required = body.get("required") == Some(&Value::Bool(true));
        let fields = chosen.schema.filter(|_| chosen.encoding != Encoding::Text);
        let fields = fields.and_then(|schema| body_fields(document, schema, &self.schemas));
        let fields = fields.filter(|found| {
            let mut names = self.names.clone();
            let mut found = found.fields.iter();
            found.all(|(name, _)| names.insert(valid_name(name)))
        });
        match fields {
            Some(found) => {
                for (name, schema) in found.fields {
                    let argument = distinct_name(valid_name(name), &mut self.names);
                    let schema = self.schemas.read(schema)?;
                    // Without a body, the call has no fields at all.
                    if is_required && found.required.contains(&name) {
                        self.required.push(argument.clone());
                    }
                    self.add(argument, schema, Target::Field(name.to_owned()));
                }
            }
            None => {
                let mut schema = match chosen.schema {
                    Some(schema) => self.schemas.read(schema)?,
                    None => json!({}),
                };
                describe(&mut schema, body);
                let argument = distinct_name("body".to_owned(), &mut self.names);
                if is_required {
                    self.required.push(argument.clone());
                }
                self.add(argument, schema, Target::Body);
            }
        }
        Ok(Body {
            content_type: chosen.content_type,
            encoding: chosen.encoding,
            is_required,
        })
    }

    fn add(&mut self, name: String, schema: Value, target: Target) {
        self.properties.insert(name.clone(), schema);
        self.arguments.push(Argument { name, target });
    }

    /// Returns the arguments, and the schema of all of them.
    fn finish(mut self) -> Result<(Vec<Argument>, Value), String> {
        let definitions = self.schemas.definitions()?;
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("properties".to_owned(), Value::Object(self.properties));
        if !self.required.is_empty() {
            schema.insert("required".to_owned(), json!(self.required));
        }
        schema.insert("additionalProperties".to_owned(), json!(false));
        if !definitions.is_empty() {
            schema.insert("$defs".to_owned(), Value::Object(definitions));
        }
        Ok((self.arguments, Value::Object(schema)))
    }
}

/// Adds the description of a parameter or a body to its schema, whose own is about the type.
fn describe(schema: &mut Value, object: &Value) {
    if let (Value::Object(schema), Some(text)) = (
        schema,
        object
            .get("description")
            .and_then(Value::as_str)
            .map(str::trim),
    ) && !text.is_empty()
    {
        schema.insert("description".to_owned(), json!(text));
    }
}
