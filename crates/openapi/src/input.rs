//! The arguments of a tool: the parameters of its operation, and the fields of the body.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::api::ApiOptions;
use super::body::{Encoding, body_fields, body_type};
use super::document::SpecVersion;
use super::name::{distinct_name, valid_name};
use super::parameter::{Location, RequestParameter};
use super::reference;
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

/// The place of an operation in a document.
pub(crate) struct OperationPlace<'d> {
    pub(crate) document: &'d Value,
    pub(crate) version: SpecVersion,
    pub(crate) method: &'d str,
    pub(crate) path: &'d str,
    pub(crate) item: &'d Value,
    pub(crate) operation: &'d Value,
}

/// An argument of the tool, and its place in a request.
#[derive(Clone, Debug)]
pub(crate) struct ToolArgument {
    pub(crate) name: String,
    pub(crate) target: Target,
}

#[derive(Clone, Debug)]
pub(crate) enum Target {
    Parameter(RequestParameter),
    /// The field of the body with this name.
    Field(String),
    Body,
}

#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) content_type: String,
    pub(crate) encoding: Encoding,
    pub(crate) styles: Vec<RequestParameter>,
    pub(crate) is_required: bool,
}

/// Collects the arguments of a tool, with their schemas.
pub(crate) struct InputReader<'d> {
    schemas: SchemaReader<'d>,
    arguments: Vec<ToolArgument>,
    properties: Map<String, Value>,
    required: Vec<String>,
    names: HashSet<String>,
}

impl<'d> InputReader<'d> {
    pub(crate) fn new(place: &OperationPlace<'d>) -> Self {
        Self {
            schemas: SchemaReader::new(place.document, place.version, Direction::Input),
            arguments: Vec::new(),
            properties: Map::new(),
            required: Vec::new(),
            names: HashSet::new(),
        }
    }

    pub(crate) fn read_parameters(
        &mut self,
        place: &OperationPlace<'d>,
        options: &ApiOptions,
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
            Target::Parameter(RequestParameter::read(name, location, object)),
        );
        Ok(())
    }

    pub(crate) fn read_body(
        &mut self,
        document: &'d Value,
        body: &'d Value,
    ) -> Result<Body, String> {
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
            styles: chosen.styles,
            is_required,
        })
    }

    fn add(&mut self, name: String, schema: Value, target: Target) {
        self.properties.insert(name.clone(), schema);
        self.arguments.push(ToolArgument { name, target });
    }

    /// Returns the arguments, and the schema of all of them.
    pub(crate) fn finish(mut self) -> Result<(Vec<ToolArgument>, Value), String> {
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
