//! Labels by field: the labels of a value, as far as its structure is known.

mod lengths;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use self::lengths::Length;
use super::graph::{Flags, LabelGraph, LabelOrigin, NodeId, Passage};
use super::outputs::{
    LabelTree, OutputRules, fields_of, label_tree, listed_fields, may_be_list,
    may_be_untrusted_text, may_have_fields, part_at,
};
use super::report::ValueLabels;
use crate::plan::Segment;
use crate::schema::{Additional, Type};
use crate::{Hashing, Tool};

/// Maximum nesting of labels; deeper values get one label. A plan may pass a value through thousands of steps.
const MAX_NESTING: u16 = 500;

/// Maximum number of parts of an argument whose keys are compared with its type.
const MAX_ARGUMENT_PARTS: usize = 1_000;

/// The labels of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LabelsId(u32);

/// The structure of labelled values.
#[derive(Clone, Debug)]
enum Labels {
    /// The value and everything in it has one label.
    Whole(NodeId),
    /// A value without fields, such as a text, or a list of such values.
    Scalar(NodeId),
    /// A number or a boolean, or a list of such values.
    Number(NodeId),
    /// The part of a tool's output at a path, labelled by the policy.
    Output(usize, Arc<[Arc<str>]>),
    /// A value of a type, which has one label with everything in it.
    Typed(Arc<Type>, NodeId),
    /// An object with these fields.
    Object(Arc<HashMap<Arc<str>, LabelsId, Hashing>>, Keys),
    /// A list of such items.
    List(LabelsId),
    /// A choice of alternative values.
    AnyOf(Arc<[LabelsId]>),
    /// The value, and what else had influence on it.
    With(LabelsId, NodeId),
    /// A list without repeated items. The label has influence on how many there are, and on the positions of all but the
    /// first.
    Distinct(LabelsId, NodeId),
    /// The value after it passed a place.
    Passed(LabelsId, Arc<Passage>),
}

/// The author of the keys of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    /// The planner.
    Plan,
    /// The engine, or a schema.
    Engine,
}

/// A call whose output is labelled.
struct LabelledOutput<'a> {
    step: Arc<str>,
    name: Arc<str>,
    tool: &'a Tool,
    rules: Arc<OutputRules<'a>>,
}

/// The position of a tool's output, and the path of a part of it.
type OutputPart = (usize, Arc<[Arc<str>]>);

/// All labelled values of an analysis.
pub(super) struct LabelStore<'a> {
    pub(super) graph: LabelGraph,
    values: Vec<Labels>,
    /// The nesting of each value.
    nesting: Vec<u16>,
    /// The joined label of each value, as far as it was asked for.
    joined: Vec<Option<NodeId>>,
    fields: HashMap<(LabelsId, Arc<str>), LabelsId, Hashing>,
    items: HashMap<LabelsId, LabelsId, Hashing>,
    first_items: HashMap<LabelsId, LabelsId, Hashing>,
    elements: HashMap<LabelsId, LabelsId, Hashing>,
    lengths: HashMap<LabelsId, Length, Hashing>,
    outputs: Vec<LabelledOutput<'a>>,
    output_nodes: HashMap<OutputPart, NodeId, Hashing>,
    planner: LabelsId,
    nothing: LabelsId,
    /// The label of the keys that the plan spells out, if it is untrusted.
    keys: Option<NodeId>,
    /// The labels that servers have stated for the outputs of steps.
    stated: HashMap<Arc<str>, Flags, Hashing>,
}

impl<'a> LabelStore<'a> {
    /// Creates the store; literals and inputs of the plan have the label `planner`.
    pub(super) fn new(planner: Flags) -> Self {
        let mut graph = LabelGraph::default();
        let is_exposed = planner.untrusted;
        let planner = graph.origin(LabelOrigin::Planner, planner);
        let nothing = graph.join(Vec::new());
        let mut store = Self {
            graph,
            values: Vec::new(),
            nesting: Vec::new(),
            joined: Vec::new(),
            fields: HashMap::default(),
            items: HashMap::default(),
            first_items: HashMap::default(),
            elements: HashMap::default(),
            lengths: HashMap::default(),
            outputs: Vec::new(),
            output_nodes: HashMap::default(),
            planner: LabelsId(0),
            nothing: LabelsId(0),
            keys: is_exposed.then_some(planner),
            stated: HashMap::default(),
        };
        store.planner = store.whole(planner);
        store.nothing = store.whole(nothing);
        store
    }

