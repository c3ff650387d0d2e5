//! What the values of a plan look like, as far as that can be said before the first step.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::initial_types::Contents;
use super::resolved_plan::Survey;
use super::writers::{Overlap, slot_keys};
use crate::plan::{
    Action, Alternative, Form, Method, Missing, Node, NodeKind, OnError, Output, Read, Reference,
    Segment, SlotKind, Source, Targets,
};
use crate::schema::{Additional, ListType, ObjectType, Property, Reach, Type};
use crate::{Hashing, Plan, Step};

/// How many steps that only reshape are followed behind each other.
const MAX_DEPTH: usize = 64;

/// What a step gives may hold what others give, several times over: beyond so many parts in all, anything may be in it.
const MAX_PARTS: usize = 10_000;

/// How many writers of a slot are looked at for each read of it.
const FEW_WRITERS: usize = 32;

/// How many writers of slots with more of them are looked at in all. Beyond, anything may be in such a slot.
const MAX_LOOKS: usize = 1_000_000;

/// The shapes of a plan's values.
pub(super) struct Shapes<'a> {
    survey: &'a Survey<'a>,
    pub(super) contents: Contents<'a>,
    outputs: RefCell<Vec<Option<Type>>>,
    /// What their actions give, once, as far as it is known.
    rounds: RefCell<Vec<Option<Type>>>,
    /// The items that they go over.
    items: RefCell<Vec<Option<Type>>>,
    depth: Cell<usize>,
    /// What is in slots with many writers.
    slots: RefCell<HashMap<(SlotKind, Vec<Segment>), Reach, Hashing>>,
    looks_left: Cell<usize>,
    /// The step whose list is being looked at: a list that speaks of its own items has none.
    listing: Cell<Option<u32>>,
}

/// What stands at the end of a read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sight {
    /// What can be said about it.
    Reach(Reach),
    /// Nothing is ever in the slot.
    EmptySlot,
}

impl<'a> Shapes<'a> {
    pub(super) fn new(survey: &'a Survey<'a>) -> Self {
        Self {
            survey,
            contents: Contents::of(survey),
            outputs: RefCell::new(vec![None; survey.plan.steps.len()]),
            rounds: RefCell::new(vec![None; survey.plan.steps.len()]),
            items: RefCell::new(vec![None; survey.plan.steps.len()]),
            depth: Cell::new(0),
            slots: RefCell::default(),
            looks_left: Cell::new(MAX_LOOKS),
            listing: Cell::new(None),
        }
    }

    /// The output of a step as others see it.
    pub(super) fn output(&self, index: u32) -> Type {
        let known = self.outputs.borrow().get(index as usize).cloned();
        match known {
            Some(Some(shape)) => return shape,
            // The step asks, by way of others, for itself: there is a circle, and nothing to say.
            None => return Type::Any,
            Some(None) if self.depth.get() >= MAX_DEPTH => return Type::Any,
            Some(None) => {}
        }
        remember(&self.outputs, index, Type::Any);
        self.depth.set(self.depth.get() + 1);
        let shape = self
            .survey
            .step(index)
            .map_or(Type::Any, |step| self.output_of(index, step));
        self.depth.set(self.depth.get() - 1);
        // While a step is looked at, others may be unknown that are known later.
        forget(&self.items, index);
        remember(&self.outputs, index, shape.clone());
        shape
    }

    /// The value of a node in `step`; nothing for the plan's output.
    pub(super) fn node(&self, node: &Node, step: Option<u32>) -> Type {
        match &node.kind {
            NodeKind::Literal(value) => Type::Literal(value.clone()),
            NodeKind::Reference(reference) => self.reference(reference, step),
            NodeKind::Text(_) => Type::Text,
            NodeKind::List(items) => Type::List(Arc::new(ListType {
                prefix: items.iter().map(|item| self.node(item, step)).collect(),
                items: Type::Never,
            })),
            NodeKind::Object(fields) => Type::Object(Arc::new(ObjectType {
                properties: fields
                    .iter()
                    .map(|field| {
                        let property = Property {
                            shape: self.node(&field.value, step),
                            required: true,
                        };
                        (Arc::clone(&field.key), property)
                    })
                    .collect(),
                additional: Additional::Closed,
            })),
        }
    }

    /// The value of a reference, where it has one.
    pub(super) fn reference(&self, reference: &Reference, step: Option<u32>) -> Type {
        match &reference.form {
            Form::All(reads) => reads
                .last()
                .map_or(Type::Any, |read| self.value(read, step)),
            Form::First(alternatives) => {
                Type::union(alternatives.iter().map(|alternative| match alternative {
                    Alternative::Read(read) => self.value(read, step),
                    Alternative::Literal(value) => Type::Literal(value.clone()),
                    Alternative::Expression(_) => Type::Any,
                }))
            }
        }
    }

