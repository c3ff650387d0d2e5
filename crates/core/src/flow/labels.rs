//! Labels by field: the labels of the known parts of a value.

mod failures;
mod fields;
mod lengths;
mod marks;
mod open;
mod parts;
mod texts;

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

pub(super) use self::lengths::ItemSource;
use self::lengths::Length;
use self::open::{OpenId, OpenValues};
use super::expression::Scratch;
use super::graph::{CallId, Flags, LabelGraph, LabelOrigin, NodeId, Passage, PassageId};
use super::outputs::{ANY_KEY, IsList, PartId, ToolOutputs, may_have_fields};
use super::policy::FlowPolicy;
use super::report::ValueLabels;
use crate::schema::Type;
use crate::{Hashing, Schema, Tool, ToolName, Value};

/// Maximum nesting of labels; deeper values get one label. A plan may pass a value through thousands of steps.
const MAX_NESTING: u16 = 500;

/// Maximum nesting of values whose parts are not stored: to find these again costs less than to store them.
const MAX_UNSTORED_NESTING: u16 = 3;

/// Maximum number of steps that room is made for before there are labels.
const MAX_EXPECTED_STEPS: usize = 1_000;

/// The number of values that a step with several expressions usually has.
const VALUES_OF_A_STEP: usize = 48;

/// The number of nodes of the graph that a step with several expressions usually has.
const NODES_OF_A_STEP: usize = 32;

/// The number of arguments that a step usually has, with the fields in them.
const FIELDS_OF_A_STEP: usize = 8;

/// The labels of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LabelsId(u32);

/// The structure of labelled values. Its parts are in lists of the store, so that it is small: a plan has many values.
#[derive(Clone, Copy, Debug)]
enum Labels {
    /// The value has one label, together with all of its parts.
    Whole(NodeId),
    /// A value without fields, such as a text, or a list of such values.
    Scalar(NodeId),
    /// A number or a boolean, or a list of such values.
    Number(NodeId),
    /// A part of a tool's output, labelled by the policy.
    Output(OutputPart),
    /// A value of a type, with one label for it and all of its parts.
    Typed(TypeId, NodeId),
    /// An object with these fields.
    Object(FieldRange, Keys),
    /// A list of such items.
    List(LabelsId),
    /// A choice of alternative values.
    AnyOf(ValueRange),
    /// The value, and what else had influence on it.
    With(LabelsId, NodeId),
    /// A list without repeated items. The label has influence on how many there are, and on the positions of all but the
    /// first.
    Distinct(LabelsId, NodeId),
    /// A list whose number of items has this label, although its items do not come from what was counted.
    Counted(LabelsId, NodeId),
    /// A list with as many items as the other, from which its items come. A list of other items with the same number is
    /// [counted](Self::Counted). A value that is not a list is a part of each item of such a list, and does not come from the item: only
    /// its position depends on how many there are.
    Sized(LabelsId, LabelsId),
    /// The value after it passed a place.
    Passed(LabelsId, PassageId),
    /// A value that was read before it is known, or a part of one.
    Open(OpenId, NodeId),
}

/// The fields of a value besides those that are known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OtherFields {
    /// The value has no other fields.
    None,
    /// The output of a tool may have fields that its schema does not list.
    Unlisted,
    /// The plan builds the value in a way that does not show its fields.
    Unknown,
}

/// A part of the output of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct OutputPart {
    /// The position of the call.
    call: u32,
    part: PartId,
}

/// The position of a type in the store.
#[derive(Clone, Copy, Debug)]
struct TypeId(u32);

/// The fields of an object, as a range of all fields of the store.
#[derive(Clone, Copy, Debug)]
struct FieldRange {
    start: u32,
    end: u32,
}

/// A range of the alternatives of the store.
#[derive(Clone, Copy, Debug)]
struct ValueRange {
    start: u32,
    end: u32,
}

/// The position in the store of a tool, with the rules for its outputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolId(u32);