    /// Sets the labels that servers have stated for the outputs of steps.
    pub(super) fn set_stated(&mut self, stated: &[(Arc<str>, ValueLabels)]) {
        for (step, labels) in stated {
            let flags = self.stated.entry(Arc::clone(step)).or_default();
            flags.add((*labels).into());
        }
    }

    /// Returns the labels of literals and inputs.
    pub(super) fn planner(&self) -> LabelsId {
        self.planner
    }

    /// Returns the labels of what the engine computes itself, such as the position in a loop.
    pub(super) fn nothing(&self) -> LabelsId {
        self.nothing
    }

    pub(super) fn whole(&mut self, node: NodeId) -> LabelsId {
        self.push(Labels::Whole(node))
    }

    /// Returns the labels of a value that fits `shape` and has one label.
    pub(super) fn typed(&mut self, shape: &Type, node: NodeId) -> LabelsId {
        self.push(Labels::Typed(Arc::new(shape.clone()), node))
    }

    /// Returns the labels of the output of `tool`, which `step` calls.
    pub(super) fn output(
        &mut self,
        step: Arc<str>,
        tool: &'a Tool,
        rules: Arc<OutputRules<'a>>,
    ) -> LabelsId {
        self.outputs.push(LabelledOutput {
            step,
            name: tool.qualified_name().into(),
            tool,
            rules,
        });
        self.push(Labels::Output(self.outputs.len() - 1, Arc::from([])))
    }

    /// Returns the labels of an object whose keys the plan spells out.
    pub(super) fn object(
        &mut self,
        fields: impl IntoIterator<Item = (Arc<str>, LabelsId)>,
    ) -> LabelsId {
        let fields = fields.into_iter().collect();
        self.push(Labels::Object(Arc::new(fields), Keys::Plan))
    }

    /// Returns the labels of an object whose keys no planner chooses.
    pub(super) fn record(
        &mut self,
        fields: impl IntoIterator<Item = (Arc<str>, LabelsId)>,
    ) -> LabelsId {
        let fields = fields.into_iter().collect();
        self.push(Labels::Object(Arc::new(fields), Keys::Engine))
    }

    pub(super) fn list(&mut self, item: LabelsId) -> LabelsId {
        self.push(Labels::List(item))
    }

    pub(super) fn any_of(&mut self, values: Vec<LabelsId>) -> LabelsId {
        let mut distinct: Vec<LabelsId> = Vec::with_capacity(values.len());
        for value in values {
            if distinct.len() > 16 || !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        match distinct.as_slice() {
            [] => self.nothing,
            [only] => *only,
            _ => self.push(Labels::AnyOf(distinct.into())),
        }
    }

    /// Returns `value`, on which `other` had influence as well.
    pub(super) fn with(&mut self, value: LabelsId, other: NodeId) -> LabelsId {
        self.push(Labels::With(value, other))
    }

    pub(super) fn passed(&mut self, value: LabelsId, passage: Passage) -> LabelsId {
        self.push(Labels::Passed(value, Arc::new(passage)))
    }

    /// Returns one label for a value that may contain all of `values`.
    pub(super) fn join_of(&mut self, values: &[LabelsId]) -> LabelsId {
        let nodes = values.iter().map(|value| self.join(*value)).collect();
        let node = self.graph.join(nodes);
        self.whole(node)
    }

    /// Returns the label of a text, number or boolean that is computed from `values`, or of a list of such.
    pub(super) fn computed_from(&mut self, values: &[LabelsId]) -> LabelsId {
        let nodes = values.iter().map(|value| self.join(*value)).collect();
        let node = self.graph.join(nodes);
        self.push(Labels::Scalar(node))
    }

    /// Returns the labels of all parts of a value that may be texts, apart from outputs of tools; `None` if such an
    /// output may be an untrusted text.
    pub(super) fn texts(&self, id: LabelsId) -> Option<Vec<NodeId>> {
        let mut texts = Vec::new();
        let mut seen: HashSet<LabelsId, Hashing> = HashSet::default();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.get(id) {
                Labels::Output(output, path) => {
                    let call = self.outputs.get(output)?;
                    if may_be_untrusted_text(&call.rules, call.tool, &path) {
                        return None;
                    }
                }
                Labels::Object(fields, _) => open.extend(fields.values()),
                Labels::AnyOf(values) => open.extend(values.iter()),
                Labels::List(value)
                | Labels::With(value, _)
                | Labels::Distinct(value, _)
                | Labels::Passed(value, _) => {
                    open.push(value);
                }
                Labels::Typed(shape, _) if !may_hold_text(&shape) => {}
                Labels::Whole(node) | Labels::Scalar(node) | Labels::Typed(_, node) => {
                    texts.push(node);
                }
                Labels::Number(_) => {}
            }
        }
        Some(texts)
    }

