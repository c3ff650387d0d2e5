//! A running plan (the run's own, an instance of it, or an inner plan), and its inputs and slots.
//! Writes apply in plan order, not in the order in which they arrive: of two writers to one slot, the later one in the plan wins. So if a
//! write arrives after an overlapping one that is later in the plan, the slots of its kind are rebuilt from the log at the next read. The
//! order of fields follows the plan, too.
//!
//! Design: [Slot writes count in plan order](https://github.com/planwright/planwright/blob/main/docs/design/execution.md#slot-writes-count-in-plan-order).

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use planwright_core::check::CheckedPlan;
use planwright_core::plan::{InputKind, Method, SlotKind, SlotPath};
use planwright_core::{Hashing, Object, Value};

use crate::run::outcome::Outcome;
use crate::schedule::TaskId;

/// The inputs and slots of one running plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    kinds: HashMap<SlotKind, SlotValues>,
    /// The slots that all instances share, for names without a value here.
    shared: Option<Arc<Slots>>,
}

#[derive(Clone, Debug)]
struct SlotValues {
    initial: Value,
    /// The slots built from the log; unset after a late write, until they are read.
    current: OnceLock<Value>,
    /// The writes, in plan order.
    log: Vec<SlotWrite>,
    /// True if the slots of `current` may be in another order than in the plan.
    order_is_stale: bool,
}

#[derive(Clone, Debug)]
struct SlotWrite {
    order: u32,
    keys: Vec<Arc<str>>,
    method: Method,
    value: Value,
    text: Option<Arc<str>>,
}

impl Default for SlotValues {
    fn default() -> Self {
        Self {
            initial: Value::empty_object(),
            current: OnceLock::new(),
            log: Vec::new(),
            order_is_stale: false,
        }
    }
}

impl SlotValues {
    fn current(&self) -> &Value {
        self.current.get_or_init(|| self.build())
    }

    /// All slots, built from the log.
    fn build(&self) -> Value {
        let mut build = self.initial.clone();
        for write in &self.log {
            apply(&mut build, &write.keys, write.method, &write.value);
        }
        build
    }
}

impl Slots {
    /// Creates slots that fall back to `shared` for missing names.
    pub(crate) fn over(shared: Arc<Slots>) -> Self {
        Self {
            kinds: HashMap::new(),
            shared: Some(shared),
        }
    }

    /// Merges the fields of `value` into the initial values.
    pub(crate) fn fill(&mut self, kind: SlotKind, value: &Value) {
        let entry = self.kinds.entry(kind).or_default();
        entry.current = OnceLock::new();
        entry.initial = assign(std::mem::take(&mut entry.initial), value);
    }

    /// All slots of `kind`, as an object.
    pub(crate) fn all(&self, kind: SlotKind) -> Value {
        let own = self.own(kind);
        match &self.shared {
            Some(shared) => assign(shared.all(kind), &own),
            None => own,
        }
    }

    /// The slots of `kind` that are not shared with other instances, as an object.
    pub(crate) fn own(&self, kind: SlotKind) -> Value {
        self.kinds
            .get(&kind)
            .map_or_else(Value::empty_object, |kind| {
                if kind.order_is_stale {
                    kind.build()
                } else {
                    kind.current().clone()
                }
            })
    }

    /// The slot `name` of `kind`.
    pub(crate) fn get(&self, kind: SlotKind, name: &str) -> Option<&Value> {
        self.kinds
            .get(&kind)
            .and_then(|kind| kind.current().get(name))
            .or_else(|| self.shared.as_ref()?.get(kind, name))
    }

    /// The verbatim text that the slot at `keys` was written from, if its value differs from it.
    pub(crate) fn text(&self, kind: SlotKind, keys: &[Arc<str>]) -> Option<&Arc<str>> {
        let log = &self.kinds.get(&kind)?.log;
        // Only a plain `set` of exactly this slot preserves the text.
        let last = log.iter().rev().find(|write| overlaps(&write.keys, keys))?;
        (last.keys == keys && last.method == Method::Set)
            .then_some(last.text.as_ref())
            .flatten()
    }

    /// Returns the value that the slot at `path` has after a write.
    pub(crate) fn after_write(&self, path: &SlotPath, method: Method, value: &Value) -> Value {
        let mut all = self.all(path.kind);
        apply(&mut all, &path.keys, method, value);
        let mut keys = path.keys.iter();
        let written = keys.try_fold(&all, |found, key| found.get(key));
        written.cloned().unwrap_or_default()
    }

