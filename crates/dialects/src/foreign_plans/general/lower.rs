//! From calls and groups to the steps of a plan.

use std::collections::HashMap;
use std::sync::Arc;

use planwright_core::Value;

use super::read::{ForeignCall, ForeignLoop, ForeignNode};
use super::references::References;
use crate::native::{UsedIds, path_of};

/// The maximum number of calls.
const MAX_CALLS: usize = 1000;

/// The maximum number of ids in the `after` of all steps together, and of bytes of conditions.
const MAX_ADDED: usize = 100_000;

/// The steps of a plan, and its output.
pub(super) struct Lowered {
    pub(super) steps: Vec<Value>,
    pub(super) output: Option<Value>,
}

/// The nodes of a plan with the names of all calls.
pub(super) struct Lowering {
    nodes: Vec<ForeignNode>,
    references: References,
    /// The ids of loops, by the position of the loop in the plan.
    added: usize,
    /// True if the plan states the order of its calls.
    pub(super) has_order: bool,
}

impl Lowering {
    /// Gives ids to all calls; `None` if there are too many.
    pub(super) fn new(
        mut nodes: Vec<ForeignNode>,
        inputs: &[(Arc<str>, Value)],
        constants: &[(Arc<str>, Value)],
        edges: &[(String, String)],
    ) -> Option<Self> {
        let mut used = UsedIds::default();
        let mut count = 0;
        let mut has_order = !edges.is_empty();
        each_call(&mut nodes, &mut |call| {
            count += 1;
            has_order |= call.has_after;
            if let Some(id) = &call.id {
                used.insert(id.clone());
            }
        });
        has_order |= nodes
            .iter()
            .any(|node| !matches!(node, ForeignNode::Call(_)));
        (count > 0 && count <= MAX_CALLS).then_some(())?;
        let mut references = References::default();
        for (name, _) in inputs {
            references.add_input(name, &format!("inputs.{name}"));
        }
        for (name, _) in constants {
            references.add_input(name, &format!("vars.{name}"));
        }
        name_nodes(&mut nodes, &mut used, &mut references);
        let mut before: HashMap<String, Vec<String>> = HashMap::new();
        for (from, to) in edges {
            before.entry(to.clone()).or_default().push(from.clone());
        }
        each_call(&mut nodes, &mut |call| {
            let own = call.id.as_ref().and_then(|id| before.get(id));
            call.after.extend(own.into_iter().flatten().cloned());
        });
        Some(Self {
            nodes,
            references,
            added: 0,
            has_order,
        })
    }

    /// The steps of all nodes, with references to them.
    pub(super) fn finish(mut self, output: Option<Value>) -> Lowered {
        let nodes = std::mem::take(&mut self.nodes);
        let (steps, _) = self.sequence(nodes, false, &[], None);
        let output = output.map(|output| self.references.output(&output));
        Lowered { steps, output }
    }

    /// The steps of `nodes`, which run after the steps `before` and under `condition`, and the ids of those that nothing in them follows.
    fn sequence(
        &mut self,
        nodes: Vec<ForeignNode>,
        is_sequence: bool,
        before: &[String],
        condition: Option<&str>,
    ) -> (Vec<Value>, Vec<String>) {
        let mut steps = Vec::new();
        let mut last: Vec<String> = Vec::new();
        let mut before = before.to_vec();
        for node in nodes {
            let (found, ids) = self.node(node, &before, condition);
            steps.extend(found);
            if is_sequence {
                before.clone_from(&ids);
                last = ids;
            } else {
                last.extend(ids);
            }
        }
        (steps, last)
    }

