//! Type inference: the types of a plan's values that are known before the run.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::initial_types::InitialTypes;
use super::resolved_plan::ResolvedPlan;
use super::slot_writers::{OverlappingWriters, slot_keys};
use crate::expression::typing::{TypeError, form_type};
use crate::plan::{
    Action, Alternative, ForEach, Form, Method, Node, NodeKind, OnError, Output, Read, Reference,
    Segment, SlotKind, Source, Targets,
};
use crate::schema::{Additional, ObjectType, PathLookup, Property, Type};
use crate::{Hashing, Step};

/// Maximum number of steps without a tool that inference follows in a row.
const MAX_DEPTH: usize = 64;

/// Maximum number of parts of an inferred type; larger types become [`Type::Any`]. A step may repeat the outputs of
/// others many times.
const MAX_PARTS: usize = 10_000;

/// Maximum number of names in a row that are followed to the step which gives the output.
const MAX_ALIASES: usize = 32;

/// Maximum number of writers of a slot that are visited for each read without caching.
const MAX_UNCACHED_WRITERS: usize = 32;

/// Maximum number of visits to writers of slots with more of them. After that, the slot has the type [`Type::Any`].
const MAX_WRITER_VISITS: usize = 1_000_000;

/// The inferred types of a plan, computed on demand and cached by step.
pub(super) struct TypeInference<'a> {
    resolved: &'a ResolvedPlan<'a>,
    pub(super) initial: InitialTypes<'a>,
    outputs: RefCell<Vec<Option<Type>>>,
    /// The types of the outputs of one round.
    rounds: RefCell<Vec<Option<Type>>>,
    /// The types of the items of `for_each` loops.
    items: RefCell<Vec<Option<Type>>>,
    depth: Cell<usize>,
    /// The lookups in slots with many writers.
    slots: RefCell<HashMap<(SlotKind, Vec<Segment>), PathLookup, Hashing>>,
    visits_left: Cell<usize>,
    /// The types of references with expressions, by address.
    expressions: RefCell<HashMap<*const Reference, Type, Hashing>>,
    /// The step whose `for_each` list is being inferred. The list cannot refer to its own items.
    inferring_list: Cell<Option<u32>>,
    /// True if a tool without an output schema gives what its answers so far were like.
    learns: bool,
}

/// The target of a read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ReadTarget {
    /// The lookup of the path in the inferred type.
    Path(PathLookup),
    /// A slot that is never filled.
    EmptySlot,
}

impl<'a> TypeInference<'a> {
    pub(super) fn new(resolved: &'a ResolvedPlan<'a>) -> Self {
        Self {
            resolved,
            initial: InitialTypes::of(resolved),
            outputs: RefCell::new(vec![None; resolved.plan.steps.len()]),
            rounds: RefCell::new(vec![None; resolved.plan.steps.len()]),
            items: RefCell::new(vec![None; resolved.plan.steps.len()]),
            depth: Cell::new(0),
            slots: RefCell::default(),
            visits_left: Cell::new(MAX_WRITER_VISITS),
            expressions: RefCell::new(HashMap::with_capacity_and_hasher(
                resolved.reads.expressions,
                Hashing::default(),
            )),
            inferring_list: Cell::new(None),
            learns: false,
        }
    }

    /// Returns the types by the answers so far of tools that declare no output; `None` if there are no such answers.
    pub(super) fn learned(resolved: &'a ResolvedPlan<'a>) -> Option<Self> {
        let mut steps = resolved.steps();
        steps
            .any(|(index, _)| seen_type(resolved, index).is_some())
            .then(|| Self {
                learns: true,
                ..Self::new(resolved)
            })
    }

    /// Returns the type of a step's output as other steps see it.
    pub(super) fn output_type(&self, index: u32) -> Type {
        let known = self.outputs.borrow().get(index as usize).cloned();
        match known {
            Some(Some(shape)) => return shape,
            // The step depends on itself through others. The cycle pass reports that.
            None => return Type::Any,
            Some(None) if self.depth.get() >= MAX_DEPTH => return Type::Any,
            Some(None) => {}
        }
        // While this step is inferred, a cycle back to it finds the widest type.
        store(&self.outputs, index, Type::Any);
        self.depth.set(self.depth.get() + 1);
        let shape = self
            .resolved
            .step(index)
            .map_or(Type::Any, |step| self.infer_output(index, step));
        self.depth.set(self.depth.get() - 1);
        // Types inferred during the recursion may be too wide, since some steps were still unknown.
        clear(&self.items, index);
        store(&self.outputs, index, shape.clone());
        shape
    }

