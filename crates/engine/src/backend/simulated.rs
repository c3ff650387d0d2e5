//! Simulated tools that answer from a script, for trying a plan before its servers exist, for demos and for tests.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::place::push_pointer_segment;
use planwright_core::{Hints, Object, PointerSegment, Schema, ServerName, Tool, ToolName, Value};

use super::{ErrorKind, ToolBackend, ToolCall, ToolError, ToolOutput};
use crate::durations::{Durations, LearnedDuration};

/// The server of simulated tools whose names do not include one.
const SERVER: &str = "simulated";

/// Simulated tools that answer from a script.
#[derive(Debug)]
pub struct Simulated {
    tools: Vec<Tool>,
    behaviours: HashMap<ToolName, Behaviour>,
}

impl Simulated {
    /// Reads a script: `{"tools": {NAME: {…}}}`. A name with a dot is `server.tool`. All fields are in the
    /// [description of the format](https://github.com/planwright/planwright/blob/main/docs/formats/simulated-tools.md).
    ///
    /// ```
    /// use planwright_core::Value;
    /// use planwright_engine::backend::Simulated;
    ///
    /// let script = Value::from_json(r#"{"tools": {
    ///     "weather": {"input_schema": {"required": ["city"]}, "returns": {"temp": 21}, "sleep_ms": 5},
    ///     "mail.send": {"approval": true, "fails": {"code": "full", "message": "the box is full"}}
    /// }}"#).unwrap();
    /// assert_eq!(Simulated::from_script(&script).unwrap().tools().count(), 2);
    /// ```
    ///
    /// # Errors
    ///
    /// Every fault of the script, each with a JSON pointer to its place.
    pub fn from_script(script: &Value) -> Result<Self, Vec<ScriptError>> {
        let mut reader = ScriptReader::default();
        let simulated = reader.script(script);
        if reader.errors.is_empty() {
            Ok(simulated)
        } else {
            Err(reader.errors)
        }
    }

    /// The tools, for a [`Catalog`](planwright_core::Catalog).
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter()
    }

    /// Call durations from the `sleep_ms` of the script. `cases` are ignored, since they depend on the arguments.
    pub fn durations(&self) -> Durations {
        let mut durations = Durations::new();
        for tool in &self.tools {
            if let Some(behaviour) = self.behaviours.get(&tool.qualified_name()) {
                // The script states the time, so there is no spread that an estimate would have to allow for.
                let learned = LearnedDuration::exactly(behaviour.sleep);
                durations.insert(&tool.server, &tool.name, learned);
            }
        }
        durations
    }

    /// The servers of the tools, sorted.
    pub fn servers(&self) -> Vec<ServerName> {
        let mut servers: Vec<ServerName> =
            self.tools.iter().map(|tool| tool.server.clone()).collect();
        servers.sort();
        servers.dedup();
        servers
    }
}

impl ToolBackend for Simulated {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let behaviour = self.behaviours.get(&call.tool.qualified_name());
        Box::pin(async move {
            match behaviour {
                // The behaviour counts its calls: a script states the number of failures for each tool, not for each step.
                Some(behaviour) => behaviour.answer(&call.args).await,
                None => Err(ToolError::new(
                    ErrorKind::Unavailable,
                    format!("the script has no tool `{}`", call.tool.qualified_name()),
                )),
            }
        })
    }
}

/// An error in a script of simulated tools.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScriptError {
    /// The place, as a JSON pointer.
    pub pointer: String,
    /// The description of the error.
    pub message: String,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{} at {}", self.message, self.pointer)
        }
    }
}

/// Fields that define a tool.
const TOOL_FIELDS: &[&str] = &[
    "description",
    "input_schema",
    "output_schema",
    "annotations",
    "approval",
    "title",
];

/// Fields that define its behaviour, also in a case.
const BEHAVIOUR_FIELDS: &[&str] = &[
    "returns",
    "echo",
    "sleep_ms",
    "unavailable",
    "times",
    "fails",
    "result",
    "route",
    "cases",
];