/// The author of the keys of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    /// The planner.
    Plan,
    /// The engine, or a schema.
    Engine,
}

/// A call whose output is labelled.
struct LabelledOutput {
    step: Arc<str>,
    tool: ToolId,
    /// The call in the graph, once a part of its output has a node.
    call: Option<CallId>,
}

/// A labelled value.
struct LabelledValue {
    labels: Labels,
    nesting: u16,
    /// The joined label of the value, if it was asked for.
    joined: Option<NodeId>,
}

/// All labelled values of an analysis.
pub(super) struct LabelStore<'a> {
    pub(super) graph: LabelGraph,
    values: Vec<LabelledValue>,
    /// The fields of all objects; those of each one are neighbours.
    object_fields: Vec<(Arc<str>, LabelsId)>,
    /// The alternatives of all choices; those of each one are neighbours.
    alternatives: Vec<LabelsId>,
    types: Vec<Type>,
    /// The parts of the texts that are made of nothing but these, in the order of the texts.
    text_parts: Vec<(LabelsId, ValueRange)>,
    // Values refer to each other and may repeat each other many times. Parts of those that do so are stored, so that the time
    // stays linear; parts of all others are found at once.
    fields: HashMap<(LabelsId, Arc<str>), LabelsId, Hashing>,
    items: HashMap<LabelsId, LabelsId, Hashing>,
    first_items: HashMap<LabelsId, LabelsId, Hashing>,
    selected: HashMap<LabelsId, LabelsId, Hashing>,
    flattened: HashMap<LabelsId, LabelsId, Hashing>,
    elements: HashMap<LabelsId, LabelsId, Hashing>,
    lengths: HashMap<LabelsId, Length, Hashing>,
    positioned: HashMap<LabelsId, LabelsId, Hashing>,
    tools: Vec<ToolOutputs<'a>>,
    tool_ids: HashMap<*const Tool, ToolId, Hashing>,
    outputs: Vec<LabelledOutput>,
    output_nodes: HashMap<OutputPart, NodeId, Hashing>,
    /// Nodes that wait to be joined.
    pending: Vec<NodeId>,
    pub(super) scratch: Scratch,
    open: OpenValues,
    planner: LabelsId,
    /// The label of a text or a number that the plan spells out.
    planner_scalar: LabelsId,
    nothing: LabelsId,
    /// The label of the keys that the plan spells out, if it is untrusted.
    keys: Option<NodeId>,
    /// True while it counts whether an item exists at a position, since there is another value for this case.
    pub(super) counts_positions: bool,
    /// True while it tests whether a part exists: the values that decide whether a step has an output are read as well.
    pub(super) tests_existence: bool,
    /// True if something may depend on whether steps fail.
    pub(super) follows_failures: bool,
    /// The values by which the current step may fail.
    pub(super) failing: Vec<LabelsId>,
    /// True while the fields of values are compared with the names of guarded parameters.
    pub(super) searches_names: bool,
    /// The labels that servers have stated for the outputs of steps.
    stated: HashMap<Arc<str>, Flags, Hashing>,
}

impl<'a> LabelStore<'a> {
    /// Creates the store; literals and inputs of the plan have the label `planner`.
    pub(super) fn new(planner: Flags) -> Self {
        let mut graph = LabelGraph::default();
        let is_exposed = planner.untrusted;
        let planner = graph.origin(LabelOrigin::Planner, planner);
        let nothing = graph.join([]);
        let mut store = Self {
            graph,
            values: Vec::new(),
            object_fields: Vec::new(),
            alternatives: Vec::new(),
            types: Vec::new(),
            text_parts: Vec::new(),
            fields: HashMap::default(),
            items: HashMap::default(),
            first_items: HashMap::default(),
            selected: HashMap::default(),
            flattened: HashMap::default(),
            elements: HashMap::default(),
            lengths: HashMap::default(),
            positioned: HashMap::default(),
            tools: Vec::new(),
            tool_ids: HashMap::default(),
            outputs: Vec::new(),
            output_nodes: HashMap::default(),
            pending: Vec::new(),
            scratch: Scratch::default(),
            open: OpenValues::default(),
            planner: LabelsId(0),
            planner_scalar: LabelsId(0),
            nothing: LabelsId(0),
            keys: is_exposed.then_some(planner),
            counts_positions: false,
            tests_existence: false,
            follows_failures: false,
            failing: Vec::new(),
            searches_names: false,
            stated: HashMap::default(),
        };
        store.planner = store.whole(planner);
        store.planner_scalar = store.push(Labels::Scalar(planner));
        store.nothing = store.whole(nothing);
        store
    }

