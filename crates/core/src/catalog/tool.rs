//! Tools and their definitions, in canonical form and with a digest; the names that belong to each server; and the extraction
//! tool: a model reads a text, and its answer is data that fits a schema.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::SeenAnswers;
use crate::plan::{Node, NodeKind, Step, Undo};
use crate::text::hex;
use crate::{Hashing, Object, Schema, ServerName, ToolName, Value};

/// A tool of a server.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The server that offers it.
    pub server: ServerName,
    /// The identity of the server: its command line or address. Empty for tools in this process.
    pub origin: Arc<str>,
    /// The name of the tool on its server.
    pub name: Arc<str>,
    /// A one-line title for people.
    pub title: Option<Arc<str>>,
    /// The server's description of the tool.
    pub description: Option<Arc<str>>,
    /// The schema of the arguments.
    pub input: Schema,
    /// The schema of the output; [`Schema::any`] if the server declares none.
    pub output: Schema,
    /// The effects of the tool, as stated by the server or overridden by the configuration.
    pub annotations: Annotations,
    /// The hints that the server states, before any configuration is applied.
    pub hints: Hints,
    /// True if a person must approve each call, whatever the annotations say. That holds for tools
    /// whose server declares them destructive, and for functions built so.
    pub approval: bool,
    /// The reason for the required approval, as one clause, if known.
    pub approval_reason: Option<Arc<str>>,
    /// True if the server offers the tool to its own views alone (`visibility` of the MCP extension for apps), not to models.
    pub for_views: bool,
    /// The answers that the tool gave so far; `None` if they are not recorded, as for a tool that declares its output.
    pub seen: Option<Arc<SeenAnswers>>,
    /// The parameters that the configuration marks as sharable, in addition to those that the schema marks with
    /// `x-sharable`.
    pub sharable: BTreeSet<Arc<str>>,
    /// The call that undoes a call of the tool, unless the step has its own; the configuration sets it.
    pub undo: Option<Arc<ConfiguredUndo>>,
}

/// The undo that the configuration has for the calls of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfiguredUndo {
    /// The call.
    pub undo: Arc<Undo>,
    /// The entry of the configuration, for messages: its file and line.
    pub set_in: Arc<str>,
}

/// The annotations that a server states about a tool (MCP `ToolAnnotations`); `None` for omitted ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// `readOnlyHint`
    pub read_only: Option<bool>,
    /// `destructiveHint`
    pub destructive: Option<bool>,
    /// `idempotentHint`
    pub idempotent: Option<bool>,
    /// `openWorldHint`
    pub open_world: Option<bool>,
}

impl Hints {
    /// Returns true if the server does not say whether the tool destroys something. MCP treats such
    /// a tool as destructive.
    pub fn is_destructive_by_default(&self) -> bool {
        // The destructive hint is meaningful only for tools that are not read-only.
        self.destructive.is_none() && self.read_only != Some(true)
    }

    /// Returns true if the server declares the tool destructive. A statement beside it that the tool is read-only does not change that:
    /// of two statements that contradict each other, the stricter one counts.
    pub fn is_stated_destructive(&self) -> bool {
        self.destructive == Some(true)
    }

    /// Returns the annotations that follow from the hints, with the MCP defaults for omitted ones.
    pub fn annotations(&self, trusted: bool) -> Annotations {
        let default = Annotations::default();
        Annotations {
            read_only: self.read_only.unwrap_or(default.read_only),
            destructive: self.destructive.unwrap_or(default.destructive),
            idempotent: self.idempotent.unwrap_or(default.idempotent),
            open_world: self.open_world.unwrap_or(default.open_world),
            trusted,
        }
    }
}

/// The effects of a tool, with the defaults of MCP 2026-07-28.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotations {
    /// The tool changes nothing.
    pub read_only: bool,
    /// The tool may destroy something.
    pub destructive: bool,
    /// A second call with the same arguments has no further effect.
    pub idempotent: bool,
    /// The tool reaches beyond a closed domain.
    pub open_world: bool,
    /// True if the server is trusted. Annotations of an untrusted server relax no rule.
    pub trusted: bool,
}

impl Default for Annotations {
    fn default() -> Self {
        Self {
            read_only: false,
            destructive: true,
            idempotent: false,
            open_world: true,
            trusted: false,
        }
    }
}