    /// Writes a slot. `order` is the writer's position in the plan.
    pub(crate) fn write(
        &mut self,
        order: u32,
        path: &SlotPath,
        method: Method,
        value: Value,
        text: Option<Arc<str>>,
    ) {
        let kind = self.kinds.entry(path.kind).or_default();
        let write = SlotWrite {
            order,
            keys: path.keys.clone(),
            method,
            value,
            text,
        };
        // Writes of one step stay in the order of its paths.
        let at = kind.log.partition_point(|earlier| earlier.order <= order);
        let overtaken = kind.log.iter().skip(at).any(|later| {
            overlaps(&later.keys, &write.keys) || later.keys.first() == write.keys.first()
        });
        // A later write of the plan was applied first, so the slots are rebuilt when they are next read.
        if overtaken {
            kind.current = OnceLock::new();
            kind.order_is_stale = false;
        } else if let Some(current) = kind.current.get_mut() {
            apply(current, &write.keys, write.method, &write.value);
            // The values are right, but a new slot may now follow those of later steps.
            kind.order_is_stale |= at < kind.log.len();
        }
        kind.log.insert(at, write);
    }
}

/// A running plan.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) plan: CheckedPlan,
    /// The task that runs this plan as its action; `None` for the run's own plan.
    pub(crate) owner: Option<TaskId>,
    pub(crate) instance: Option<Arc<str>>,
    pub(crate) slots: Slots,
    /// The task of each step, if the step runs in this frame.
    pub(crate) tasks: Vec<Option<TaskId>>,
    /// The outcome of each step.
    pub(crate) outcomes: Vec<Option<Arc<Outcome>>>,
    /// The steps that do not start before the plan is complete.
    pub(crate) deferred: Vec<usize>,
    /// The first step whose failure fails the plan.
    pub(crate) failed: Option<u32>,
}

/// The running plans of a run: first those of the run itself, then the inner ones in the order of their start.
#[derive(Debug)]
pub(in crate::run) struct Frames {
    all: Vec<Frame>,
    /// The number of frames of the run's own plan: one, or one per instance.
    roots: usize,
    /// The slots that all instances share.
    shared_slots: Arc<Slots>,
}

impl Frames {
    pub(in crate::run) fn new(shared_slots: Slots) -> Self {
        Self {
            all: Vec::new(),
            roots: 0,
            shared_slots: Arc::new(shared_slots),
        }
    }

    /// Adds a frame and returns its index.
    pub(in crate::run) fn push(&mut self, frame: Frame) -> usize {
        self.all.push(frame);
        self.all.len() - 1
    }

    /// Ends the frames of the run's own plan: frames that follow belong to inner plans.
    pub(in crate::run) fn end_roots(&mut self) {
        self.roots = self.all.len();
    }

    pub(in crate::run) fn get(&self, index: usize) -> Option<&Frame> {
        self.all.get(index)
    }

    pub(in crate::run) fn get_mut(&mut self, index: usize) -> Option<&mut Frame> {
        self.all.get_mut(index)
    }

    /// The number of frames, which is the index of the next one.
    pub(in crate::run) fn len(&self) -> usize {
        self.all.len()
    }

    /// The indices of the frames of the run's own plan.
    pub(in crate::run) fn root_indices(&self) -> Range<usize> {
        0..self.roots
    }

    /// The frames of the run's own plan.
    pub(in crate::run) fn roots(&self) -> impl Iterator<Item = &Frame> {
        self.all.iter().take(self.roots)
    }

    /// The slots that all instances share.
    pub(in crate::run) fn shared_slots(&self) -> &Arc<Slots> {
        &self.shared_slots
    }
}

impl Frame {
    /// Creates a frame for a plan that is about to start, with `arguments` over its own inputs.
    pub(crate) fn new(
        plan: CheckedPlan,
        owner: Option<TaskId>,
        instance: Option<Arc<str>>,
        arguments: &Object,
        shared: Option<Arc<Slots>>,
    ) -> Self {
        let mut slots = shared.map_or_else(Slots::default, Slots::over);
        set_initial_values(&mut slots, &plan, instance.as_ref(), arguments);
        Self {
            tasks: Vec::new(),
            outcomes: Vec::new(),
            deferred: Vec::new(),
            failed: None,
            plan,
            owner,
            instance,
            slots,
        }
    }

    pub(crate) fn outcome(&self, step: u32) -> Option<&Arc<Outcome>> {
        self.outcomes.get(step as usize)?.as_ref()
    }

    pub(crate) fn task(&self, step: u32) -> Option<TaskId> {
        *self.tasks.get(step as usize)?
    }
}

/// The slots that all instances of `plan` share.
pub(crate) fn shared_slots(plan: &CheckedPlan) -> Slots {
    let mut slots = Slots::default();
    set_initial_values(&mut slots, plan, None, &Object::default());
    slots
}

/// Returns true if one path is a prefix of the other.
fn overlaps(a: &[Arc<str>], b: &[Arc<str>]) -> bool {
    a.iter().zip(b).all(|(a, b)| a == b)
}