    /// Makes room for the labels of `steps` steps, since growing long lists is slow.
    pub(super) fn reserve(&mut self, steps: usize) {
        let steps = steps.min(MAX_EXPECTED_STEPS);
        self.values.reserve(steps * VALUES_OF_A_STEP);
        self.graph.reserve(steps * NODES_OF_A_STEP);
        self.object_fields.reserve(steps * FIELDS_OF_A_STEP);
        self.fields.reserve(steps);
        self.first_items.reserve(steps);
        self.lengths.reserve(steps);
        self.output_nodes.reserve(steps * 2);
    }

    /// Sets the labels that servers have stated for the outputs of steps.
    pub(super) fn set_stated(&mut self, stated: &[(Arc<str>, ValueLabels)]) {
        for (step, labels) in stated {
            let flags = self.stated.entry(Arc::clone(step)).or_default();
            flags.add((*labels).into());
        }
    }

    /// Returns true if the author of the plan has read untrusted text.
    pub(super) fn is_exposed(&self) -> bool {
        self.keys.is_some()
    }

    /// Returns the labels of literals and inputs.
    pub(super) fn planner(&self) -> LabelsId {
        self.planner
    }

    /// Returns the labels of a literal.
    pub(super) fn literal(&mut self, value: &Value) -> LabelsId {
        // The fields of a trusted value are trusted as well.
        if self.keys.is_none() {
            return self.planner;
        }
        let planner = self.planner_scalar;
        self.structured(value, planner)
    }

    /// Returns the labels of an input that fits `schema`.
    pub(super) fn input(&mut self, schema: &Value) -> LabelsId {
        match (self.keys, schema) {
            (Some(planner), Value::Object(_)) => {
                let schema = Schema::from_value(schema.clone());
                // Other inputs may be objects with any fields.
                if may_have_fields(schema.structure()) {
                    return self.planner;
                }
                self.scalar(planner)
            }
            _ => self.planner,
        }
    }

    /// Returns the labels of a value of an earlier run, which has one label.
    pub(super) fn recalled(&mut self, value: &Value, node: NodeId) -> LabelsId {
        let scalar = self.scalar(node);
        let parts = self.structured(value, scalar);
        // Its keys, too, are of that run.
        self.with(parts, node)
    }

    /// Returns the labels of a known value whose parts have the label `scalar`.
    pub(super) fn structured(&mut self, value: &Value, scalar: LabelsId) -> LabelsId {
        match value {
            Value::Object(fields) => {
                let fields: Vec<_> = fields
                    .iter()
                    .map(|(key, value)| (Arc::clone(key), self.structured(value, scalar)))
                    .collect();
                self.object(fields)
            }
            Value::List(items) => {
                let items: Vec<_> = items
                    .iter()
                    .map(|item| self.structured(item, scalar))
                    .collect();
                let item = self.any_of(&items);
                self.list(item)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => scalar,
        }
    }

    /// Returns the labels of a value that the engine computes itself, such as the position in a loop.
    pub(super) fn nothing(&self) -> LabelsId {
        self.nothing
    }

    pub(super) fn whole(&mut self, node: NodeId) -> LabelsId {
        self.push(Labels::Whole(node))
    }

    /// Returns the labels of a value without fields.
    pub(super) fn scalar(&mut self, node: NodeId) -> LabelsId {
        self.push(Labels::Scalar(node))
    }

    /// Returns the labels of a value that fits `shape` and has one label.
    pub(super) fn typed(&mut self, shape: &Type, node: NodeId) -> LabelsId {
        let id = TypeId(position(self.types.len()));
        self.types.push(shape.clone());
        self.push(Labels::Typed(id, node))
    }

    fn shape(&self, id: TypeId) -> &Type {
        self.types.get(id.0 as usize).unwrap_or(&Type::Any)
    }

    /// Returns the tool with the rules of `policy` for its outputs.
    pub(super) fn tool(&mut self, policy: &'a FlowPolicy, tool: &'a Tool) -> ToolId {
        let next = ToolId(position(self.tools.len()));
        *self
            .tool_ids
            .entry(std::ptr::from_ref(tool))
            .or_insert_with(|| {
                self.tools.push(ToolOutputs::of(policy, tool));
                next
            })
    }

    /// Returns the tool `id` with its rules.
    pub(super) fn tool_outputs(&self, id: ToolId) -> Option<&ToolOutputs<'a>> {
        self.tools.get(id.0 as usize)
    }

