//! The form of a client's entries, and their conversion into entries of an `mcp.json` and back. Pure.

use planwright::core::{Object, Value};

/// The form of a client's entries. What a form does not mention has the meaning that it has in an `mcp.json`.
#[derive(Debug)]
pub(crate) struct EntryForm {
    /// The fields of the client that an `mcp.json` does not have in this form.
    pub(crate) fields: &'static [(&'static str, FieldUse)],
    /// The fields that each entry with a command has.
    pub(crate) program: &'static [(&'static str, Constant)],
    /// The fields that each entry with an address has.
    pub(crate) remote: &'static [(&'static str, Constant)],
    /// The field with the address of a server.
    pub(crate) url: &'static str,
    /// The field whose address is one of SSE, unless a `type` says otherwise.
    pub(crate) sse_url: Option<&'static str>,
    /// The types of entries that are parts of the client.
    pub(crate) inner_types: &'static [&'static str],
    /// True if the client does not expand variables, so that a `${` is a text.
    pub(crate) is_literal: bool,
    /// True if the client expands `$NAME`.
    pub(crate) has_dollar_variables: bool,
    /// The time that the client may wait for an answer of the gateway, for clients that wait a minute by default.
    pub(crate) gateway_timeout: Option<&'static str>,
}

/// The meaning of a client's field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldUse {
    /// The field of this name in an `mcp.json`.
    Renamed(&'static str),
    /// A number of seconds; the field has a duration.
    Seconds(&'static str),
    /// A number of milliseconds; the field has a duration.
    Milliseconds(&'static str),
    /// False if the server is disabled.
    Enabled,
    /// The names of variables that the client passes to the server.
    Variables,
    /// The name of the variable with a bearer token.
    BearerVariable,
    /// The names of variables with the values of headers.
    HeaderVariables,
    /// Rules about tools, which go into `planwright.toml`.
    Rules,
    /// The only tools that the client may call; all if it is empty.
    AllowedTools,
    /// An object whose fields are fields of the entry.
    Inner,
    /// The program that wrote the entry: `custom` is a person.
    Source,
    /// A text for the client's own display, which each of its entries has.
    Restated,
    /// A setting of the client without an equivalent, which is reported.
    Dropped,
}

/// A value that each entry of a client has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Constant {
    Text(&'static str),
    True,
    /// The name of the server.
    Name,
}

/// An entry of a client as an entry of an `mcp.json`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Converted {
    pub(crate) entry: Value,
    /// The client's fields without an equivalent.
    pub(crate) dropped: Vec<String>,
    /// The variables that the client passes to the server, so it has to pass them to the gateway.
    pub(crate) variables: Vec<String>,
}

impl EntryForm {
    /// The form of an `mcp.json`.
    pub(crate) const OURS: Self = Self {
        fields: &[],
        program: &[],
        remote: &[],
        url: "url",
        sse_url: None,
        inner_types: &[],
        is_literal: false,
        has_dollar_variables: false,
        gateway_timeout: None,
    };

    /// Returns true if the client has fields of its own.
    pub(crate) fn is_converted(&self) -> bool {
        !self.fields.is_empty()
    }

    /// Converts an entry of the client.
    ///
    /// # Errors
    ///
    /// The reason why the server has to stay.
    pub(crate) fn convert(&self, entry: &Value) -> Result<Converted, String> {
        let mut converted = Converted::default();
        let Some(fields) = entry.as_object() else {
            converted.entry = entry.clone();
            return Ok(converted);
        };
        let kind = entry.get("type").and_then(Value::as_text);
        if kind.is_some_and(|kind| self.inner_types.contains(&kind)) {
            return Err("it is a part of the client".to_owned());
        }
        if self.is_literal
            && let Some(variable) = variable(entry)
        {
            return Err(format!(
                "its `{variable}` is a text, but would be a variable behind the gateway"
            ));
        }
        let mut target = Object::default();
        self.convert_fields(fields, &mut target, &mut converted)?;
        if kind.is_none() && self.has_sse_address(entry) {
            target.insert("type".into(), Value::from("sse"));
        }
        converted.entry = Value::from(target);
        Ok(converted)
    }

    fn convert_fields(
        &self,
        fields: &Object,
        target: &mut Object,
        converted: &mut Converted,
    ) -> Result<(), String> {
        for (name, value) in fields {
            let unsupported = || format!("its field `{name}` is not supported");
            let Some(field_use) = self.field_use(name) else {
                let value = if self.has_dollar_variables {
                    with_braces(value)
                } else {
                    value.clone()
                };
                flatten_command(name, value, target);
                continue;
            };
            match field_use {
                FieldUse::Renamed(ours) if is_empty(value) && ours != "command" => {}
                FieldUse::Renamed(ours) => insert(target, ours, with_variables(self, value)),
                FieldUse::Seconds(_) | FieldUse::Milliseconds(_) if *value == Value::Null => {}
                FieldUse::Seconds(ours) => {
                    let seconds = number(value).ok_or_else(unsupported)?;
                    insert(target, ours, Value::text(format!("{seconds}s")));
                }
                FieldUse::Milliseconds(ours) => {
                    let milliseconds = number(value).ok_or_else(unsupported)?;
                    insert(target, ours, Value::text(format!("{milliseconds}ms")));
                }
                FieldUse::Enabled if value.as_bool() == Some(false) => {
                    return Err("it is disabled".to_owned());
                }
                FieldUse::Variables => {
                    let names = value.as_list().unwrap_or_default().iter();
                    converted.variables.extend(
                        names
                            .map(Value::as_text)
                            .map(|name| name.map(str::to_owned).ok_or_else(unsupported))
                            .collect::<Result<Vec<_>, _>>()?,
                    );
                }
                FieldUse::BearerVariable => {
                    let variable = value.as_text().ok_or_else(unsupported)?;
                    converted.variables.push(variable.to_owned());
                    let header = ("Authorization", format!("Bearer ${{{variable}}}"));
                    add_headers(target, [header]);
                }
                FieldUse::HeaderVariables => {
                    for (header, variable) in value.as_object().into_iter().flatten() {
                        let variable = variable.as_text().ok_or_else(unsupported)?;
                        converted.variables.push(variable.to_owned());
                        add_headers(target, [(&**header, format!("${{{variable}}}"))]);
                    }
                }
                FieldUse::Inner => {
                    let inner = value.as_object().ok_or_else(unsupported)?;
                    self.convert_fields(inner, target, converted)?;
                }
                FieldUse::Source if value.as_text() != Some("custom") => {
                    return Err("an extension of the client starts it".to_owned());
                }
                FieldUse::AllowedTools if !is_empty(value) => return Err(unsupported()),
                FieldUse::Dropped if !is_empty(value) => converted.dropped.push(name.to_string()),
                FieldUse::Enabled
                | FieldUse::Source
                | FieldUse::AllowedTools
                | FieldUse::Rules
                | FieldUse::Restated
                | FieldUse::Dropped => {}
            }
        }
        Ok(())
    }

    /// Returns an entry of an `mcp.json` in the form of the client.
    pub(crate) fn restore(&self, name: &str, entry: &Value) -> Value {
        let is_remote = ["url", "httpUrl", "serverUrl"]
            .iter()
            .any(|field| entry.get(field).is_some());
        let constants = if is_remote { self.remote } else { self.program };
        let constants = constants.iter().map(|(field, constant)| {
            let value = match constant {
                Constant::Text(text) => Value::from(*text),
                Constant::True => Value::from(true),
                Constant::Name => Value::from(name),
            };
            (*field, value)
        });
        let mut target: Object = constants
            .map(|(field, value)| (field.into(), value))
            .collect();
        for (field, value) in entry.as_object().into_iter().flatten() {
            // The constants have the client's word for it, if it has one.
            if &**field == "type" && self.is_converted() {
                continue;
            }
            let ours = match &**field {
                "httpUrl" | "serverUrl" => "url",
                field => field,
            };
            let theirs = self.fields.iter().find_map(|(theirs, field_use)| {
                let value = match field_use {
                    FieldUse::Renamed(name) if *name == ours => Some(value.clone()),
                    FieldUse::Seconds(name) if *name == ours => seconds(value).map(Value::from),
                    FieldUse::Milliseconds(name) if *name == ours => {
                        seconds(value).map(|seconds| Value::from(seconds * 1000.0))
                    }
                    FieldUse::Inner if ours == "headers" => {
                        Some(Value::object([("headers", value.clone())]))
                    }
                    _ => None,
                };
                Some((*theirs, whole(value?)))
            });
            let (field, value) = match theirs {
                Some(theirs) => theirs,
                None if ours == "url" => (self.url, value.clone()),
                None => (ours, value.clone()),
            };
            target.insert(field.into(), value);
        }
        target.into()
    }

    /// The field with the variables that the client passes to a server.
    pub(crate) fn variables_field(&self) -> Option<&'static str> {
        let mut fields = self.fields.iter();
        fields
            .find(|(_, field_use)| *field_use == FieldUse::Variables)
            .map(|(name, _)| *name)
    }

    fn field_use(&self, name: &str) -> Option<FieldUse> {
        let mut fields = self.fields.iter();
        fields
            .find(|(field, _)| *field == name)
            .map(|(_, field_use)| *field_use)
    }

    fn has_sse_address(&self, entry: &Value) -> bool {
        if !self.is_converted() {
            return false;
        }
        let text = |field: &str| entry.get(field).and_then(Value::as_text);
        // The path of SSE endpoints, by convention.
        let is_sse_path = [self.url, "uri"].iter().any(|field| {
            text(field).is_some_and(|url| url.trim_end_matches('/').ends_with("/sse"))
        });
        is_sse_path || self.sse_url.is_some_and(|field| text(field).is_some())
    }
}