    /// Returns the type of a node in `step`; `None` is the plan's output.
    pub(super) fn node_type(&self, node: &Node, step: Option<u32>) -> Type {
        match &node.kind {
            NodeKind::Literal(value) => Type::Literal(value.clone()),
            NodeKind::Reference(reference) => self.reference_type(reference, step),
            NodeKind::Text(_) => Type::Text,
            NodeKind::List(items) => {
                Type::list(items.iter().map(|item| self.node_type(item, step)))
            }
            NodeKind::Object(fields) => Type::Object(Arc::new(ObjectType {
                properties: fields
                    .iter()
                    .map(|field| {
                        let property = Property {
                            shape: self.node_type(&field.value, step),
                            required: true,
                        };
                        (Arc::clone(&field.key), property)
                    })
                    .collect(),
                additional: Additional::Closed,
            })),
        }
    }

    /// Returns the type of a reference that resolves.
    pub(super) fn reference_type(&self, reference: &Reference, step: Option<u32>) -> Type {
        let known = self.expressions.borrow();
        if let Some(shape) = known.get(&std::ptr::from_ref(reference)) {
            return shape.clone();
        }
        drop(known);
        let look_up = |source: &Source, path: &[Segment]| self.look_up(source, path, step);
        form_type(&reference.form, &look_up, None)
    }

    /// Returns true if `reference` reads the output of a step that is made here, by a loop or a `value`, and not by a server alone.
    pub(super) fn is_computed(&self, reference: &Reference) -> bool {
        let read = reference.as_read();
        read.is_some_and(|read| self.is_computed_read(read))
    }

    /// Returns true if `read` is the output of a step that is made here: it has no text of a server beside it.
    pub(super) fn is_computed_read(&self, read: &Read) -> bool {
        let Source::Step(id) = &read.source else {
            return false;
        };
        let index = self.resolved.ids.get(id);
        let step = index.and_then(|index| self.resolved.step(*index));
        read.path.is_empty() && step.is_some_and(|step| self.is_made(step, MAX_ALIASES))
    }

    /// Returns true if no server gives the output of `step` itself: a loop, or a `value` that is more than another name for an output.
    fn is_made(&self, step: &Step, aliases_left: usize) -> bool {
        let Action::Value(node) = &step.action else {
            return step.for_each.is_some();
        };
        let NodeKind::Reference(reference) = &node.kind else {
            return step.for_each.is_some() || !matches!(node.kind, NodeKind::Text(_));
        };
        // The first value that is there is known only in the run.
        let Form::First(alternatives) = &reference.form else {
            return step.for_each.is_some();
        };
        let is_made = |alternative: &Alternative| match alternative {
            Alternative::Literal(_) | Alternative::Expression(_) => true,
            Alternative::Read(read) => match &read.source {
                Source::Step(_) if !read.path.is_empty() => true,
                Source::Step(id) => {
                    let index = self.resolved.ids.get(id);
                    let step = index.and_then(|index| self.resolved.step(*index));
                    aliases_left > 0
                        && step.is_some_and(|step| self.is_made(step, aliases_left - 1))
                }
                Source::Slot(kind) => *kind == SlotKind::Inputs,
                Source::Result(_)
                | Source::Item
                | Source::Index
                | Source::Last
                | Source::ExternalValue(..) => true,
            },
        };
        step.for_each.is_some() || alternatives.iter().all(is_made)
    }

    /// Returns the mistakes in the expressions of a reference. Its type is cached for the passes that follow.
    pub(super) fn expression_problems(
        &self,
        reference: &Reference,
        step: Option<u32>,
    ) -> Vec<TypeError> {
        let mut problems = Vec::new();
        let look_up = |source: &Source, path: &[Segment]| self.look_up(source, path, step);
        let shape = form_type(&reference.form, &look_up, Some(&mut problems));
        // No other step is being inferred here, so the type is complete.
        self.expressions
            .borrow_mut()
            .insert(std::ptr::from_ref(reference), shape);
        problems
    }