impl Tool {
    /// Creates a tool with a name and no other properties.
    pub fn new(server: impl Into<ServerName>, name: impl Into<Arc<str>>) -> Self {
        Self {
            server: server.into(),
            origin: Arc::from(""),
            name: name.into(),
            title: None,
            description: None,
            input: Schema::any(),
            output: Schema::any(),
            annotations: Annotations::default(),
            hints: Hints::default(),
            approval: false,
            approval_reason: None,
            for_views: false,
            seen: None,
            sharable: BTreeSet::new(),
            undo: None,
        }
    }

    /// Returns the name `server.tool`.
    pub fn qualified_name(&self) -> ToolName {
        ToolName::new(format!("{}.{}", self.server, self.name))
    }

    /// Returns the name `server__tool`, limited to the letters, digits, `_` and `-` that model APIs allow.
    pub fn model_name(&self) -> String {
        format!("{}__{}", for_models(&self.server), for_models(&self.name))
    }

    /// Returns true if a trusted server states that a call changes nothing.
    pub fn merely_reads(&self) -> bool {
        self.annotations.trusted && self.annotations.read_only
    }

    /// Returns true if a trusted server states that a second call with the same arguments has no further effect.
    pub fn is_repeatable(&self) -> bool {
        // A call is never repeated because of the statement of an untrusted server.
        self.annotations.trusted && (self.annotations.read_only || self.annotations.idempotent)
    }

    /// Returns true if a person must approve each call: [`approval`](Self::approval).
    pub fn needs_approval(&self) -> bool {
        self.approval
    }
}

impl Tool {
    /// Returns everything that the server states about the tool, with the server's identity. Object keys are sorted, so
    /// lists that differ only in key order give the same definition. Configuration is not part of it.
    pub fn definition(&self) -> Value {
        let text = |text: &Option<Arc<str>>| text.clone().map_or(Value::Null, Value::Text);
        let fields = [
            ("server", Value::Text(Arc::clone(self.server.text()))),
            ("origin", Value::Text(self.origin.clone())),
            ("name", Value::Text(self.name.clone())),
            ("title", text(&self.title)),
            ("description", text(&self.description)),
            // Servers may list keys in another order at each start; that is not a change of the tool.
            ("input_schema", sort_keys(self.input.as_value())),
            ("output_schema", sort_keys(self.output.as_value())),
            ("annotations", hints_value(self.hints)),
        ];
        Value::object(fields)
    }

    /// Returns the SHA-256 of the JSON of [`definition`](Self::definition), in hexadecimal digits.
    pub fn definition_digest(&self) -> String {
        hex(&Sha256::digest(self.definition().to_json()))
    }
}

/// Returns the stated hints by their MCP names.
fn hints_value(hints: Hints) -> Value {
    let hints = [
        ("destructiveHint", hints.destructive),
        ("idempotentHint", hints.idempotent),
        ("openWorldHint", hints.open_world),
        ("readOnlyHint", hints.read_only),
    ];
    let stated = hints.into_iter();
    Value::object(stated.filter_map(|(name, hint)| Some((name, Value::Bool(hint?)))))
}

