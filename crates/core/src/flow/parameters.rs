//! The guarded and leaving parameters of a call.

mod rules;

use std::sync::Arc;

use serde::Serialize;

pub(super) use self::rules::AllArgumentRules;
use self::rules::{ALL_ARGUMENTS, ArgumentRules, ParameterId, ParameterMatch, rule_matches};
use super::graph::Flags;
use super::labels::{LabelStore, LabelsId, OtherFields};
use super::policy::FlowPolicy;
use crate::catalog::matches_name;
use crate::plan::{Node, NodeKind};
use crate::schema::{Additional, ObjectType, Type};
use crate::{Place, Tool, Value};

/// Maximum nesting of arguments that are inspected one by one.
const MAX_DEPTH: usize = 16;

/// Maximum number of fields of a schema that are inspected for one call.
const MAX_FIELDS: usize = 2_000;

/// A part of the arguments of a call.
#[derive(Clone, Copy)]
pub(super) enum ArgumentPart<'p> {
    /// A part that the plan spells out.
    Node(&'p Node),
    /// A literal.
    Value(&'p Value, Place),
    /// A value that is known only when the plan runs, with the type that the tool takes.
    Computed(&'p Type, Place),
    /// A value that the schema of the tool does not list.
    Unlisted(Place),
}

impl ArgumentPart<'_> {
    fn place(self) -> Place {
        match self {
            Self::Node(node) => node.place,
            Self::Value(_, place) | Self::Computed(_, place) | Self::Unlisted(place) => place,
        }
    }
}

/// A guarded or leaving parameter of a call.
pub(super) struct CallArgument {
    /// The path of the parameter, with dots.
    pub(super) parameter: Arc<str>,
    /// The rule that guards it.
    pub(super) guard: Option<Arc<str>>,
    /// The rule that makes it leave.
    pub(super) leaves: Option<Arc<str>>,
    /// True if it counts what decided the call.
    pub(super) decides: bool,
    pub(super) place: Place,
    pub(super) labels: LabelsId,
}

/// Returns the guarded and leaving parameters of a call of `tool`, whose arguments `part` have `labels`.
pub(super) fn arguments(
    store: &mut LabelStore<'_>,
    rules: &mut ArgumentRules<'_>,
    tool: &Tool,
    part: ArgumentPart<'_>,
    labels: LabelsId,
) -> Vec<CallArgument> {
    let state = State {
        // No call acts on the input of an extraction.
        guarded: rules.guards.is_empty() || tool.is_extraction(),
        leaving: rules.leaves.is_empty(),
    };
    store.searches_names = true;
    let shape = tool.input.structure();
    let mut walk = ArgumentWalk {
        store,
        rules,
        found: Vec::new(),
        fields_left: MAX_FIELDS,
        depth: 0,
    };
    walk.visit(part, shape, labels, ALL_ARGUMENTS, state);
    let found = walk.found;
    store.searches_names = false;
    let mut arguments = Vec::with_capacity(found.len());
    for found in found {
        let labels = if found.others.is_empty() {
            found.labels
        } else {
            let labels = [found.labels].into_iter().chain(found.others);
            store.any_of(&labels.collect::<Vec<_>>())
        };
        let Some(parameter) = rules.parameters.get_mut(found.parameter.0 as usize) else {
            continue;
        };
        parameter.found = None;
        arguments.push(CallArgument {
            decides: found.guard.is_some() && (parameter.decides || found.decides_inside),
            parameter: Arc::clone(&parameter.name),
            guard: found.guard,
            leaves: found.leaves,
            place: found.place,
            labels,
        });
    }
    // A tool that is guarded as a whole, such as `cancel_all`, acts without arguments as well. Its author decides that it does.
    let decides = rules.decides.iter().any(|rule| rule.is_of_tool())
        && !arguments.iter().any(|argument| argument.decides);
    let is_exposed = store.is_exposed() && arguments.iter().all(|found| found.guard.is_none());
    let guard = rules.guards.iter().find(|guard| guard.is_of_tool());
    if let Some(guard) = guard.filter(|_| decides || is_exposed) {
        let labels = if is_exposed {
            store.planner()
        } else {
            store.nothing()
        };
        arguments.push(CallArgument {
            parameter: Arc::from(""),
            guard: Some(guard.text()),
            leaves: None,
            decides,
            place: Place::NOWHERE,
            labels,
        });
    }
    arguments
}

struct Found {
    parameter: ParameterId,
    guard: Option<Arc<str>>,
    leaves: Option<Arc<str>>,
    place: Place,
    labels: LabelsId,
    /// The labels of the same parameter in other items of a list.
    others: Vec<LabelsId>,
    /// True if a rule of `decides` names a field inside.
    decides_inside: bool,
}

struct ArgumentWalk<'w, 'a, 'r> {
    store: &'w mut LabelStore<'a>,
    rules: &'w mut ArgumentRules<'r>,
    found: Vec<Found>,
    fields_left: usize,
    /// The length of the path of the parameter that is visited.
    depth: usize,
}