    fn look_up(&self, source: &Source, path: &[Segment], step: Option<u32>) -> PathLookup {
        match self.resolve(source, path, step) {
            ReadTarget::Path(found) => found,
            ReadTarget::EmptySlot => PathLookup::Unknown,
        }
    }

    /// Looks up `read`, which occurs in `step`.
    pub(super) fn resolve_read(&self, read: &Read, step: Option<u32>) -> ReadTarget {
        self.resolve(&read.source, &read.path, step)
    }

    fn resolve(&self, source: &Source, path: &[Segment], step: Option<u32>) -> ReadTarget {
        let full_writers = match source {
            Source::Slot(kind) => return self.look_up_slot(*kind, path),
            Source::Step(id) => match self.resolved.ids.get(id) {
                // In its own `until`, a step reads the output of one round.
                Some(index) if Some(*index) == step => self.own_round(*index),
                Some(index) => self.output_type(*index),
                // The name of an input without its root is reported, and means the input.
                None => match self.resolved.meant_input(id) {
                    Some(kind) => {
                        let root = [Segment::Key(Arc::clone(id.text()))];
                        return self.look_up_slot(kind, &[&root, path].concat());
                    }
                    None => Type::Any,
                },
            },
            Source::Result(id) => match self.resolved.ids.get(id) {
                Some(index) if Some(*index) == step => result_of(Type::Any),
                Some(index) => result_of(self.output_type(*index)),
                None => Type::Any,
            },
            Source::Item => self.item_type(step),
            Source::Index => Type::Integer,
            Source::Last => Type::Any,
            Source::ExternalValue(..) => Type::Text,
        };
        ReadTarget::Path(full_writers.at(path))
    }

    /// Returns the type of the items of the step's `for_each`.
    pub(super) fn item_type(&self, step: Option<u32>) -> Type {
        let Some(index) = step else { return Type::Any };
        let Some(for_each) = self
            .resolved
            .step(index)
            .and_then(|step| step.for_each.as_ref())
        else {
            return Type::Any;
        };
        if self.inferring_list.get() == Some(index) {
            return Type::Any;
        }
        let known = self.items.borrow().get(index as usize).cloned().flatten();
        if let Some(shape) = known {
            return shape;
        }
        let before = self.inferring_list.replace(Some(index));
        let list = self.node_type(&for_each.over, Some(index));
        self.inferring_list.set(before);
        let shape = match list.at(&[Segment::Each]) {
            PathLookup::Found(Type::List(list)) => match list.any_item() {
                Type::Never => Type::Any,
                item @ (Type::Any
                | Type::Null
                | Type::Boolean
                | Type::Integer
                | Type::Number
                | Type::Text
                | Type::Literal(_)
                | Type::List(_)
                | Type::Object(_)
                | Type::Union(_)) => item,
            },
            PathLookup::Found(_)
            | PathLookup::Impossible { .. }
            | PathLookup::Unlisted { .. }
            | PathLookup::Unknown => Type::Any,
        };
        store(&self.items, index, shape.clone());
        shape
    }

    fn infer_output(&self, index: u32, step: &Step) -> Type {
        let once = self.round_output(index, step);
        let full_writers = match &step.for_each {
            Some(for_each) if for_each.with_item => {
                Type::list_of(item_and_output(self.item_type(Some(index)), once))
            }
            Some(_) => Type::list_of(once),
            None => once,
        };
        match &step.on_error {
            OnError::Output(instead) => {
                Type::union([full_writers, self.node_type(instead, Some(index))])
            }
            OnError::Fail | OnError::Continue => full_writers,
        }
    }