#[derive(Default)]
struct ScriptReader {
    path: Vec<PointerSegment>,
    errors: Vec<ScriptError>,
}

impl ScriptReader {
    fn error(&mut self, message: impl Into<String>) {
        let mut pointer = String::new();
        for segment in &self.path {
            push_pointer_segment(&mut pointer, segment);
        }
        self.errors.push(ScriptError {
            pointer,
            message: message.into(),
        });
    }

    /// Reads one level deeper, so errors there have the right pointer.
    // A closure, so that no early return can leave the path one level too deep.
    fn below<T>(&mut self, segment: PointerSegment, read: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(segment);
        let result = read(self);
        self.path.pop();
        result
    }

    fn key<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        self.below(PointerSegment::Key(Arc::from(key)), read)
    }

    fn object<'a>(&mut self, value: &'a Value) -> Option<&'a Object> {
        if value.as_object().is_none() {
            self.error(format!("expected an object, found a {}", value.kind()));
        }
        value.as_object()
    }

    fn unknown_fields(&mut self, fields: &Object, known: &[&[&str]]) {
        for key in fields.keys() {
            // A misspelt field would silently change the behaviour of a test.
            if !known.iter().any(|known| known.contains(&&**key)) {
                self.key(key, |reader| {
                    reader.error(format!("a simulated tool has no field `{key}`"));
                });
            }
        }
    }

    fn script(&mut self, script: &Value) -> Simulated {
        let mut simulated = Simulated {
            tools: Vec::new(),
            behaviours: HashMap::new(),
        };
        let Some(fields) = self.object(script) else {
            return simulated;
        };
        let Some(tools) = fields.get("tools") else {
            self.error("the script has no field `tools`");
            return simulated;
        };
        self.key("tools", |reader| {
            for (name, entry) in reader.object(tools).into_iter().flatten() {
                reader.key(name, |reader| {
                    if let Some((tool, behaviour)) = reader.tool(name, entry) {
                        simulated
                            .behaviours
                            .insert(tool.qualified_name(), behaviour);
                        simulated.tools.push(tool);
                    }
                });
            }
        });
        simulated
    }

    fn tool(&mut self, name: &str, entry: &Value) -> Option<(Tool, Behaviour)> {
        let fields = self.object(entry)?;
        self.unknown_fields(fields, &[TOOL_FIELDS, BEHAVIOUR_FIELDS]);
        let mut tool = match name.split_once('.') {
            Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
                Tool::new(server, tool)
            }
            // Scripts for one-off tests need no servers.
            _ => Tool::new(SERVER, name),
        };
        tool.title = self.text(fields, "title");
        tool.description = self.text(fields, "description");
        if let Some(schema) = fields.get("input_schema") {
            tool.input = Schema::from_value(schema.clone());
        }
        if let Some(schema) = fields.get("output_schema") {
            tool.output = Schema::from_value(schema.clone());
        }
        tool.hints = self.hints(fields.get("annotations"));
        // The author of the script is the user, so the annotations are trusted.
        tool.annotations = tool.hints.annotations(true);
        let approval = self.flag(fields, "approval");
        // Without an explicit choice, a destructive tool needs approval, as that of a real server does.
        tool.approval = approval.unwrap_or(tool.hints.destructive == Some(true));
        tool.approval_reason = match (tool.approval, approval) {
            (true, None) => Some(Arc::from("the script says that it may destroy something")),
            (true, Some(_)) => Some(Arc::from("the script says that it asks first")),
            (false, _) => None,
        };
        // `"approval": false` is an explicit choice, so rules about tools without a destructive hint must not apply.
        if approval == Some(false) && tool.hints.is_destructive_by_default() {
            tool.hints.destructive = Some(false);
        }
        Some((tool, self.behaviour(fields)))
    }

    fn hints(&mut self, annotations: Option<&Value>) -> Hints {
        let mut hints = Hints::default();
        let Some(annotations) = annotations else {
            return hints;
        };
        self.key("annotations", |reader| {
            let Some(fields) = reader.object(annotations) else {
                return;
            };
            for (name, hint) in [
                ("readOnlyHint", &mut hints.read_only),
                ("destructiveHint", &mut hints.destructive),
                ("idempotentHint", &mut hints.idempotent),
                ("openWorldHint", &mut hints.open_world),
            ] {
                *hint = reader.flag(fields, name);
            }
        });
        hints
    }

    fn behaviour(&mut self, fields: &Object) -> Behaviour {
        let times = self.whole_number(fields, "times");
        let fault = match (fields.get("fails"), fields.get("unavailable")) {
            (Some(_), Some(_)) => {
                self.error("`fails` and `unavailable` exclude each other");
                None
            }
            (Some(failure), None) => Some(ScriptedFault::Fails(failure.clone())),
            (None, Some(Value::Text(message))) => {
                Some(ScriptedFault::Unavailable(message.to_string()))
            }
            (None, Some(other)) => {
                let kind = other.kind();
                self.key("unavailable", |reader| {
                    reader.error(format!("expected text, found a {kind}"));
                });
                None
            }
            (None, None) => None,
        };
        Behaviour {
            cases: self.cases(fields.get("cases")),
            sleep: Duration::from_millis(self.whole_number(fields, "sleep_ms").unwrap_or(0)),
            answer: self.answer(fields, times.is_some()),
            fault,
            times,
            route: self.text(fields, "route"),
            attempts: 0.into(),
        }
    }

    fn answer(&mut self, fields: &Object, fails_first: bool) -> ScriptedOutput {
        let answers = ["returns", "echo", "result"]
            .iter()
            .filter(|field| fields.contains_key(**field))
            .count();
        if answers > 1 {
            self.error("`returns`, `echo` and `result` exclude each other");
        }
        if let Some(value) = fields.get("returns") {
            // After a limited number of failures, `returns` may also describe the behaviour that follows.
            if fails_first
                && let Some(next) = value.as_object()
                && next.len() == 1
                && next.contains_key("returns")
            {
                let next = self.key("returns", |reader| reader.behaviour(next));
                return ScriptedOutput::Then(Box::new(next));
            }
            return ScriptedOutput::Returns(value.clone());
        }
        if let Some(result) = fields.get("result") {
            self.key("result", |reader| reader.object(result));
            return ScriptedOutput::Result(result.clone());
        }
        match self.flag(fields, "echo") {
            Some(true) => ScriptedOutput::Echo,
            Some(false) | None => ScriptedOutput::Nothing,
        }
    }

    fn cases(&mut self, cases: Option<&Value>) -> Vec<Case> {
        let Some(cases) = cases else {
            return Vec::new();
        };
        self.key("cases", |reader| {
            let Some(cases) = cases.as_list() else {
                reader.error(format!("expected a list, found a {}", cases.kind()));
                return Vec::new();
            };
            let mut read = Vec::with_capacity(cases.len());
            for (index, case) in cases.iter().enumerate() {
                reader.below(PointerSegment::Index(index), |reader| {
                    if let Some(fields) = reader.object(case) {
                        reader.unknown_fields(fields, &[BEHAVIOUR_FIELDS, &["when"]]);
                        read.push(Case {
                            when: fields
                                // A case without a condition applies to all calls.
                                .get("when")
                                .cloned()
                                .unwrap_or_else(Value::empty_object),
                            behaviour: reader.behaviour(fields),
                        });
                    }
                });
            }
            read
        })
    }

    fn text(&mut self, fields: &Object, key: &str) -> Option<Arc<str>> {
        match fields.get(key)? {
            Value::Text(text) => Some(Arc::clone(text)),
            other => {
                let kind = other.kind();
                self.key(key, |reader| {
                    reader.error(format!("expected text, found a {kind}"));
                });
                None
            }
        }
    }

    fn flag(&mut self, fields: &Object, key: &str) -> Option<bool> {
        let value = fields.get(key)?;
        if value.as_bool().is_none() {
            let kind = value.kind();
            self.key(key, |reader| {
                reader.error(format!("expected true or false, found a {kind}"));
            });
        }
        value.as_bool()
    }

    fn whole_number(&mut self, fields: &Object, key: &str) -> Option<u64> {
        let value = fields.get(key)?;
        if value.as_u64().is_none() {
            self.key(key, |reader| {
                reader.error(format!("expected a whole number from 0, found `{value}`"));
            });
        }
        value.as_u64()
    }
}