/// The effect of a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RuleKind {
    Guard,
    Leaves,
}

/// The kinds of rules that need no further search: there are no such rules, or one already applies to an enclosing parameter.
#[derive(Clone, Copy)]
struct State {
    guarded: bool,
    leaving: bool,
}

impl ArgumentWalk<'_, '_, '_> {
    fn visit(
        &mut self,
        part: ArgumentPart<'_>,
        shape: &Type,
        labels: LabelsId,
        at: ParameterId,
        mut state: State,
    ) {
        // The arguments as a whole are not a parameter.
        if at != ALL_ARGUMENTS
            && let Some(parameter) = self.rules.parameter(at)
        {
            let guard = parameter.guard.clone().filter(|_| !state.guarded);
            let leaves = parameter.leaves.clone().filter(|_| !state.leaving);
            state.guarded |= guard.is_some();
            state.leaving |= leaves.is_some();
            if guard.is_some() || leaves.is_some() {
                let shape = match part {
                    ArgumentPart::Computed(shape, _) => shape,
                    ArgumentPart::Node(_) | ArgumentPart::Value(..) => shape,
                    ArgumentPart::Unlisted(_) => &Type::Any,
                };
                let decides_inside = guard.is_some() && self.decides_inside(part, shape, labels);
                let labels = self.store.argument(labels, shape);
                self.add(at, guard, leaves, part, labels);
                if let Some(found) = self.found_at(at) {
                    found.decides_inside |= decides_inside;
                }
            }
        }
        if state.guarded && state.leaving {
            return;
        }
        let is_written = matches!(part, ArgumentPart::Node(_) | ArgumentPart::Value(..));
        // The depth of values that the plan spells out is bounded by the depth of the plan's text.
        if self.depth > MAX_DEPTH && !is_written {
            return self.unknown(part.place(), labels, at, state);
        }
        match part {
            ArgumentPart::Node(node) => self.node(node, shape, labels, at, state),
            ArgumentPart::Value(value, place) => {
                self.value(value, place, shape, labels, at, state);
            }
            ArgumentPart::Computed(shape, place) => {
                self.computed(shape, place, labels, at, state);
            }
            ArgumentPart::Unlisted(_) => self.anything(part, labels, at, state),
        }
    }

    /// Returns true if a rule of `decides` names a field, at any depth, that a guarded value may have.
    fn decides_inside(&mut self, part: ArgumentPart<'_>, shape: &Type, labels: LabelsId) -> bool {
        let names = self.rules.decides.iter();
        let names: Vec<String> = names
            .filter(|rule| !rule.is_path())
            .filter_map(|rule| rule.name_at(0).map(ToOwned::to_owned))
            .collect();
        let is_named = |key: &str| names.iter().any(|name| matches_name(name, key));
        if names.is_empty() {
            return false;
        }
        match part {
            ArgumentPart::Node(node) if !matches!(node.kind, NodeKind::Reference(_)) => {
                has_key(node, &is_named)
            }
            ArgumentPart::Value(value, _) => value_has_key(value, &is_named),
            ArgumentPart::Node(_) | ArgumentPart::Computed(..) | ArgumentPart::Unlisted(_) => {
                let labels = self.store.elements(labels);
                let (known, others) = self.store.known_fields(labels);
                let may_be_any = shape.is_any() && others == OtherFields::Unknown;
                may_be_any
                    || known.iter().any(|key| is_named(key))
                    || has_property(shape, MAX_DEPTH, &is_named)
            }
        }
    }

    /// Returns the finding about the parameter `at`.
    fn found_at(&mut self, at: ParameterId) -> Option<&mut Found> {
        let position = self.rules.parameter(at)?.found?;
        self.found.get_mut(position)
    }

    /// Visits the field `key` of the parameter `at`.
    fn field(
        &mut self,
        key: &Arc<str>,
        part: ArgumentPart<'_>,
        shape: &Type,
        labels: LabelsId,
        at: ParameterId,
        state: State,
    ) {
        let field = self.rules.field(at, key);
        self.visit_field(field, part, shape, labels, state);
    }

    fn visit_field(
        &mut self,
        field: ParameterId,
        part: ArgumentPart<'_>,
        shape: &Type,
        labels: LabelsId,
        state: State,
    ) {
        self.depth += 1;
        self.visit(part, shape, labels, field, state);
        self.depth -= 1;
    }

    fn node(&mut self, node: &Node, shape: &Type, labels: LabelsId, at: ParameterId, state: State) {
        match &node.kind {
            NodeKind::Literal(value) => {
                self.value(value, node.place, shape, labels, at, state);
            }
            NodeKind::Object(fields) => {
                for field in fields {
                    let id = self.rules.field(at, &field.key);
                    let has_parts = match &field.value.kind {
                        NodeKind::Text(_) => false,
                        NodeKind::Literal(value) => {
                            matches!(value, Value::Object(_) | Value::List(_))
                        }
                        NodeKind::Reference(_) | NodeKind::Object(_) | NodeKind::List(_) => true,
                    };
                    // The usual case: a text or a number that no rule is about.
                    if !has_parts && !self.rules.covers(id) {
                        continue;
                    }
                    let labels = self.store.field(labels, &field.key);
                    // Of a text or a number, the type does not matter.
                    let shape = has_parts.then(|| shape.property(&field.key)).flatten();
                    let shape = shape.unwrap_or(Type::Any);
                    self.visit_field(id, ArgumentPart::Node(&field.value), &shape, labels, state);
                }
            }
            NodeKind::List(items) => {
                let labels = self.store.item(labels);
                for (index, item) in items.iter().enumerate() {
                    let shape = shape.item(index);
                    self.node(item, &shape, labels, at, state);
                }
            }
            NodeKind::Reference(_) => self.computed(shape, node.place, labels, at, state),
            NodeKind::Text(_) => {}
        }
    }

    fn value(
        &mut self,
        value: &Value,
        place: Place,
        shape: &Type,
        labels: LabelsId,
        at: ParameterId,
        state: State,
    ) {
        match value {
            Value::Object(fields) => {
                for (key, field) in fields.iter() {
                    let part = ArgumentPart::Value(field, place);
                    self.field(key, part, shape, labels, at, state);
                }
            }
            Value::List(items) => {
                for item in items.iter() {
                    self.value(item, place, shape, labels, at, state);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
        }
    }

    /// Looks at the parameters that the schema lists, since the plan does not spell them out.
    fn computed(
        &mut self,
        shape: &Type,
        place: Place,
        labels: LabelsId,
        at: ParameterId,
        state: State,
    ) {
        for member in shape.members() {
            match member {
                Type::Object(object) => {
                    for (name, property) in &object.properties {
                        let Some(left) = self.fields_left.checked_sub(1) else {
                            return self.unknown(place, labels, at, state);
                        };
                        self.fields_left = left;
                        let labels = self.store.field(labels, name);
                        let part = ArgumentPart::Computed(&property.shape, place);
                        self.field(name, part, &Type::Any, labels, at, state);
                    }
                    let is_open = match &object.additional {
                        Additional::Closed => continue,
                        // Servers seldom close their schemas; they read the parameters that they list.
                        Additional::Unspecified => object.properties.is_empty(),
                        Additional::Open(_) => true,
                    };
                    let part = ArgumentPart::Unlisted(place);
                    match self.known_fields(Some(object), part, labels, at, state) {
                        OtherFields::Unlisted if !is_open => {
                            let listed = Some(&**object);
                            self.unlisted(place, labels, at, state, listed);
                        }
                        OtherFields::None => {}
                        OtherFields::Unlisted | OtherFields::Unknown => {
                            self.unknown(place, labels, at, state);
                        }
                    }
                }
                Type::List(list) => {
                    let labels = self.store.item(labels);
                    self.computed(&list.any_item(), place, labels, at, state);
                }
                Type::Any => {
                    let part = ArgumentPart::Computed(&Type::Any, place);
                    self.anything(part, labels, at, state);
                }
                Type::Never
                | Type::Null
                | Type::Boolean
                | Type::Integer
                | Type::Number
                | Type::Text
                | Type::Literal(_)
                | Type::Union(_) => {}
            }
        }
    }

    /// Inspects the fields of a value of unknown type that the plan spells out.
    fn anything(
        &mut self,
        part: ArgumentPart<'_>,
        labels: LabelsId,
        at: ParameterId,
        state: State,
    ) {
        match self.known_fields(None, part, labels, at, state) {
            OtherFields::None => {}
            // The arguments as a whole may have any fields.
            OtherFields::Unlisted if at != ALL_ARGUMENTS => {
                self.unlisted(part.place(), labels, at, state, None);
            }
            OtherFields::Unlisted | OtherFields::Unknown => {
                self.unknown(part.place(), labels, at, state);
            }
        }
    }

    /// Looks at the fields of the value that the plan or the schema of an output names, apart from those of `listed`: a
    /// tool may read parameters that it does not list. Returns which others there may be.
    fn known_fields(
        &mut self,
        listed: Option<&ObjectType>,
        part: ArgumentPart<'_>,
        labels: LabelsId,
        at: ParameterId,
        state: State,
    ) -> OtherFields {
        let labels = self.store.elements(labels);
        let (names, others) = self.store.known_fields(labels);
        for name in names {
            if listed.is_some_and(|listed| listed.properties.contains_key(&name)) {
                continue;
            }
            let Some(left) = self.fields_left.checked_sub(1) else {
                self.unknown(part.place(), labels, at, state);
                return OtherFields::None;
            };
            self.fields_left = left;
            let field = self.store.field(labels, &name);
            self.field(&name, part, &Type::Any, field, at, state);
        }
        others
    }

    /// Adds a parameter that may have any fields, if a rule may apply to one of them.
    fn unknown(&mut self, place: Place, labels: LabelsId, at: ParameterId, state: State) {
        self.add_by_fields(place, labels, at, state, |_, _| true);
    }

    /// Adds a parameter whose value may have fields that the schema of its tool does not list, if a value may leave through one
    /// of them, or if a guard spells a path to it. Without such a guard the value is assumed to have only known fields: otherwise
    /// all parameters of tools without schemas would be guarded. The `listed` fields have been inspected already.
    fn unlisted(
        &mut self,
        place: Place,
        labels: LabelsId,
        at: ParameterId,
        state: State,
        listed: Option<&ObjectType>,
    ) {
        let depth = self.rules.parameter(at).map_or(0, |all| all.path.len());
        self.add_by_fields(place, labels, at, state, |rule, kind| {
            let is_listed = rule.name_at(depth).is_some_and(|name| {
                listed.is_some_and(|listed| listed.properties.contains_key(name))
            });
            !is_listed && (kind == RuleKind::Leaves || rule.is_path())
        });
    }

    fn add_by_fields(
        &mut self,
        place: Place,
        labels: LabelsId,
        at: ParameterId,
        state: State,
        applies: impl Fn(ParameterMatch<'_>, RuleKind) -> bool,
    ) {
        if !self.store.may_have_fields(labels) {
            return;
        }
        let path = self.rules.parameter(at).map_or(&[][..], |all| &all.path);
        let rule = |rules: &[ParameterMatch<'_>], kind: RuleKind, done: bool| {
            let mut rules = rules.iter().filter(|_| !done);
            rules
                .find(|rule| rule.may_cover_inside(path) && applies(**rule, kind))
                .map(|rule| rule.text())
        };
        let guard = rule(&self.rules.guards, RuleKind::Guard, state.guarded);
        let leaves = rule(&self.rules.leaves, RuleKind::Leaves, state.leaving);
        let nothing = Type::Never;
        self.add(
            at,
            guard,
            leaves,
            ArgumentPart::Computed(&nothing, place),
            labels,
        );
    }

    fn add(
        &mut self,
        at: ParameterId,
        guard: Option<Arc<str>>,
        leaves: Option<Arc<str>>,
        part: ArgumentPart<'_>,
        labels: LabelsId,
    ) {
        if guard.is_none() && leaves.is_none() {
            return;
        }
        let place = part.place();
        let Some(parameter) = self.rules.parameters.get_mut(at.0 as usize) else {
            return;
        };
        let next = self.found.len();
        match self.found.get_mut(*parameter.found.get_or_insert(next)) {
            Some(found) => {
                found.guard = found.guard.take().or(guard);
                found.leaves = found.leaves.take().or(leaves);
                found.others.push(labels);
            }
            None => self.found.push(Found {
                parameter: at,
                guard,
                leaves,
                place,
                labels,
                others: Vec::new(),
                decides_inside: false,
            }),
        }
    }
}

/// Returns true if a key that the plan spells out inside `node` fulfills `test`.
fn has_key(node: &Node, test: &impl Fn(&str) -> bool) -> bool {
    match &node.kind {
        NodeKind::Literal(value) => value_has_key(value, test),
        NodeKind::List(items) => items.iter().any(|item| has_key(item, test)),
        NodeKind::Object(fields) => fields
            .iter()
            .any(|field| test(&field.key) || has_key(&field.value, test)),
        NodeKind::Reference(_) | NodeKind::Text(_) => false,
    }
}

fn value_has_key(value: &Value, test: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::Object(fields) => fields
            .iter()
            .any(|(key, field)| test(key) || value_has_key(field, test)),
        Value::List(items) => items.iter().any(|item| value_has_key(item, test)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => false,
    }
}

/// Returns true if the name of a field that a type lists, at most `depth` levels inside, fulfills `test`.
fn has_property(shape: &Type, depth: usize, test: &impl Fn(&str) -> bool) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    shape.members().iter().any(|member| match member {
        Type::Object(object) => object
            .properties
            .iter()
            .any(|(name, property)| test(name) || has_property(&property.shape, depth, test)),
        Type::List(list) => has_property(&list.any_item(), depth, test),
        _ => false,
    })
}

/// A guarded or leaving parameter of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParameterRule {
    /// The path of the parameter, with dots; empty if the tool does not list its parameters.
    pub parameter: Arc<str>,
    /// The rule that guards it.
    pub guard: Option<Arc<str>>,
    /// The rule that makes values leave through it.
    pub leaves: Option<Arc<str>>,
    /// True if what decided the call counts.
    pub decides: bool,
}