    /// Returns the type of the plan's output as its caller can rely on it.
    pub(super) fn plan_output_type(&self) -> Type {
        let plan = self.resolved.plan;
        let names: Vec<&Arc<str>> = match &plan.output {
            // A part that does not exist fails the plan, so the caller sees all parts.
            Output::Value(node) => {
                let shape = self.node_type(node, None);
                let is_small = shape.is_within(MAX_PARTS, MAX_DEPTH);
                return if is_small { shape } else { Type::Any };
            }
            Output::All => plan.steps.iter().map(|step| step.id.text()).collect(),
            Output::Steps(names) => names.iter().map(|name| &name.text).collect(),
        };
        let property = |name: &Arc<str>| {
            // Each instance has its own output.
            let step = plan
                .instances
                .is_empty()
                .then(|| self.resolved.ids.get(&**name));
            let shape = step.flatten().map(|index| self.output_type(*index));
            Property {
                shape: shape
                    .filter(|shape| shape.is_within(MAX_PARTS, MAX_DEPTH))
                    .unwrap_or(Type::Any),
                // A failed or skipped step has no output.
                required: false,
            }
        };
        Type::Object(Arc::new(ObjectType {
            properties: names
                .into_iter()
                .map(|name| (Arc::clone(name), property(name)))
                .collect(),
            additional: Additional::Unspecified,
        }))
    }

    fn own_round(&self, index: u32) -> Type {
        match self.resolved.step(index) {
            Some(step) if step.for_each.is_none() => self.round_output(index, step),
            _ => Type::Any,
        }
    }

    /// Returns the type of the output of one round.
    fn round_output(&self, index: u32, step: &Step) -> Type {
        let known = self.rounds.borrow().get(index as usize).cloned().flatten();
        if let Some(shape) = known {
            return shape;
        }
        // The value may refer to its own step; the cycle pass reports that.
        store(&self.rounds, index, Type::Any);
        let shape = match &step.action {
            Action::Tool(_) => {
                let seen = self
                    .learns
                    .then(|| seen_type(self.resolved, index))
                    .flatten();
                seen.map_or_else(
                    || {
                        let tool = self.resolved.tool(index);
                        tool.map_or(Type::Any, |tool| tool.output.structure().clone())
                    },
                    |(_, answer)| answer,
                )
            }
            Action::Value(node) => {
                let shape = self.node_type(node, Some(index));
                // Values may repeat each other, so a type can grow exponentially with the number of steps.
                let is_small = shape.is_within(MAX_PARTS, MAX_DEPTH);
                if is_small { shape } else { Type::Any }
            }
            Action::Plan(_) => self
                .resolved
                .sub_plan(index)
                .map_or(Type::Any, |plan| plan.output_type().clone()),
        };
        store(&self.rounds, index, shape.clone());
        shape
    }

    fn look_up_slot(&self, kind: SlotKind, path: &[Segment]) -> ReadTarget {
        let Some((Segment::Key(name), rest)) = path.split_first() else {
            return ReadTarget::Path(PathLookup::Unknown);
        };
        let overlap = self.resolved.writers.overlapping(kind, slot_keys(path));
        match (overlap.is_empty(), self.initial.slot_type(kind, name)) {
            (true, None) => ReadTarget::EmptySlot,
            (true, Some(shape)) => ReadTarget::Path(shape.at(rest).shifted(1)),
            // The read may see the initial value or a written one.
            (false, Some(_)) => ReadTarget::Path(PathLookup::Unknown),
            (false, None) if overlap.max_count() <= MAX_UNCACHED_WRITERS => {
                ReadTarget::Path(self.look_up_writers(&overlap, path))
            }
            (false, None) => ReadTarget::Path(self.look_up_many_writers(&overlap, kind, path)),
        }
    }

    /// Looks up a path in a slot with many writers, with a cache and a budget.
    fn look_up_many_writers(
        &self,
        overlap: &OverlappingWriters<'_>,
        kind: SlotKind,
        path: &[Segment],
    ) -> PathLookup {
        let key = (kind, path.to_vec());
        if let Some(known) = self.slots.borrow().get(&key) {
            return known.clone();
        }
        let Some(left) = self.visits_left.get().checked_sub(overlap.max_count()) else {
            return PathLookup::Unknown;
        };
        self.visits_left.set(left);
        let reach = self.look_up_writers(overlap, path);
        // While one step is inferred, the types of later steps may still be unknown.
        if self.depth.get() == 0 {
            self.slots.borrow_mut().insert(key, reach.clone());
        }
        reach
    }

