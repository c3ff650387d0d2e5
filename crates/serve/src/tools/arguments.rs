//! Arguments that a model wrote, read leniently where their meaning is clear.

use std::sync::Arc;

use planwright_core::{Object, Value};

/// The arguments of a call of one of our tools.
#[derive(Clone, Debug)]
pub(crate) struct GatewayArguments<'a> {
    tool: &'static str,
    fields: Option<&'a Object>,
}

/// The reason why arguments cannot be used: one clause, and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadRequest(pub(crate) String);

impl<'a> GatewayArguments<'a> {
    /// Reads the arguments of `tool`, which has the parameters `names`.
    pub(crate) fn read(
        tool: &'static str,
        arguments: &'a Value,
        names: &[&str],
    ) -> Result<Self, BadRequest> {
        let fields = arguments.as_object();
        let mut keys = fields.into_iter().flat_map(Object::keys);
        match keys.find(|key| !names.contains(&&***key)) {
            // A plan that is not in its argument.
            Some(key) if &**key == "steps" && names.contains(&"plan") => Err(BadRequest(format!(
                "`{tool}` has no argument `steps`: write {{\"plan\": {{\"steps\": […]}}}}"
            ))),
            Some(key) => Err(BadRequest(format!(
                "`{tool}` has no argument `{key}`; it takes {}",
                quote_names(names)
            ))),
            None => Ok(Self { tool, fields }),
        }
    }

    /// Returns the value of an argument; `null` counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.fields?.get(name).filter(|value| !value.is_null())
    }

    /// Returns a required string argument.
    pub(crate) fn text(&self, name: &str) -> Result<&'a str, BadRequest> {
        self.optional_text(name)?
            .ok_or_else(|| BadRequest(format!("`{}` needs the argument `{name}`", self.tool)))
    }

    /// Returns a text argument, if it is present.
    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, BadRequest> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong_type(name, "a text", other)),
        }
    }

    /// Returns a whole number, if it is present.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, BadRequest> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(self.wrong_type(name, "a whole number", value)),
            },
        }
    }

    /// Returns an object, if it is present. It may be JSON within a text, as models write it.
    pub(crate) fn object(&self, name: &str) -> Result<Option<Object>, BadRequest> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let parsed = value.as_text().and_then(|text| Value::from_json(text).ok());
        match parsed.as_ref().unwrap_or(value) {
            Value::Object(fields) => Ok(Some(Object::clone(fields))),
            _ => Err(self.wrong_type(name, "an object", value)),
        }
    }

    /// Returns a list of texts, empty if it is absent. A single text counts as a list of one.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<Arc<str>>, BadRequest> {
        let Some(value) = self.get(name) else {
            return Ok(Vec::new());
        };
        let parsed = value
            .as_text()
            .filter(|text| text.trim_start().starts_with('['))
            .and_then(|text| Value::from_json(text).ok());
        match parsed.as_ref().unwrap_or(value) {
            Value::Text(text) => Ok(vec![Arc::clone(text)]),
            Value::List(items) => items
                .iter()
                .map(|item| match item {
                    Value::Text(text) => Ok(Arc::clone(text)),
                    _ => Err(self.wrong_type(name, "a list of texts", value)),
                })
                .collect(),
            _ => Err(self.wrong_type(name, "a list of texts", value)),
        }
    }

    fn wrong_type(&self, name: &str, wanted: &str, found: &Value) -> BadRequest {
        BadRequest(format!(
            "the argument `{name}` of `{}` must be {wanted}, not {}",
            self.tool,
            found.kind()
        ))
    }
}

fn quote_names(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use planwright_core::Value;

    use super::{BadRequest, GatewayArguments};

    fn check<T: std::fmt::Debug>(
        json: &str,
        read: impl Fn(&GatewayArguments<'_>) -> Result<T, BadRequest>,
    ) -> String {
        let arguments = Value::from_json(json).unwrap();
        let read =
            GatewayArguments::read("t", &arguments, &["a", "b"]).and_then(|request| read(&request));
        match read {
            Ok(read) => format!("{read:?}"),
            Err(error) => error.0,
        }
    }

    #[test]
    fn reads_what_models_write() {
        let texts = |json| check(json, |request| request.texts("a"));
        assert_eq!(texts(r#"{"a": ["x", "y"]}"#), r#"["x", "y"]"#);
        assert_eq!(texts(r#"{"a": "x"}"#), r#"["x"]"#);
        assert_eq!(texts(r#"{"a": "[\"x\"]"}"#), r#"["x"]"#);
        assert_eq!(texts("{}"), "[]");
        let object = |json| {
            check(json, |request| {
                request.object("a").map(|found| found.map(|o| o.len()))
            })
        };
        assert_eq!(object(r#"{"a": {"x": 1}}"#), "Some(1)");
        assert_eq!(object(r#"{"a": "{\"x\": 1, \"y\": 2}"}"#), "Some(2)");
        assert_eq!(object(r#"{"a": null}"#), "None");
    }

    #[test]
    fn says_what_is_wrong() {
        insta::assert_snapshot!(check(r#"{"a": 3}"#, |request| request.texts("a").map(|_| ())), @"the argument `a` of `t` must be a list of texts, not number");
        insta::assert_snapshot!(check(r#"{"b": 3}"#, |request| request.text("a").map(|_| ())), @"`t` needs the argument `a`");
        insta::assert_snapshot!(check(r#"{"c": 3}"#, |_| Ok(())), @"`t` has no argument `c`; it takes `a`, `b`");
        insta::assert_snapshot!(check(r#"{"a": -1}"#, |request| request.number("a").map(|_| ())), @"the argument `a` of `t` must be a whole number, not number");
    }
}