/// Returns the guarded and leaving parameters of `tool`, as its input schema lists them.
pub fn parameter_rules(policy: &FlowPolicy, tool: &Tool) -> Vec<ParameterRule> {
    let mut rules = ArgumentRules::of(policy, &rule_matches(policy, tool));
    let mut store = LabelStore::new(Flags::default());
    // The arguments may be anything.
    let anything = store.graph.open();
    let labels = store.whole(anything);
    let part = ArgumentPart::Computed(tool.input.structure(), Place::NOWHERE);
    arguments(&mut store, &mut rules, tool, part, labels)
        .into_iter()
        .map(|argument| ParameterRule {
            parameter: argument.parameter,
            guard: argument.guard,
            leaves: argument.leaves,
            decides: argument.decides,
        })
        .collect()
}

/// Returns the guarded parameters among the literal `arguments` of a call of `tool`. One without a name stands for a call without
/// arguments of a tool that is guarded as a whole.
pub fn guarded_arguments(policy: &FlowPolicy, tool: &Tool, arguments: &Value) -> Vec<Arc<str>> {
    let mut rules = ArgumentRules::of(policy, &rule_matches(policy, tool));
    let mut store = LabelStore::new(Flags {
        untrusted: true,
        private: false,
    });
    let labels = store.planner();
    let part = ArgumentPart::Value(arguments, Place::NOWHERE);
    self::arguments(&mut store, &mut rules, tool, part, labels)
        .into_iter()
        .filter(|argument| argument.guard.is_some())
        .map(|argument| argument.parameter)
        .collect()
}