/// Inserts a field. A command as an object, as Zed once wrote it, is taken apart.
fn flatten_command(name: &str, value: Value, target: &mut Object) {
    let inner = value.as_object().filter(|_| name == "command");
    let Some(inner) = inner else {
        target.insert(name.into(), value);
        return;
    };
    for (field, value) in inner {
        let field = match &**field {
            "path" => "command",
            field => field,
        };
        if !is_empty(value) {
            target.insert(field.into(), value.clone());
        }
    }
}

/// Inserts a field. Headers are added to those that are there.
fn insert(target: &mut Object, field: &str, value: Value) {
    let present = target.get(field).and_then(Value::as_object);
    let value = match (present, value.as_object()) {
        (Some(present), Some(more)) if field == "headers" => {
            let mut all = present.clone();
            all.extend(
                more.iter()
                    .map(|(name, value)| (name.clone(), value.clone())),
            );
            all.into()
        }
        _ => value,
    };
    target.insert(field.into(), value);
}

fn add_headers<'a>(target: &mut Object, headers: impl IntoIterator<Item = (&'a str, String)>) {
    let headers = headers.into_iter();
    let headers = Value::object(headers.map(|(name, value)| (name, Value::text(value))));
    insert(target, "headers", headers);
}

fn with_variables(form: &EntryForm, value: &Value) -> Value {
    if form.has_dollar_variables {
        with_braces(value)
    } else {
        value.clone()
    }
}