    fn node(
        &mut self,
        node: ForeignNode,
        before: &[String],
        condition: Option<&str>,
    ) -> (Vec<Value>, Vec<String>) {
        match node {
            ForeignNode::Call(call) => {
                let id = call.id.clone().unwrap_or_default();
                (vec![self.call(*call, before, condition)], vec![id])
            }
            ForeignNode::Group { nodes, is_sequence } => {
                self.sequence(nodes, is_sequence, before, condition)
            }
            ForeignNode::Branches {
                condition: own,
                then,
                otherwise,
                is_sequence,
            } => {
                let written = self.references.condition(&own).unwrap_or(own);
                let both = |other: &str| match condition {
                    Some(condition) => format!("({condition}) && ({other})"),
                    None => other.to_owned(),
                };
                let (mut steps, mut ids) =
                    self.sequence(then, is_sequence, before, Some(&both(&written)));
                let (others, more) = self.sequence(
                    otherwise,
                    is_sequence,
                    before,
                    Some(&both(&format!("!({written})"))),
                );
                steps.extend(others);
                ids.extend(more);
                (steps, ids)
            }
            ForeignNode::Loop(looped) => {
                let id = looped.id.clone().unwrap_or_default();
                (vec![self.looped(*looped, before, condition)], vec![id])
            }
        }
    }

    fn looped(&mut self, looped: ForeignLoop, before: &[String], condition: Option<&str>) -> Value {
        let ForeignLoop {
            id,
            over,
            item,
            mut body,
            is_sequence,
            mut after,
        } = looped;
        let name = item.clone().unwrap_or_else(|| "item".to_owned());
        self.references.enter(&name);
        let over = self.references.list(&over);
        after.extend(before.iter().cloned());
        if let [ForeignNode::Call(call)] = body.as_mut_slice()
            && call.over.is_none()
        {
            let mut call = std::mem::take(&mut **call);
            call.id = id.or(call.id);
            call.over = Some(over);
            call.item = item;
            call.after.extend(after);
            let step = self.call(call, &[], condition);
            self.references.leave();
            return step;
        }
        let (steps, _) = self.sequence(body, is_sequence, &[], None);
        self.references.leave();
        let mut fields: Vec<(Arc<str>, Value)> = Vec::new();
        fields.extend(id.map(|id| (Arc::from("id"), Value::text(id))));
        fields.push(("for_each".into(), over));
        fields.extend(item.map(|name| (Arc::from("as"), Value::text(name))));
        fields.extend(
            condition
                .map(|condition| (Arc::from("when"), Value::text(format!("${{{condition}}}")))),
        );
        fields.extend(self.after(after));
        fields.push(("steps".into(), Value::list(steps)));
        Value::object(fields)
    }

    fn call(&mut self, call: ForeignCall, before: &[String], condition: Option<&str>) -> Value {
        let loops = call.over.is_some();
        if loops {
            self.references
                .enter(call.item.as_deref().unwrap_or("item"));
        }
        let own = call
            .when
            .as_deref()
            .map(|when| self.references.condition(when).ok_or(when));
        let when = match (own, condition) {
            (Some(Ok(own)), Some(condition)) => Some(format!("${{({condition}) && ({own})}}")),
            (Some(Ok(own)), None) => Some(format!("${{{own}}}")),
            // An expression that is not understood is reported when the plan is read.
            (Some(Err(written)), _) => Some(written.to_owned()),
            (None, Some(condition)) => Some(format!("${{{condition}}}")),
            (None, None) => None,
        };
        let mut fields: Vec<(Arc<str>, Value)> = Vec::new();
        fields.extend(call.id.map(|id| (Arc::from("id"), Value::text(id))));
        fields.push(("tool".into(), Value::text(call.tool)));
        let args = call
            .args
            .iter()
            .map(|(name, value)| (Arc::clone(name), self.references.argument(value)));
        let args: Vec<(Arc<str>, Value)> = args.collect();
        if !args.is_empty() {
            fields.push(("args".into(), Value::object(args)));
        }
        if let Some(over) = call.over {
            fields.push(("for_each".into(), self.references.list(&over)));
            fields.extend(call.item.map(|name| (Arc::from("as"), Value::text(name))));
        }
        fields.extend(when.map(|when| (Arc::from("when"), Value::text(when))));
        let mut after = call.after;
        if !call.has_after {
            after.extend(before.iter().cloned());
        }
        fields.extend(self.after(after));
        fields.extend(call.options);
        fields.extend(
            call.note
                .filter(|note| note.as_text().is_some())
                .map(|note| (Arc::from("note"), note)),
        );
        if loops {
            self.references.leave();
        }
        Value::object(fields)
    }

