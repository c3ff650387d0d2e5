//! Test fixtures: plans in a few lines of JSON, and the comparison of their diagnostics.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::check::{CheckContext, CheckedPlan, Library, Policy, check};
use crate::expression::parse_form;
use crate::place::SourceText;
use crate::plan::{
    Action, Field, ForEach, InitialValues, Input, InputKind, Method, Name, Node, OnError, Ordering,
    Output, PlanCall, PlanTarget, Reference, Repeat, Retry, Sharing, SlotKind, SlotPath,
    SlotSchema, Targets, TextPart, Writes,
};
use crate::{
    Catalog, Diagnostics, Object, Place, Plan, PointerSegment, Schema, Sources, Span, Step, StepId,
    Tool, Value,
};

pub(super) fn json(text: &str) -> Value {
    Value::from_json(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// Reads a catalog of tools by name, `{"in": SCHEMA, "out": SCHEMA}` each; `server.tool` names the server, too.
pub(super) fn catalog(text: &str) -> Catalog {
    let tools = json(text);
    tools
        .as_object()
        .expect("an object of tools")
        .iter()
        .map(|(name, about)| {
            let (server, name) = name.split_once('.').unwrap_or(("test", name));
            let mut tool = Tool::new(server, name);
            if let Some(schema) = about.get("in") {
                tool.input = Schema::from_value(schema.clone());
            }
            if let Some(schema) = about.get("out") {
                tool.output = Schema::from_value(schema.clone());
            }
            tool
        })
        .collect()
}

/// The context of a plan: tools, library, policy and given inputs.
#[derive(Default)]
pub(super) struct CheckFixture {
    pub(super) catalog: Catalog,
    pub(super) library: Library,
    pub(super) policy: Policy,
    pub(super) inputs: Object,
}

impl CheckFixture {
    pub(super) fn with_tools(text: &str) -> Self {
        Self {
            catalog: catalog(text),
            ..Self::default()
        }
    }

    pub(super) fn inputs(mut self, text: &str) -> Self {
        self.inputs = json(text).as_object().expect("an object").clone();
        self
    }

    pub(super) fn plan(mut self, name: &str, text: &str) -> Self {
        self.library.add(name, plan_called(name, text));
        self
    }

    pub(super) fn check(&self, text: &str) -> (Option<CheckedPlan>, Diagnostics) {
        self.check_plan(plan(text))
    }

    pub(super) fn check_plan(&self, plan: Plan) -> (Option<CheckedPlan>, Diagnostics) {
        check(plan, &self.context())
    }

    pub(super) fn context(&self) -> CheckContext<'_> {
        CheckContext::new(&self.catalog)
            .with_library(&self.library)
            .with_policy(&self.policy)
            .with_inputs(&self.inputs)
    }

    /// Checks the plan and compares the diagnostics; a warning begins with a question mark.
    #[track_caller]
    pub(super) fn expect(&self, text: &str, expected: &[&str]) {
        let (checked, diagnostics) = self.check(text);
        let found: Vec<String> = diagnostics
            .iter()
            .map(|diagnostic| {
                let mark = if diagnostic.is_error() { "" } else { "?" };
                format!("{mark}{diagnostic}")
            })
            .collect();
        assert_eq!(found, expected, "in {text}");
        assert_eq!(checked.is_some(), !diagnostics.has_errors());
        if let Some(checked) = checked {
            assert_eq!(checked.warnings().len(), diagnostics.len());
        }
    }
}

pub(super) fn plan(text: &str) -> Plan {
    plan_called("plan.json", text)
}

pub(super) fn plan_called(name: &str, text: &str) -> Plan {
    let mut artist = Artist {
        source: SourceText::new(name, text, 0),
        next: 0,
    };
    let value = json(text);
    let place = artist.mark(Place::NOWHERE, PointerSegment::Root);
    let mut plan = artist.plan(&value, place);
    plan.sources = Sources::one(artist.source);
    plan
}

struct Artist {
    source: SourceText,
    next: usize,
}

impl Artist {
    /// Each place has its own span, in the order of creation.
    fn mark(&mut self, parent: Place, segment: PointerSegment) -> Place {
        self.next += 1;
        let span = Span::from(self.next..self.next + 1);
        self.source.add(parent, segment, span)
    }

    fn key(&mut self, parent: Place, key: &str) -> Place {
        self.mark(parent, PointerSegment::Key(key.into()))
    }

    fn plan(&mut self, value: &Value, place: Place) -> Plan {
        let mut plan = Plan {
            place,
            ..Plan::default()
        };
        for (key, value) in value.as_object().expect("a plan") {
            let at = self.key(place, key);
            match &**key {
                "inputs" | "variables" => plan.inputs = self.inputs(key, value, at),
                "steps" => {
                    for (index, step) in value.as_list().expect("steps").iter().enumerate() {
                        let at = self.mark(at, PointerSegment::Index(index));
                        let step = self.step(step, at);
                        // The fixture declares the instances that steps use.
                        let instance = step.instance.iter().cloned();
                        plan.instances.extend(instance);
                        plan.steps.push(step);
                    }
                }
                "output" => {
                    plan.output = match value {
                        Value::List(_) => Output::Steps(self.names(value, at)),
                        other => Output::Value(self.node(other, at)),
                    }
                }
                "slot_schemas" => {
                    for (kind, schema) in value.as_object().expect("schemas") {
                        plan.slot_schemas.push(SlotSchema {
                            kind: slot_kind(kind),
                            schema: schema.clone(),
                            place: self.key(at, kind),
                        });
                    }
                }
                "listed" => plan.ordering = Ordering::Listed,
                "sharing" => plan.sharing = Sharing::MarkedOnly,
                kind => {
                    let (kind, instance) = kind
                        .split_once('@')
                        .map_or((kind, None), |(kind, name)| (kind, Some(name.into())));
                    plan.contents.push(InitialValues {
                        kind: slot_kind(kind),
                        instance,
                        value: value.clone(),
                        place: at,
                    });
                }
            }
        }
        plan
    }

    fn inputs(&mut self, key: &str, value: &Value, place: Place) -> Vec<Input> {
        let inputs = value.as_object().expect("inputs");
        inputs
            .iter()
            .map(|(name, about)| {
                let place = self.key(place, name);
                if key == "variables" {
                    return Input {
                        name: Arc::clone(name),
                        kind: InputKind::Variable,
                        schema: Value::Null,
                        default: Some(about.clone()),
                        place,
                    };
                }
                let default = about.get("default").cloned();
                if let Some(default) = &default {
                    let at = self.key(place, "default");
                    self.marks(default, at);
                }
                Input {
                    name: Arc::clone(name),
                    kind: InputKind::Input,
                    schema: about.clone(),
                    default,
                    place,
                }
            })
            .collect()
    }

    fn step(&mut self, value: &Value, place: Place) -> Step {
        let fields = value.as_object().expect("a step");
        let id = value.get("id").and_then(Value::as_text).expect("an id");
        let action = Action::Value(Node::default());
        let mut step = Step::new(StepId::new(id), action, Node::default());
        step.place = place;
        let mut scopes = Vec::new();
        for (key, value) in fields {
            let at = self.key(place, key);
            match &**key {
                "id" => {}
                "tool" => step.action = Action::Tool(name(value, at)),
                "value" => step.action = Action::Value(self.node(value, at)),
                "plan" => {
                    let target = match value {
                        Value::Text(_) => PlanTarget::Named(name(value, at)),
                        other => PlanTarget::Inline(Box::new(self.plan(other, at))),
                    };
                    let scopes = Vec::new();
                    step.action = Action::Plan(PlanCall { target, scopes });
                }
                "scopes" => {
                    let kinds = value.as_list().expect("scopes");
                    scopes = kinds
                        .iter()
                        .map(|kind| slot_kind(kind.as_text().expect("a kind")))
                        .collect();
                }
                "args" => step.args = self.node(value, at),
                "positional" => {
                    let items = value.as_list().expect("a list").iter().enumerate();
                    step.positional = items
                        .map(|(index, item)| {
                            let at = self.mark(at, PointerSegment::Index(index));
                            self.node(item, at)
                        })
                        .collect();
                }
                "after" => step.after = self.names(value, at),
                "when" => step.when = Some(self.node(value, at)),
                "for_each" => {
                    step.for_each = Some(ForEach {
                        item_name: None,
                        with_item: false,
                        over: self.node(value, at),
                        max_parallel: None,
                    });
                }
                "with_item" => {
                    if let Some(for_each) = &mut step.for_each {
                        for_each.with_item = value.as_bool() == Some(true);
                    }
                }
                "until" => {
                    step.repeat = Some(Repeat {
                        until: self.node(value, at),
                        max: NonZeroU32::new(3).expect("not zero"),
                    });
                }
                "max" => {
                    let max = value.as_u64().and_then(|max| u32::try_from(max).ok());
                    if let (Some(repeat), Some(max)) = (&mut step.repeat, max) {
                        repeat.max = NonZeroU32::new(max).expect("not zero");
                    }
                }
                "attempts" => {
                    let attempts = value.as_u64().and_then(|limit| u32::try_from(limit).ok());
                    let attempts = attempts.and_then(NonZeroU32::new).expect("a number");
                    step.retry = Some(Retry::new(attempts));
                }
                "on_error" => step.on_error = OnError::Output(self.node(value, at)),
                "instance" => step.instance = value.as_text().map(Into::into),
                "writes" => step.writes = Some(writes(value, at)),
                "method" => {
                    let method = match value.as_text() {
                        Some("push") => Method::Push,
                        other => panic!("the method {other:?}"),
                    };
                    step.writes.as_mut().expect("writes").method = method;
                }
                other => panic!("a step's field {other}"),
            }
        }
        if let Action::Plan(call) = &mut step.action {
            call.scopes = scopes;
        }
        step
    }

    fn names(&mut self, value: &Value, place: Place) -> Vec<Name> {
        let names = value.as_list().expect("names");
        names
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let place = self.mark(place, PointerSegment::Index(index));
                name(value, place)
            })
            .collect()
    }

    fn node(&mut self, value: &Value, place: Place) -> Node {
        match value {
            Value::Text(text) => node_of_text(text, place),
            Value::List(items) => {
                let items = items.iter().enumerate();
                let items = items
                    .map(|(index, item)| {
                        let place = self.mark(place, PointerSegment::Index(index));
                        self.node(item, place)
                    })
                    .collect();
                Node::list(items, place)
            }
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, value)| {
                        let place = self.key(place, key);
                        Field {
                            key: Arc::clone(key),
                            value: self.node(value, place),
                        }
                    })
                    .collect();
                Node::object(fields, place)
            }
            scalar => Node::literal(scalar.clone(), place),
        }
    }

    fn marks(&mut self, value: &Value, place: Place) {
        self.node(value, place);
    }
}