    /// Returns the name of the tool `id`, as `server.tool`.
    pub(super) fn tool_name(&self, id: ToolId) -> ToolName {
        let outputs = self.tool_outputs(id);
        outputs.map_or_else(ToolName::default, |outputs| outputs.name.clone())
    }

    /// Returns the labels of the output of `tool`, which `step` calls.
    pub(super) fn output(&mut self, step: Arc<str>, tool: ToolId) -> LabelsId {
        let part = PartId::WHOLE;
        let call = position(self.outputs.len());
        self.outputs.push(LabelledOutput {
            step,
            tool,
            call: None,
        });
        self.push(Labels::Output(OutputPart { call, part }))
    }

    /// Returns the tool of a call.
    fn called(&self, output: OutputPart) -> Option<&ToolOutputs<'a>> {
        let call = self.outputs.get(output.call as usize)?;
        self.tool_outputs(call.tool)
    }

    /// Returns the labels of an object whose keys the plan spells out.
    pub(super) fn object(
        &mut self,
        fields: impl IntoIterator<Item = (Arc<str>, LabelsId)>,
    ) -> LabelsId {
        self.object_of(fields.into_iter().collect(), Keys::Plan)
    }

    /// Returns the labels of an object whose keys no planner chooses.
    pub(super) fn record(
        &mut self,
        fields: impl IntoIterator<Item = (Arc<str>, LabelsId)>,
    ) -> LabelsId {
        self.object_of(fields.into_iter().collect(), Keys::Engine)
    }

    fn object_of(&mut self, mut fields: Vec<(Arc<str>, LabelsId)>, keys: Keys) -> LabelsId {
        // Sorted, so that a field is found quickly. Of several fields with the same name the last one counts.
        fields.reverse();
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        fields.dedup_by(|(later, _), (last, _)| later == last);
        let start = position(self.object_fields.len());
        self.object_fields.append(&mut fields);
        let end = position(self.object_fields.len());
        self.push(Labels::Object(FieldRange { start, end }, keys))
    }

    /// Returns the fields of an object, sorted by their names.
    fn fields_in(&self, range: FieldRange) -> &[(Arc<str>, LabelsId)] {
        let range = range.start as usize..range.end as usize;
        self.object_fields.get(range).unwrap_or_default()
    }

    pub(super) fn list(&mut self, item: LabelsId) -> LabelsId {
        self.push(Labels::List(item))
    }

    pub(super) fn any_of(&mut self, values: &[LabelsId]) -> LabelsId {
        // Most choices have one or two alternatives, and need no list of distinct ones.
        match values {
            [only] => return *only,
            [one, other] if one == other => return *one,
            [_, _] => return self.push_alternatives(values),
            _ => {}
        }
        let mut distinct: Vec<LabelsId> = Vec::with_capacity(values.len());
        for value in values {
            if distinct.len() > 16 || !distinct.contains(value) {
                distinct.push(*value);
            }
        }
        match distinct.as_slice() {
            [] => self.nothing,
            [same] => *same,
            _ => self.push_alternatives(&distinct),
        }
    }

    fn push_alternatives(&mut self, values: &[LabelsId]) -> LabelsId {
        let range = self.range_of(values);
        self.push(Labels::AnyOf(range))
    }

    fn range_of(&mut self, values: &[LabelsId]) -> ValueRange {
        let start = position(self.alternatives.len());
        self.alternatives.extend_from_slice(values);
        let end = position(self.alternatives.len());
        ValueRange { start, end }
    }

    /// Returns the alternatives of a choice.
    fn alternatives_in(&self, range: ValueRange) -> &[LabelsId] {
        self.alternatives.get(range.indices()).unwrap_or_default()
    }

    /// Returns the choice of what `part` returns for each alternative of a choice.
    fn map_alternatives(
        &mut self,
        range: ValueRange,
        mut part: impl FnMut(&mut Self, LabelsId) -> LabelsId,
    ) -> LabelsId {
        let mut parts = Vec::with_capacity(range.indices().len());
        for index in range.indices() {
            if let Some(value) = self.alternatives.get(index).copied() {
                parts.push(part(self, value));
            }
        }
        self.any_of(&parts)
    }

    /// Returns `value`, on which `other` had influence as well.
    pub(super) fn with(&mut self, value: LabelsId, other: NodeId) -> LabelsId {
        self.push(Labels::With(value, other))
    }

    pub(super) fn passed(&mut self, value: LabelsId, passage: Passage) -> LabelsId {
        let passage = self.graph.add_passage(passage);
        self.push(Labels::Passed(value, passage))
    }

    /// Returns the label that joins `values`.
    pub(super) fn join_values(&mut self, values: impl IntoIterator<Item = LabelsId>) -> NodeId {
        let start = self.pending.len();
        for value in values {
            let node = self.join(value);
            self.pending.push(node);
        }
        self.graph.join(self.pending.drain(start..))
    }

    /// Returns one label for a value that may contain all of `values`.
    pub(super) fn join_of(&mut self, values: &[LabelsId]) -> LabelsId {
        let node = self.join_values(values.iter().copied());
        self.whole(node)
    }

    /// Returns the label of a text, number or boolean that is computed from `values`, or of a list of such.
    pub(super) fn computed_from(&mut self, values: &[LabelsId]) -> LabelsId {
        let node = self.join_values(values.iter().copied());
        self.push(Labels::Scalar(node))
    }

    /// Returns the label of a number or boolean that is computed from `values`, or of a list of such.
    pub(super) fn number_from(&mut self, values: &[LabelsId]) -> LabelsId {
        let node = self.join_values(values.iter().copied());
        self.push(Labels::Number(node))
    }

    fn push(&mut self, labels: Labels) -> LabelsId {
        let id = LabelsId(position(self.values.len()));
        let of = |inner: &LabelsId| self.values.get(inner.0 as usize).map(|value| value.nesting);
        let inside = match labels {
            Labels::Whole(_)
            | Labels::Scalar(_)
            | Labels::Number(_)
            | Labels::Typed(..)
            | Labels::Open(..)
            | Labels::Output(_) => None,
            Labels::Object(fields, _) => {
                let fields = self.fields_in(fields).iter();
                fields.filter_map(|(_, field)| of(field)).max()
            }
            Labels::AnyOf(values) => self.alternatives_in(values).iter().filter_map(of).max(),
            Labels::List(value)
            | Labels::With(value, _)
            | Labels::Distinct(value, _)
            | Labels::Counted(value, _)
            | Labels::Passed(value, _) => of(&value),
            Labels::Sized(value, like) => of(&value).max(of(&like)),
        };
        let nesting = inside.map_or(0, |inside| inside + 1);
        self.values.push(LabelledValue {
            labels,
            nesting,
            joined: None,
        });
        if nesting > MAX_NESTING {
            let node = self.join(id);
            if let Some(value) = self.values.get_mut(id.0 as usize) {
                value.labels = Labels::Whole(node);
                value.nesting = 0;
            }
        }
        id
    }

    /// Returns true if what was found about parts of a value is stored. Of a choice it always is: it may have any number of
    /// alternatives.
    fn is_stored(&self, id: LabelsId, labels: Labels) -> bool {
        let value = self.values.get(id.0 as usize);
        matches!(labels, Labels::AnyOf(_))
            || value.is_none_or(|value| value.nesting > MAX_UNSTORED_NESTING)
    }

    fn get(&self, id: LabelsId) -> Labels {
        let known = self.values.get(id.0 as usize);
        known.map_or(Labels::List(self.nothing), |value| value.labels)
    }

    /// Returns the join over a value and all of its parts.
    pub(super) fn join(&mut self, id: LabelsId) -> NodeId {
        let known = self.values.get(id.0 as usize);
        if let Some(known) = known.and_then(|value| value.joined) {
            return known;
        }
        let node = match self.get(id) {
            Labels::Whole(node)
            | Labels::Scalar(node)
            | Labels::Number(node)
            | Labels::Typed(_, node)
            | Labels::Open(_, node) => return node,
            Labels::Output(output) => self.output_node(output),
            Labels::Object(fields, keys) => {
                let start = self.pending.len();
                for index in fields.start..fields.end {
                    let field = self
                        .object_fields
                        .get(index as usize)
                        .map(|(_, field)| *field);
                    let node = field.map(|field| self.join(field));
                    self.pending.extend(node);
                }
                let keys = self.keys.filter(|_| keys == Keys::Plan);
                self.graph.join(self.pending.drain(start..).chain(keys))
            }
            Labels::List(item) => self.join(item),
            Labels::AnyOf(values) => {
                let start = self.pending.len();
                for index in values.indices() {
                    let value = self.alternatives.get(index).copied();
                    let node = value.map(|value| self.join(value));
                    self.pending.extend(node);
                }
                self.graph.join(self.pending.drain(start..))
            }
            Labels::Sized(value, _) => self.join(value),
            Labels::With(value, other)
            | Labels::Distinct(value, other)
            | Labels::Counted(value, other) => {
                let value = self.join(value);
                self.graph.join([value, other])
            }
            Labels::Passed(value, passage) => {
                let value = self.join(value);
                self.graph.passage(value, passage)
            }
        };
        if let Some(value) = self.values.get_mut(id.0 as usize) {
            value.joined = Some(node);
        }
        node
    }

    fn output_node(&mut self, output: OutputPart) -> NodeId {
        if let Some(known) = self.output_nodes.get(&output) {
            return *known;
        }
        let called = self.outputs.get_mut(output.call as usize);
        let tool =
            called.and_then(|called| Some((self.tools.get(called.tool.0 as usize)?, called)));
        let node = match tool {
            Some((tool, called)) => {
                let stated = self.stated.get(&called.step).copied().unwrap_or_default();
                let labels: Rc<[_]> = tool.labels(output.part);
                let start = self.pending.len();
                let call = *called.call.get_or_insert_with(|| {
                    let (step, tool) = (Arc::clone(&called.step), Arc::clone(tool.name.text()));
                    self.graph.add_call(step, tool)
                });
                for (field, flags) in labels.iter() {
                    let mut flags = *flags;
                    flags.add(stated);
                    let node = self.graph.output(call, Arc::clone(field), flags);
                    self.pending.push(node);
                }
                self.graph.join(self.pending.drain(start..))
            }
            None => self.graph.open(),
        };
        self.output_nodes.insert(output, node);
        node
    }
}

impl ValueRange {
    fn indices(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Returns a position in a list. A plan has far fewer parts than that: its text is limited to some megabytes.
fn position(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// Returns true if `key` is a number, which selects an item of a list.
pub(super) fn is_position(key: &str) -> bool {
    let digits = match key.as_bytes() {
        [b'-', digits @ ..] | digits => digits,
    };
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}