    /// The field for the steps named in `names`.
    fn after(&mut self, names: Vec<String>) -> Option<(Arc<str>, Value)> {
        let mut ids: Vec<String> = Vec::new();
        for name in names {
            let id = self.references.id_of(&name).unwrap_or(name);
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        self.added += ids.len();
        (!ids.is_empty() && self.added <= MAX_ADDED).then(|| {
            (
                "after".into(),
                Value::list(ids.into_iter().map(Value::text)),
            )
        })
    }
}

/// Calls `action` with each call in `nodes`.
fn each_call(nodes: &mut [ForeignNode], action: &mut impl FnMut(&mut ForeignCall)) {
    for node in nodes {
        match node {
            ForeignNode::Call(call) => action(call),
            ForeignNode::Group { nodes, .. } => each_call(nodes, action),
            ForeignNode::Branches {
                then, otherwise, ..
            } => {
                each_call(then, action);
                each_call(otherwise, action);
            }
            ForeignNode::Loop(looped) => each_call(&mut looped.body, action),
        }
    }
}

/// Assigns ids to calls and loops without one, and collects all names.
fn name_nodes(nodes: &mut [ForeignNode], used: &mut UsedIds, references: &mut References) {
    for node in nodes {
        match node {
            ForeignNode::Call(call) => {
                let id = call
                    .id
                    .get_or_insert_with(|| used.add_for(&call.tool))
                    .clone();
                references.add_step(&id, call.alias.as_deref());
            }
            ForeignNode::Group { nodes, .. } => name_nodes(nodes, used, references),
            ForeignNode::Branches {
                then, otherwise, ..
            } => {
                name_nodes(then, used, references);
                name_nodes(otherwise, used, references);
            }
            ForeignNode::Loop(looped) => {
                let id = looped
                    .id
                    .get_or_insert_with(|| used.add_for("each"))
                    .clone();
                references.add_step(&id, None);
                name_nodes(&mut looped.body, used, references);
            }
        }
    }
}

/// The inputs in `value`, an object by name or a list of names with defaults, as schemas.
pub(super) fn inputs(value: &Value) -> Option<Vec<(Arc<str>, Value)>> {
    let schema = |given: &Value| match given {
        Value::Object(fields) => {
            let known = [
                "type",
                "default",
                "description",
                "enum",
                "format",
                "minimum",
                "maximum",
            ];
            let kept = fields.iter().filter(|(key, _)| known.contains(&&***key));
            let kept = kept.map(|(key, field)| (Arc::clone(key), field.clone()));
            let value = fields
                .get("value")
                .map(|value| (Arc::from("default"), value.clone()));
            Value::object(kept.chain(value))
        }
        Value::Null => Value::empty_object(),
        other => Value::object([("default", other.clone())]),
    };
    match value {
        Value::Object(fields) => Some(
            fields
                .iter()
                .map(|(name, given)| (Arc::clone(name), schema(given)))
                .collect(),
        ),
        Value::List(items) => {
            let inputs = items.iter().map(|item| match item {
                Value::Text(name) => Some((Arc::clone(name), Value::empty_object())),
                _ => Some((Arc::from(item.get("name")?.as_text()?), schema(item))),
            });
            inputs.collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => None,
    }
}

/// The constants in `value`, an object by name or a list of such objects.
pub(super) fn constants(value: &Value) -> Option<Vec<(Arc<str>, Value)>> {
    match value {
        Value::Object(fields) => Some(
            fields
                .iter()
                .map(|(name, value)| (Arc::clone(name), value.clone()))
                .collect(),
        ),
        Value::List(items) => {
            let found = items.iter().map(constants).collect::<Option<Vec<_>>>()?;
            Some(found.into_iter().flatten().collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => None,
    }
}

/// The path of the step `id`.
pub(super) fn step_path(id: &str) -> String {
    path_of(id)
}