fn node_of_text(text: &Arc<str>, place: Place) -> Node {
    // An expression may have braces of its own.
    let whole = text
        .strip_prefix("${")
        .and_then(|text| text.strip_suffix('}'));
    if let Some(form) = whole.and_then(|whole| parse_form(whole).ok()) {
        let text = Arc::clone(text);
        return Node::reference(Reference { text, place, form });
    }
    let mut parts = Vec::new();
    let mut rest = &**text;
    while let Some((before, after)) = rest.split_once("${") {
        let (inside, behind) = after.split_once('}').expect("a closing brace");
        if !before.is_empty() {
            parts.push(TextPart::Literal(before.into()));
        }
        let form = parse_form(inside).unwrap_or_else(|error| panic!("{error} in {inside}"));
        parts.push(TextPart::Reference(Reference {
            text: format!("${{{inside}}}").into(),
            place,
            form,
        }));
        rest = behind;
    }
    match (parts.as_slice(), rest) {
        ([], _) => Node::literal(Value::Text(Arc::clone(text)), place),
        ([TextPart::Reference(reference)], "") => Node::reference(reference.clone()),
        (_, rest) => {
            if !rest.is_empty() {
                parts.push(TextPart::Literal(rest.into()));
            }
            Node {
                kind: crate::plan::NodeKind::Text(parts),
                place,
            }
        }
    }
}

fn name(value: &Value, place: Place) -> Name {
    Name {
        text: value.as_text().expect("a name").into(),
        place,
    }
}

fn writes(value: &Value, place: Place) -> Writes {
    let text = value.as_text().expect("slots");
    let paths = |separator: &str| -> Vec<SlotPath> {
        text.split(separator)
            .map(|path| {
                let mut keys = path.trim().split('.');
                SlotPath {
                    kind: slot_kind(keys.next().expect("a kind")),
                    keys: keys.map(Into::into).collect(),
                    place,
                }
            })
            .collect()
    };
    let targets = if text.contains("||") {
        Targets::OneOf(paths("||"))
    } else {
        Targets::All(paths("&&"))
    };
    Writes {
        targets,
        method: Method::Set,
        place,
    }
}

fn slot_kind(text: &str) -> SlotKind {
    match text {
        "inputs" | "input" => SlotKind::Inputs,
        "vars" => SlotKind::Vars,
        "state" => SlotKind::State,
        "data" => SlotKind::Data,
        other => panic!("the kind {other}"),
    }
}