    /// Returns the label of a number or boolean that is computed from `values`, or of a list of such.
    pub(super) fn number_from(&mut self, values: &[LabelsId]) -> LabelsId {
        let nodes = values.iter().map(|value| self.join(*value)).collect();
        let node = self.graph.join(nodes);
        self.push(Labels::Number(node))
    }

    /// Returns false if the value certainly has no fields, and contains nothing that has.
    pub(super) fn may_have_fields(&self, id: LabelsId) -> bool {
        // Values may repeat each other many times.
        let mut seen: HashSet<LabelsId, Hashing> = HashSet::default();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let found = match self.get(id) {
                Labels::Scalar(_) | Labels::Number(_) => false,
                Labels::Whole(_) => id != self.planner && id != self.nothing,
                Labels::Object(..) => true,
                Labels::Output(output, path) => self.outputs.get(output).is_none_or(|call| {
                    may_have_fields(&part_at(call.tool.output.structure(), &path))
                }),
                Labels::Typed(shape, _) => may_have_fields(&shape),
                Labels::List(value)
                | Labels::With(value, _)
                | Labels::Distinct(value, _)
                | Labels::Passed(value, _) => {
                    open.push(value);
                    false
                }
                Labels::AnyOf(values) => {
                    open.extend(values.iter());
                    false
                }
            };
            if found {
                return true;
            }
        }
        false
    }

    /// Returns the fields that the plan or a schema names of the value, or of the items of lists, in order, and true if it has
    /// no others.
    pub(super) fn known_fields(&self, id: LabelsId) -> (BTreeSet<Arc<str>>, bool) {
        let mut names = BTreeSet::new();
        let mut is_complete = true;
        let mut seen: HashSet<LabelsId, Hashing> = HashSet::default();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.get(id) {
                Labels::Object(fields, _) => names.extend(fields.keys().cloned()),
                Labels::Output(output, path) => {
                    let call = self.outputs.get(output);
                    names.extend(call.iter().flat_map(|call| listed_fields(call.tool, &path)));
                    is_complete &= call.is_some_and(|call| {
                        !may_have_fields(&part_at(call.tool.output.structure(), &path))
                    });
                }
                // Guards apply to what is extracted by the names that its schema lists.
                Labels::Typed(shape, _) => {
                    names.extend(fields_of(&shape));
                    is_complete &= !may_have_fields(&shape);
                }
                Labels::List(value)
                | Labels::With(value, _)
                | Labels::Distinct(value, _)
                | Labels::Passed(value, _) => {
                    open.push(value);
                }
                Labels::AnyOf(values) => open.extend(values.iter()),
                Labels::Scalar(_) | Labels::Number(_) => {}
                Labels::Whole(_) => is_complete &= id == self.planner || id == self.nothing,
            }
        }
        (names, is_complete)
    }

    /// Returns the value, or the items of its lists at any depth, as far as the plan shows them.
    pub(super) fn elements(&mut self, id: LabelsId) -> LabelsId {
        if let Some(known) = self.elements.get(&id) {
            return *known;
        }
        let elements = match self.get(id) {
            Labels::List(item) => self.elements(item),
            Labels::AnyOf(values) => {
                let elements = values.iter().map(|value| self.elements(*value)).collect();
                self.any_of(elements)
            }
            Labels::With(value, other) | Labels::Distinct(value, other) => {
                let elements = self.elements(value);
                self.with(elements, other)
            }
            Labels::Passed(value, passage) => {
                let elements = self.elements(value);
                self.push(Labels::Passed(elements, passage))
            }
            Labels::Whole(_)
            | Labels::Scalar(_)
            | Labels::Number(_)
            | Labels::Output(..)
            | Labels::Typed(..)
            | Labels::Object(..) => id,
        };
        self.elements.insert(id, elements);
        elements
    }

    /// Returns the label of an argument of the type `shape`. The keys that the type lists are no text of the planner.
    pub(super) fn argument(&mut self, id: LabelsId, shape: &Type) -> LabelsId {
        if self.keys.is_none() {
            return id;
        }
        let mut visits_left = MAX_ARGUMENT_PARTS;
        self.argument_part(id, shape, &mut visits_left)
    }

    fn argument_part(&mut self, id: LabelsId, shape: &Type, visits_left: &mut usize) -> LabelsId {
        let Some(left) = visits_left.checked_sub(1) else {
            return id;
        };
        *visits_left = left;
        match self.get(id) {
            Labels::Object(fields, Keys::Plan) => {
                let listed = fields_of(shape);
                let is_listed = fields.keys().all(|key| listed.contains(key));
                let parts: Vec<_> = fields
                    .iter()
                    .map(|(key, field)| {
                        let shape = shape.property(key).unwrap_or(Type::Any);
                        (
                            Arc::clone(key),
                            self.argument_part(*field, &shape, visits_left),
                        )
                    })
                    .collect();
                if is_listed {
                    self.record(parts)
                } else {
                    self.object(parts)
                }
            }
            Labels::List(item) => {
                let item = self.argument_part(item, &item_of(shape), visits_left);
                self.list(item)
            }
            Labels::AnyOf(values) => {
                let values = values.iter();
                let values = values
                    .map(|value| self.argument_part(*value, shape, visits_left))
                    .collect();
                self.any_of(values)
            }
            Labels::With(value, other) => {
                let value = self.argument_part(value, shape, visits_left);
                self.with(value, other)
            }
            Labels::Distinct(value, other) => {
                let value = self.argument_part(value, shape, visits_left);
                self.push(Labels::Distinct(value, other))
            }
            Labels::Passed(value, passage) => {
                let value = self.argument_part(value, shape, visits_left);
                self.push(Labels::Passed(value, passage))
            }
            Labels::Whole(_)
            | Labels::Scalar(_)
            | Labels::Number(_)
            | Labels::Output(..)
            | Labels::Typed(..)
            | Labels::Object(..) => id,
        }
    }

    /// Returns the labels of a list, or of a text, with the same items in another order or number.
    pub(super) fn keep_structure(&mut self, list: LabelsId) -> LabelsId {
        let item = self.item(list);
        self.list_like(list, item)
    }

    fn push(&mut self, labels: Labels) -> LabelsId {
        let id = LabelsId(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        let of = |inner: &LabelsId| self.nesting.get(inner.0 as usize).copied().unwrap_or(0);
        let inside = match &labels {
            Labels::Whole(_)
            | Labels::Scalar(_)
            | Labels::Number(_)
            | Labels::Typed(..)
            | Labels::Output(..) => None,
            Labels::Object(fields, _) => fields.values().map(of).max(),
            Labels::AnyOf(values) => values.iter().map(of).max(),
            Labels::List(value)
            | Labels::With(value, _)
            | Labels::Distinct(value, _)
            | Labels::Passed(value, _) => Some(of(value)),
        };
        let nesting = inside.map_or(0, |inside| inside + 1);
        self.values.push(labels);
        self.joined.push(None);
        self.nesting.push(nesting);
        if nesting > MAX_NESTING {
            let node = self.join(id);
            if let Some(labels) = self.values.get_mut(id.0 as usize) {
                *labels = Labels::Whole(node);
            }
            if let Some(nesting) = self.nesting.get_mut(id.0 as usize) {
                *nesting = 0;
            }
        }
        id
    }

    fn get(&self, id: LabelsId) -> Labels {
        let known = self.values.get(id.0 as usize);
        known.cloned().unwrap_or_else(|| Labels::List(self.nothing))
    }

    /// Returns the join over a value and everything in it.
    pub(super) fn join(&mut self, id: LabelsId) -> NodeId {
        if let Some(known) = self.joined.get(id.0 as usize).copied().flatten() {
            return known;
        }
        let node = match self.get(id) {
            Labels::Whole(node)
            | Labels::Scalar(node)
            | Labels::Number(node)
            | Labels::Typed(_, node) => node,
            Labels::Output(output, path) => self.output_node(output, path),
            Labels::Object(fields, keys) => {
                let nodes = fields.values().map(|field| self.join(*field));
                let mut nodes: Vec<NodeId> = nodes.collect();
                nodes.extend(self.keys.filter(|_| keys == Keys::Plan));
                self.graph.join(nodes)
            }
            Labels::List(item) => self.join(item),
            Labels::AnyOf(values) => {
                let nodes = values.iter().map(|value| self.join(*value)).collect();
                self.graph.join(nodes)
            }
            Labels::With(value, other) | Labels::Distinct(value, other) => {
                let value = self.join(value);
                self.graph.join(vec![value, other])
            }
            Labels::Passed(value, passage) => {
                let value = self.join(value);
                self.graph.passage(value, (*passage).clone())
            }
        };
        if let Some(known) = self.joined.get_mut(id.0 as usize) {
            *known = Some(node);
        }
        node
    }

    fn output_node(&mut self, output: usize, path: Arc<[Arc<str>]>) -> NodeId {
        let key = (output, path);
        if let Some(known) = self.output_nodes.get(&key) {
            return *known;
        }
        let (output, path) = &key;
        let tree = self.outputs.get(*output).map(|call| {
            let tree = label_tree(&call.rules, call.tool, path);
            (tree, Arc::clone(&call.step), Arc::clone(&call.name))
        });
        let node = match tree {
            Some((tree, step, name)) => self.add_tree(tree, &step, &name),
            None => self.graph.open(),
        };
        self.output_nodes.insert(key, node);
        node
    }

    fn add_tree(&mut self, tree: LabelTree, step: &Arc<str>, tool: &Arc<str>) -> NodeId {
        let stated = self.stated.get(step).copied().unwrap_or_default();
        let nodes = tree
            .into_iter()
            .map(|(field, mut flags)| {
                flags.add(stated);
                let origin = LabelOrigin::Output {
                    step: Arc::clone(step),
                    tool: Arc::clone(tool),
                    field: field.join(".").into(),
                };
                self.graph.origin(origin, flags)
            })
            .collect();
        self.graph.join(nodes)
    }

    /// Returns the part of a value at `path`.
    pub(super) fn at(&mut self, id: LabelsId, path: &[Segment]) -> LabelsId {
        path.iter().fold(id, |at, segment| match segment {
            // A key of digits may count items.
            Segment::Key(key) => self.field(at, key),
            Segment::Index(0) => self.first_item(at),
            Segment::Index(_) | Segment::Each => self.item(at),
        })
    }

    /// Returns the field `key` of a value, or the item at that position.
    pub(super) fn field(&mut self, id: LabelsId, key: &Arc<str>) -> LabelsId {
        let cache_key = (id, Arc::clone(key));
        if let Some(known) = self.fields.get(&cache_key) {
            return *known;
        }
        let is_position = is_position(key);
        let field = match self.get(id) {
            Labels::Whole(_) | Labels::Scalar(_) | Labels::Number(_) => id,
            Labels::Typed(..) if is_position => self.item(id),
            Labels::Typed(shape, node) => {
                let part = part_at(&shape, std::slice::from_ref(key));
                self.typed(&part, node)
            }
            // Positions in lists are left out of paths.
            Labels::Output(output, path) if is_position && self.may_be_list(output, &path) => id,
            Labels::Output(output, path) => {
                let longer = path.iter().chain([key]).cloned().collect();
                self.push(Labels::Output(output, longer))
            }
            Labels::Object(fields, _) => match fields.get(key) {
                Some(field) => *field,
                // An object becomes an item of a list if others are added to its slot.
                None if is_position => self.item(id),
                None => self.nothing,
            },
            Labels::List(item) if is_position => item,
            Labels::List(_) => {
                let node = self.join(id);
                self.whole(node)
            }
            Labels::AnyOf(values) => {
                let parts = values.iter().map(|value| self.field(*value, key)).collect();
                self.any_of(parts)
            }
            Labels::With(value, other) | Labels::Distinct(value, other) => {
                let part = self.field(value, key);
                self.with(part, other)
            }
            Labels::Passed(value, passage) => {
                let part = self.field(value, key);
                self.push(Labels::Passed(part, passage))
            }
        };
        self.fields.insert(cache_key, field);
        field
    }

    fn may_be_list(&self, output: usize, path: &[Arc<str>]) -> bool {
        let call = self.outputs.get(output);
        call.is_none_or(|call| may_be_list(call.tool, path))
    }

    /// Returns the items of a list.
    pub(super) fn item(&mut self, id: LabelsId) -> LabelsId {
        if let Some(known) = self.items.get(&id) {
            return *known;
        }
        let item = match self.get(id) {
            Labels::Whole(_) | Labels::Scalar(_) | Labels::Number(_) | Labels::Output(..) => id,
            Labels::Typed(shape, node) => {
                let item = item_of(&shape);
                self.typed(&item, node)
            }
            Labels::List(item) => item,
            // Loops over objects go through the keys, which may be data; computed keys select any field.
            Labels::Object(..) => {
                let node = self.join(id);
                self.whole(node)
            }
            Labels::AnyOf(values) => {
                let items = values.iter().map(|value| self.item(*value)).collect();
                self.any_of(items)
            }
            Labels::With(value, other) | Labels::Distinct(value, other) => {
                let item = self.item(value);
                self.with(item, other)
            }
            Labels::Passed(value, passage) => {
                let item = self.item(value);
                self.push(Labels::Passed(item, passage))
            }
        };
        self.items.insert(id, item);
        item
    }
}

/// Returns the type of the items of lists of the type `shape`.
fn item_of(shape: &Type) -> Type {
    let items = shape.members().iter().map(|member| match member {
        Type::List(list) => list.any_item(),
        // Loops over objects go through the keys, which may be data.
        _ => Type::Any,
    });
    Type::union(items.collect::<Vec<_>>())
}

/// Returns true if a value of the type `shape` may be a text, or contain one. Constants of the schema do not count: no
/// stranger chooses them.
fn may_hold_text(shape: &Type) -> bool {
    shape.members().iter().any(|member| match member {
        Type::Any | Type::Text => true,
        Type::List(list) => may_hold_text(&list.any_item()),
        Type::Object(object) => {
            object.additional != Additional::Closed
                || object
                    .properties
                    .values()
                    .any(|property| may_hold_text(&property.shape))
        }
        Type::Never
        | Type::Null
        | Type::Boolean
        | Type::Integer
        | Type::Number
        | Type::Literal(_)
        | Type::Union(_) => false,
    })
}

/// Returns true if `key` is a number, which selects an item of a list.
pub(super) fn is_position(key: &str) -> bool {
    let digits = key.strip_prefix('-').unwrap_or(key);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