/// Writes `$NAME` as `${NAME:-$NAME}` in all texts.
fn with_braces(value: &Value) -> Value {
    match value {
        Value::Text(text) => Value::text(braces(text)),
        Value::List(items) => Value::list(items.iter().map(with_braces).collect::<Vec<_>>()),
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields: Object = fields
                .map(|(name, value)| (name.clone(), with_braces(value)))
                .collect();
            fields.into()
        }
        other => other.clone(),
    }
}

fn braces(text: &str) -> String {
    let mut parts = text.split('$');
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_part_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = part
            .find(|letter: char| !is_part_of_name(letter))
            .unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        written.push('$');
        if name.is_empty() || name.starts_with(|letter: char| letter.is_ascii_digit()) {
            written += part;
        } else {
            // Gemini CLI leaves the name of a variable that is not set as it is, as in a password with a `$`.
            for part in ["{", name, ":-$", name, "}", rest] {
                written += part;
            }
        }
    }
    written
}

/// The first text of `value` that looks like a variable of an `mcp.json`.
fn variable(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => {
            let from = text.find("${")?;
            let end = text[from..]
                .find('}')
                .map_or(text.len(), |end| from + end + 1);
            Some(text[from..end].to_owned())
        }
        Value::List(items) => items.iter().find_map(variable),
        Value::Object(fields) => fields.values().find_map(variable),
        _ => None,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is_set) => !is_set,
        Value::Text(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(_) => false,
    }
}

fn number(value: &Value) -> Option<f64> {
    let number = value.to_json().parse::<f64>().ok()?;
    (number.is_finite() && number > 0.0).then_some(number)
}

/// A duration of an `mcp.json` in seconds: a text with its unit, or a number of milliseconds.
fn seconds(value: &Value) -> Option<f64> {
    let Some(text) = value.as_text() else {
        return number(value).map(|milliseconds| milliseconds / 1000.0);
    };
    let text = text.trim();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let amount: f64 = digits.trim_end().parse().ok()?;
    match &text[digits.len()..] {
        "ms" => Some(amount / 1000.0),
        "s" => Some(amount),
        "m" | "min" => Some(amount * 60.0),
        "h" => Some(amount * 3600.0),
        _ => None,
    }
}

/// A number without a fraction as an integer, which some clients require.
fn whole(value: Value) -> Value {
    let whole = number(&value).filter(|number| number.fract() == 0.0);
    whole.map_or(value, |number| {
        Value::from_json(&format!("{number:.0}")).unwrap_or_default()
    })
}