/// Returns `value` with the keys of all objects sorted.
fn sort_keys(value: &Value) -> Value {
    match value {
        Value::List(items) => Value::list(items.iter().map(sort_keys)),
        Value::Object(fields) => {
            let mut entries: Vec<_> = fields.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let sorted: Object = entries
                .into_iter()
                .map(|(key, field)| (key.clone(), sort_keys(field)))
                .collect();
            Value::from(sorted)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => value.clone(),
    }
}

/// The names of servers. A server `files` owns the names `files.…` and `files__…`, whether it offers such tools or not.
#[derive(Clone, Debug, Default)]
pub struct ServerNames {
    names: HashSet<ServerName, Hashing>,
    /// The names in the form that model APIs allow, each with the servers that share it.
    for_models: HashMap<String, Vec<ServerName>, Hashing>,
}

impl ServerNames {
    /// Adds a server.
    pub fn add(&mut self, server: &ServerName) {
        if !server.is_empty() && self.names.insert(server.clone()) {
            let same = self.for_models.entry(for_models(server)).or_default();
            same.push(server.clone());
        }
    }

    /// Returns true if a server has that name.
    pub fn contains(&self, server: &str) -> bool {
        self.names.contains(server)
    }

    /// Returns the servers that may own a name such as `server.tool` or `server__tool`, with the
    /// length of the server part and whether it is the exact server name.
    fn claims<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = ((usize, bool), &'a ServerName)> {
        let signs = name.bytes().enumerate();
        let signs = signs.filter(|(_, byte)| matches!(byte, b'.' | b'_'));
        // Server names may contain dots and underscores, so any separator may end one.
        signs.flat_map(move |(at, _)| {
            let (server, rest) = name.split_at(at);
            let (is_dot, is_alias) = (rest.starts_with('.'), rest.starts_with("__"));
            let named = (is_dot || is_alias).then(|| self.names.get(server));
            let named = named.flatten().into_iter();
            let for_models = is_alias.then(|| self.for_models.get(server));
            let for_models = for_models.flatten().into_iter().flatten();
            // An exact server name that is already valid for models is in both maps.
            let for_models = for_models.filter(move |other| **other != *server);
            named
                .map(move |server| ((at, true), server))
                .chain(for_models.map(move |server| ((at, false), server)))
        })
    }

    /// Returns the server that owns `name`: the one with the longest matching name.
    pub fn owner<'a>(&'a self, name: &'a str) -> Option<&'a ServerName> {
        let nearest = self.claims(name).max_by_key(|(rank, _)| *rank);
        nearest.map(|(_, server)| server)
    }

    /// Returns the servers that `name` may belong to, such as `files` for `files.write` and `files__write`.
    pub fn claimants<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a ServerName> {
        self.claims(name).map(|(_, server)| server)
    }

    /// Returns true if `name`, which begins with the name of `server`, belongs to no other server.
    pub fn own(&self, server: &str, name: &str) -> bool {
        let (own, others): (Vec<_>, Vec<_>) = self
            .claims(name)
            .partition(|(_, claimant)| **claimant == *server);
        let nearest = own.iter().map(|(rank, _)| *rank).max();
        // A longer server name is the more specific claim.
        others.iter().all(|(rank, _)| Some(*rank) < nearest)
    }

    /// Returns true if no other server than `server` owns `name`, so that it can serve as a bare tool name.
    pub fn allows_bare_name(&self, name: &str, server: &str) -> bool {
        self.claims(name).all(|(_, claimant)| *claimant == *server)
    }
}

/// Returns `name` with `_` for each character that model APIs do not allow in names.
fn for_models(name: &str) -> String {
    name.replace(
        |character: char| !matches!(character, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-'),
        "_",
    )
}

/// The name by which plans call the [extraction tool](Tool::extraction).
pub const EXTRACTION: &str = "planwright.extract";

/// The parameters of the extraction tool.
pub const EXTRACTION_PARAMETERS: [&str; 3] = ["from", "schema", "ask"];

const SERVER: &str = "planwright";
const NAME: &str = "extract";

const INPUT: &str = r#"{
    "type": "object",
    "properties": {
        "from": {"description": "The text or other value to read."},
        "schema": {"type": "object", "description": "The JSON Schema of the output."},
        "ask": {"type": "string", "description": "The data to look for."}
    },
    "required": ["from", "schema"],
    "additionalProperties": false
}"#;

impl Tool {
    /// Creates the extraction tool, which belongs to no server. The output schema of a call is its argument `schema`.
    pub fn extraction() -> Self {
        let hints = Hints {
            read_only: Some(true),
            destructive: Some(false),
            idempotent: Some(true),
            open_world: Some(false),
        };
        Self {
            title: Some("Extract data".into()),
            description: Some(
                "Reads `from` with a model that has no tools, and returns data that fits `schema`."
                    .into(),
            ),
            input: Schema::from_value(Value::from_json(INPUT).unwrap_or_default()),
            annotations: Annotations {
                trusted: true,
                ..hints.annotations(true)
            },
            hints,
            ..Self::new(SERVER, NAME)
        }
    }

    /// Returns true if this is the extraction tool, or a tool of this process in its place, such as a simulated one.
    pub fn is_extraction(&self) -> bool {
        is_extraction_name(&self.server, &self.name) && self.origin.is_empty()
    }

    /// Returns the tool of the catalog: a checked step has a copy of the extraction tool with its own output schema.
    pub fn listed(self: &Arc<Self>) -> Arc<Self> {
        if !self.is_extraction() || self.output.is_any() {
            return Arc::clone(self);
        }
        Arc::new(Self {
            output: Schema::any(),
            ..Self::clone(self)
        })
    }

    /// Returns the tool that `step` calls: for the extraction tool, a copy whose output schema is that of the step.
    pub(crate) fn of_step(self: Arc<Self>, step: &Step) -> Arc<Self> {
        if !self.is_extraction() {
            return self;
        }
        let schema = extraction_schema(step);
        match schema.as_ref().and_then(Node::as_literal) {
            Some(schema @ Value::Object(_)) => Arc::new(Self {
                output: Schema::from_value(schema.clone()),
                ..Self::clone(&self)
            }),
            _ => self,
        }
    }
}

pub(super) fn is_extraction_name(server: &str, name: &str) -> bool {
    server == SERVER && name == NAME
}

/// Returns the argument `schema` of a step that calls the extraction tool.
pub(crate) fn extraction_schema(step: &Step) -> Option<Node> {
    match &step.args.kind {
        NodeKind::Object(fields) => {
            let mut fields = fields.iter().rev();
            let field = fields.find(|field| &*field.key == "schema")?;
            Some(field.value.clone())
        }
        NodeKind::Literal(value) => {
            Some(Node::literal(value.get("schema")?.clone(), step.args.place))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> Tool {
        let schema = r#"{"type": "object", "properties": {"b": {"type": "string"}, "a": {}}}"#;
        Tool {
            origin: "node server.js".into(),
            description: Some("Pays.".into()),
            input: Schema::from_value(Value::from_json(schema).unwrap()),
            hints: Hints {
                destructive: Some(true),
                ..Hints::default()
            },
            ..Tool::new("bank", "pay")
        }
    }

    #[test]
    fn a_tool_is_stated_destructive_whatever_is_stated_beside_it() {
        for read_only in [None, Some(false), Some(true)] {
            let hints = |destructive| Hints {
                read_only,
                destructive,
                ..Hints::default()
            };
            assert!(hints(Some(true)).is_stated_destructive());
            assert!(!hints(Some(false)).is_stated_destructive());
            assert!(!hints(None).is_stated_destructive());
        }
    }

    #[test]
    fn a_definition_has_all_that_the_server_states() {
        assert_eq!(
            tool().definition().to_json(),
            r#"{"server":"bank","origin":"node server.js","name":"pay","title":null,"description":"Pays.","input_schema":{"properties":{"a":{},"b":{"type":"string"}},"type":"object"},"output_schema":{},"annotations":{"destructiveHint":true}}"#
        );
    }

    #[test]
    fn every_part_of_a_definition_changes_its_digest() {
        let schema = |text: &str| Schema::from_value(Value::from_json(text).unwrap());
        let changes: [fn(&mut Tool); 8] = [
            |tool| tool.server = "b".into(),
            |tool| tool.origin = "b".into(),
            |tool| tool.name = "b".into(),
            |tool| tool.title = Some("b".into()),
            |tool| tool.description = None,
            |tool| tool.hints.destructive = None,
            |tool| tool.hints.destructive = Some(false),
            |tool| tool.hints.read_only = Some(true),
        ];
        let mut digests = vec![tool().definition_digest()];
        for change in changes {
            let mut changed = tool();
            change(&mut changed);
            digests.push(changed.definition_digest());
        }
        for text in [r#"{"type": "object"}"#, r#"{"type": "array"}"#] {
            let mut changed = tool();
            changed.input = schema(text);
            digests.push(changed.definition_digest());
            changed.output = schema(text);
            digests.push(changed.definition_digest());
        }
        let count = digests.len();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), count);
    }

    #[test]
    fn the_order_of_keys_and_the_configuration_do_not_count() {
        let schema = r#"{"properties": {"a": {}, "b": {"type": "string"}}, "type": "object"}"#;
        let mut other = tool();
        other.input = Schema::from_value(Value::from_json(schema).unwrap());
        other.approval = true;
        other.annotations.trusted = true;
        assert_eq!(other.definition_digest(), tool().definition_digest());
    }
}