    /// Where `read`, in `step`, leads.
    pub(super) fn read(&self, read: &Read, step: Option<u32>) -> Sight {
        let whole = match &read.source {
            Source::Slot(kind) => return self.slot(*kind, &read.path),
            Source::Step(id) => match self.survey.ids.get(id) {
                // In its own `until`, a step speaks of one round.
                Some(index) if Some(*index) == step => self.round(*index),
                Some(index) => self.output(*index),
                None => Type::Any,
            },
            Source::Result(id) => match self.survey.ids.get(id) {
                Some(index) if Some(*index) == step => result_of(Type::Any),
                Some(index) => result_of(self.output(*index)),
                None => Type::Any,
            },
            Source::Item => self.item(step),
            Source::Index => Type::Integer,
            Source::Last => Type::Any,
            Source::Outside(..) => Type::Text,
        };
        Sight::Reach(whole.at(&read.path))
    }

    /// The items that the step's `for_each` goes over.
    fn item(&self, step: Option<u32>) -> Type {
        let Some(index) = step else { return Type::Any };
        let Some(for_each) = self
            .survey
            .step(index)
            .and_then(|step| step.for_each.as_ref())
        else {
            return Type::Any;
        };
        if self.listing.get() == Some(index) {
            return Type::Any;
        }
        let known = self.items.borrow().get(index as usize).cloned().flatten();
        if let Some(shape) = known {
            return shape;
        }
        let before = self.listing.replace(Some(index));
        let list = self.node(&for_each.over, Some(index));
        self.listing.set(before);
        let shape = match list.at(&[Segment::Each]) {
            Reach::Found(Type::List(list)) => match list.any_item() {
                Type::Never => Type::Any,
                item => item,
            },
            _ => Type::Any,
        };
        remember(&self.items, index, shape.clone());
        shape
    }

    fn value(&self, read: &Read, step: Option<u32>) -> Type {
        let lenient = match read.missing {
            Missing::Fail => false,
            Missing::Null => true,
            Missing::NullInItems => read.path.contains(&Segment::Each),
        };
        match self.read(read, step) {
            Sight::Reach(Reach::Found(_)) if lenient && read.path.contains(&Segment::Each) => {
                Type::Any
            }
            Sight::Reach(Reach::Found(found)) if lenient => Type::union([found, Type::Null]),
            Sight::Reach(Reach::Found(found)) => found,
            _ => Type::Any,
        }
    }

    fn output_of(&self, index: u32, step: &Step) -> Type {
        let once = self.once(index, step);
        let whole = if step.for_each.is_some() {
            Type::list_of(once)
        } else {
            once
        };
        match &step.on_error {
            OnError::Output(instead) => Type::union([whole, self.node(instead, Some(index))]),
            OnError::Fail | OnError::Continue => whole,
        }
    }

    fn round(&self, index: u32) -> Type {
        match self.survey.step(index) {
            Some(step) if step.for_each.is_none() => self.once(index, step),
            _ => Type::Any,
        }
    }

    /// What the step's action gives, once.
    fn once(&self, index: u32, step: &Step) -> Type {
        let known = self.rounds.borrow().get(index as usize).cloned().flatten();
        if let Some(shape) = known {
            return shape;
        }
        // Its value may speak of itself: there is a circle then, and nothing to say.
        remember(&self.rounds, index, Type::Any);
        let shape = match &step.action {
            Action::Tool(_) => self
                .survey
                .tool(index)
                .map_or(Type::Any, |tool| tool.output.structure().clone()),
            Action::Value(node) => {
                let shape = self.node(node, Some(index));
                let is_small = shape.is_within(MAX_PARTS, MAX_DEPTH);
                if is_small { shape } else { Type::Any }
            }
            Action::Plan(_) => self
                .survey
                .sub_plan(index)
                .map_or(Type::Any, |plan| output_by_id(plan.plan())),
        };
        remember(&self.rounds, index, shape.clone());
        shape
    }

    fn slot(&self, kind: SlotKind, path: &[Segment]) -> Sight {
        let Some((Segment::Key(name), rest)) = path.split_first() else {
            return Sight::Reach(Reach::Unknown);
        };
        let overlap = self.survey.writers.overlapping(kind, slot_keys(path));
        match (overlap.is_empty(), self.contents.initial(kind, name)) {
            (true, None) => Sight::EmptySlot,
            (true, Some(shape)) => Sight::Reach(behind(shape.at(rest), 1)),
            (false, Some(_)) => Sight::Reach(Reach::Unknown),
            (false, None) if overlap.most() <= FEW_WRITERS => {
                Sight::Reach(self.written(&overlap, path))
            }
            (false, None) => Sight::Reach(self.written_by_many(&overlap, kind, path)),
        }
    }