    /// Looks up `path` in the outputs that its writers write.
    fn look_up_writers(&self, overlap: &OverlappingWriters<'_>, path: &[Segment]) -> PathLookup {
        let mut full_writers = overlap.full_writers();
        full_writers.retain(|(step, target, _)| self.is_set(*step, *target));
        full_writers.dedup_by_key(|(step, ..)| *step);
        let is_complete = |step: &u32| {
            full_writers
                .binary_search_by_key(step, |(step, ..)| *step)
                .is_ok()
        };
        let mut writers = overlap.lists().flat_map(|(_, steps)| steps);
        if !writers.all(is_complete) {
            return PathLookup::Unknown;
        }
        PathLookup::any_of(full_writers.iter().map(|(step, _, keys)| {
            let rest = path.get(*keys..).unwrap_or_default();
            self.output_type(*step).at(rest).shifted(*keys)
        }))
    }

    /// Returns true if the step replaces this target with its output.
    pub(super) fn is_set(&self, step: u32, target: usize) -> bool {
        let step = self.resolved.step(step);
        let writes = step.and_then(|step| step.writes.as_ref());
        writes.is_some_and(|writes| {
            let is_output = match &writes.targets {
                Targets::All(_) => true,
                // The last target may receive the error instead.
                Targets::OneOf(targets) => target + 1 < targets.len(),
            };
            // The other methods combine the output with the previous content.
            is_output && writes.method == Method::Set
        })
    }
}

fn store(types: &RefCell<Vec<Option<Type>>>, index: u32, shape: Type) {
    if let Some(known) = types.borrow_mut().get_mut(index as usize) {
        *known = Some(shape);
    }
}

fn clear(types: &RefCell<Vec<Option<Type>>>, index: u32) {
    if let Some(known) = types.borrow_mut().get_mut(index as usize) {
        *known = None;
    }
}

/// Returns the number of answers that the tool of the step `index` gave so far, and their type; `None` if the tool declares its output.
pub(super) fn seen_type(resolved: &ResolvedPlan<'_>, index: u32) -> Option<(u64, Type)> {
    let (step, tool) = (resolved.step(index)?, resolved.tool(index)?);
    let seen = tool.seen.as_deref().filter(|seen| seen.calls > 0)?;
    // The output of a failed step may be another value.
    let is_known = matches!(step.action, Action::Tool(_))
        && tool.output.is_any()
        && !matches!(step.on_error, OnError::Output(_));
    is_known.then(|| (seen.calls, seen.answer_type()))
}

/// Returns the type of objects with these fields and no others.
fn closed(fields: Vec<(&str, Type)>) -> Type {
    let properties: IndexMap<Arc<str>, Property, Hashing> = fields
        .into_iter()
        .map(|(name, shape)| {
            let required = false;
            (name.into(), Property { shape, required })
        })
        .collect();
    Type::Object(Arc::new(ObjectType {
        properties,
        additional: Additional::Closed,
    }))
}

/// Returns the type of the error of a step.
pub(crate) fn error_type() -> Type {
    closed(vec![
        ("kind", Type::Text),
        ("code", Type::Any),
        ("message", Type::Text),
        ("data", Type::Any),
    ])
}

/// Returns the type of the outcome of a step with this output; see [`Source::Result`].
fn result_of(output: Type) -> Type {
    closed(vec![
        ("success", Type::Boolean),
        ("status", Type::Text),
        ("data", Type::union([output, Type::Null])),
        ("error", Type::union([error_type(), Type::Null])),
        ("tool", Type::union([Type::Text, Type::Null])),
    ])
}

/// Returns the type of an item beside its output.
fn item_and_output(item: Type, output: Type) -> Type {
    let fields = [(ForEach::ITEM, item), (ForEach::OUTPUT, output)];
    let required = true;
    let properties = fields.map(|(name, shape)| (Arc::from(name), Property { shape, required }));
    Type::Object(Arc::new(ObjectType {
        properties: properties.into_iter().collect(),
        additional: Additional::Closed,
    }))
}