fn apply(at: &mut Value, keys: &[Arc<str>], method: Method, value: &Value) {
    let Some((key, rest)) = keys.split_first() else {
        let old = std::mem::take(at);
        *at = combine(Some(old), method, value);
        return;
    };
    // A write below a value that is not an object replaces it.
    if at.as_object().is_none() {
        *at = Value::empty_object();
    }
    if let Value::Object(fields) = at {
        let fields = Arc::make_mut(fields);
        if rest.is_empty() {
            // After it is taken out, the value has a single owner and can grow in place.
            let old = fields.get_mut(key).map(std::mem::take);
            let combined = combine(old, method, value);
            fields.insert(Arc::clone(key), combined);
        } else {
            let below = fields
                .entry(Arc::clone(key))
                .or_insert_with(Value::empty_object);
            apply(below, rest, method, value);
        }
    }
}

/// Combines `old` with a new value. A list or object with a single owner grows in place; otherwise each of many
/// writers would copy it.
fn combine(old: Option<Value>, method: Method, new: &Value) -> Value {
    match (method, old) {
        (Method::Merge, Some(old)) => merge(old, new),
        (Method::Assign, Some(old)) => assign(old, new),
        (Method::Push, old) => {
            let mut items = items_of(old);
            Arc::make_mut(&mut items).push(new.clone());
            Value::List(items)
        }
        (Method::Concat, old) => {
            let mut items = items_of(old);
            let all = Arc::make_mut(&mut items);
            match new {
                Value::List(more) => all.extend(more.iter().cloned()),
                other => all.push(other.clone()),
            }
            Value::List(items)
        }
        (Method::Set | Method::Merge | Method::Assign, _) => new.clone(),
    }
}

/// The items of a list; another value is one item, no value none.
fn items_of(value: Option<Value>) -> Arc<Vec<Value>> {
    match value {
        None | Some(Value::Null) => Arc::default(),
        Some(Value::List(items)) => items,
        Some(other) => Arc::new(vec![other]),
    }
}

/// The fields of both, at the first level; those of `new` win. A value that is not an object is replaced.
fn assign(old: Value, new: &Value) -> Value {
    with_fields(old, new, |_, new| new.clone())
}

/// The fields of both, at every depth; those of `new` win. A value that is not an object is replaced.
fn merge(old: Value, new: &Value) -> Value {
    with_fields(old, new, |old, new| match old {
        Some(old) => merge(old, new),
        None => new.clone(),
    })
}

/// The fields of both; `both` combines a field of `new` with that of `old`, if it has one.
fn with_fields(old: Value, new: &Value, both: impl Fn(Option<Value>, &Value) -> Value) -> Value {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) if new.is_empty() => Value::Object(old),
        (Value::Object(mut old), Value::Object(new)) if !old.is_empty() => {
            let fields = Arc::make_mut(&mut old);
            for (key, value) in new.iter() {
                let before = fields.get_mut(key).map(std::mem::take);
                fields.insert(Arc::clone(key), both(before, value));
            }
            Value::Object(old)
        }
        // An empty `old` is replaced as well, so that the new object stays shared.
        _ => new.clone(),
    }
}

/// Sets the initial values of the slots: first those for all instances, then those for this one; inputs that were
/// arguments replace their defaults.
fn set_initial_values(
    slots: &mut Slots,
    plan: &CheckedPlan,
    instance: Option<&Arc<str>>,
    arguments: &Object,
) {
    let variables = plan.plan().inputs.iter().filter_map(|input| {
        let value = arguments
            .get(&input.name)
            .or_else(|| plan.inputs().get(&input.name))
            .or(input.default.as_ref())
            .filter(|_| input.kind == InputKind::Variable);
        Some((Arc::clone(&input.name), value?.clone()))
    });
    slots.fill(SlotKind::Vars, &Value::object(variables));
    for content in &plan.plan().contents {
        if content.instance.as_ref() == instance {
            slots.fill(content.kind, &content.value);
        }
    }
    if instance.is_none() {
        // The later ones win.
        for fields in [plan.inputs(), arguments] {
            slots.fill(SlotKind::Inputs, &Value::from(fields.clone()));
        }
        let inputs = plan.plan().inputs.iter();
        let declared: HashSet<&Arc<str>, Hashing> = inputs.map(|input| &input.name).collect();
        // Inputs without a declaration are readable as variables, too.
        let undeclared: Object = plan
            .inputs()
            .iter()
            .filter(|(name, _)| !declared.contains(name))
            .map(|(name, value)| (Arc::clone(name), value.clone()))
            .collect();
        slots.fill(SlotKind::Vars, &undeclared.into());
    }
}

#[cfg(test)]
mod tests;