    /// The same for a slot with so many writers that they are not looked at any number of times.
    fn written_by_many(&self, overlap: &Overlap<'_>, kind: SlotKind, path: &[Segment]) -> Reach {
        let key = (kind, path.to_vec());
        if let Some(known) = self.slots.borrow().get(&key) {
            return known.clone();
        }
        let Some(left) = self.looks_left.get().checked_sub(overlap.most()) else {
            return Reach::Unknown;
        };
        self.looks_left.set(left);
        let reach = self.written(overlap, path);
        // While a step is looked at, others may be unknown that are known later.
        if self.depth.get() == 0 {
            self.slots.borrow_mut().insert(key, reach.clone());
        }
        reach
    }

    /// Where `path` leads in what its writers write.
    fn written(&self, overlap: &Overlap<'_>, path: &[Segment]) -> Reach {
        let mut whole = overlap.whole();
        whole.retain(|(step, target, _)| self.is_set(*step, *target));
        whole.dedup_by_key(|(step, ..)| *step);
        let is_whole = |step: &u32| whole.binary_search_by_key(step, |(step, ..)| *step).is_ok();
        let mut writers = overlap.lists().flat_map(|(_, steps)| steps);
        if !writers.all(is_whole) {
            return Reach::Unknown;
        }
        any_of(whole.iter().map(|(step, _, keys)| {
            let rest = path.get(*keys..).unwrap_or_default();
            behind(self.output(*step).at(rest), *keys)
        }))
    }

    /// Whether what the step writes to this target of it is its output.
    fn is_set(&self, step: u32, target: usize) -> bool {
        let step = self.survey.step(step);
        let writes = step.and_then(|step| step.writes.as_ref());
        writes.is_some_and(|writes| {
            let is_output = match &writes.targets {
                Targets::All(_) => true,
                // A failure, too, may go to the last.
                Targets::OneOf(targets) => target + 1 < targets.len(),
            };
            is_output && writes.method == Method::Set
        })
    }
}

fn remember(shapes: &RefCell<Vec<Option<Type>>>, index: u32, shape: Type) {
    if let Some(known) = shapes.borrow_mut().get_mut(index as usize) {
        *known = Some(shape);
    }
}

fn forget(shapes: &RefCell<Vec<Option<Type>>>, index: u32) {
    if let Some(known) = shapes.borrow_mut().get_mut(index as usize) {
        *known = None;
    }
}

/// The output of a plan as far as its caller can rely on it.
fn output_by_id(plan: &Plan) -> Type {
    let names: Vec<&Arc<str>> = match &plan.output {
        Output::Value(_) => return Type::Any,
        Output::All => plan.steps.iter().map(|step| step.id.text()).collect(),
        Output::Steps(names) => names.iter().map(|name| &name.text).collect(),
    };
    let property = || Property {
        shape: Type::Any,
        required: false,
    };
    Type::Object(Arc::new(ObjectType {
        properties: names
            .into_iter()
            .map(|name| (Arc::clone(name), property()))
            .collect(),
        additional: Additional::Unsaid,
    }))
}

/// What became of a step with such an output; see [`Source::Result`].
fn result_of(output: Type) -> Type {
    let closed = |fields: Vec<(&str, Type)>| {
        let properties: IndexMap<Arc<str>, Property> = fields
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
    };
    let error = closed(vec![
        ("kind", Type::Text),
        ("code", Type::Any),
        ("message", Type::Text),
        ("data", Type::Any),
    ]);
    closed(vec![
        ("success", Type::Boolean),
        ("data", Type::union([output, Type::Null])),
        ("error", Type::union([error, Type::Null])),
        ("tool", Type::union([Type::Text, Type::Null])),
    ])
}

/// `reach` as it is seen from `moves` moves earlier.
fn behind(mut reach: Reach, moves: usize) -> Reach {
    if let Reach::Impossible { good, .. } | Reach::Unlisted { good, .. } = &mut reach {
        *good += moves;
    }
    reach
}

/// Where a path leads when it starts in one of several values.
fn any_of(reaches: impl Iterator<Item = Reach>) -> Reach {
    let mut found = Vec::new();
    let mut elsewhere = None;
    for reach in reaches {
        match (reach, &elsewhere) {
            (Reach::Unknown, _) => return Reach::Unknown,
            (Reach::Found(shape), _) => found.push(shape),
            (unlisted @ Reach::Unlisted { .. }, _) => elsewhere = Some(unlisted),
            (impossible, None) => elsewhere = Some(impossible),
            (_, Some(_)) => {}
        }
    }
    match elsewhere {
        Some(elsewhere) if found.is_empty() => elsewhere,
        _ => Reach::Found(Type::union(found)),
    }
}