/// The scripted behaviour of one simulated tool.
#[derive(Debug, Default)]
struct Behaviour {
    /// Special cases: the first whose condition is contained in the arguments replaces this behaviour.
    cases: Vec<Case>,
    sleep: Duration,
    fault: Option<ScriptedFault>,
    /// The number of attempts that fail; all if unset.
    times: Option<u64>,
    answer: ScriptedOutput,
    /// The branch that the output selects.
    route: Option<Arc<str>>,
    attempts: AtomicU64,
}

#[derive(Debug)]
struct Case {
    when: Value,
    behaviour: Behaviour,
}

/// A scripted failure.
#[derive(Debug)]
enum ScriptedFault {
    /// The tool reports an error.
    Fails(Value),
    /// The transport fails.
    Unavailable(String),
}

/// The output of a successful call.
#[derive(Debug, Default)]
enum ScriptedOutput {
    #[default]
    Nothing,
    Returns(Value),
    Echo,
    /// A raw MCP `CallToolResult`.
    Result(Value),
    /// The output of another behaviour, after the scripted failures.
    Then(Box<Behaviour>),
}

impl Behaviour {
    async fn answer(&self, args: &Value) -> Result<ToolOutput, ToolError> {
        let mut behaviour = self;
        loop {
            let case = behaviour
                .cases
                .iter()
                .find(|case| contains(args, &case.when));
            if let Some(case) = case {
                behaviour = &case.behaviour;
                continue;
            }
            if !behaviour.sleep.is_zero() {
                tokio::time::sleep(behaviour.sleep).await;
            }
            // Concurrent calls get distinct numbers, so exactly the scripted number of attempts fails.
            let attempt = behaviour.attempts.fetch_add(1, Ordering::Relaxed);
            if behaviour.times.is_none_or(|times| attempt < times)
                && let Some(fault) = &behaviour.fault
            {
                return Err(fault.to_error());
            }
            let mut output = match &behaviour.answer {
                ScriptedOutput::Nothing => ToolOutput::default(),
                ScriptedOutput::Returns(value) => ToolOutput::value(value.clone()),
                ScriptedOutput::Echo => ToolOutput::value(args.clone()),
                ScriptedOutput::Result(result) => ToolOutput::from_call_result(result)?,
                ScriptedOutput::Then(next) => {
                    behaviour = next;
                    continue;
                }
            };
            output.branch.clone_from(&behaviour.route);
            return Ok(output);
        }
    }
}

impl ScriptedFault {
    fn to_error(&self) -> ToolError {
        match self {
            Self::Unavailable(message) => ToolError::unavailable(message.clone()),
            Self::Fails(Value::Text(message)) => ToolError::tool(message.to_string(), Value::Null),
            Self::Fails(data) => {
                let message = data
                    .get("message")
                    .and_then(Value::as_text)
                    .unwrap_or("the tool failed without a message");
                ToolError::tool(message, data.clone())
            }
        }
    }
}

/// Returns true if `value` contains `part`: objects field by field, everything else by equality.
fn contains(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::Object(fields), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, wanted)| fields.get(key).is_some_and(|value| contains(value, wanted))),
        // `1` and `1.0` are the same number to the author of a script.
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => value == part,
    }
}

#[cfg(test)]
mod tests;
