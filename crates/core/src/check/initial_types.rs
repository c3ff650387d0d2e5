//! The types of inputs and slots before the first step.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexSet;

use super::resolved_plan::{PlanRole, ResolvedPlan};
use crate::plan::{Input, InputKind, SlotKind};
use crate::schema::Type;
use crate::{Object, Schema, Value};

/// The types of inputs and slots before the first step, by name.
pub(super) struct InitialTypes<'a> {
    resolved: &'a ResolvedPlan<'a>,
    inputs: HashMap<&'a str, (&'a Input, Schema)>,
    values: HashMap<(SlotKind, &'a str), Vec<&'a Value>>,
    slot_names: RefCell<HashMap<SlotKind, Rc<[Arc<str>]>>>,
    only_variables: OnceCell<bool>,
}

impl<'a> InitialTypes<'a> {
    pub(super) fn of(resolved: &'a ResolvedPlan<'a>) -> Self {
        let inputs = resolved
            .plan
            .inputs
            .iter()
            .map(|input| {
                let schema = Schema::from_value(input.schema.clone());
                (&*input.name, (input, schema))
            })
            .collect();
        let mut values: HashMap<(SlotKind, &str), Vec<&Value>> = HashMap::new();
        for content in &resolved.plan.contents {
            for (name, value) in content.value.as_object().into_iter().flatten() {
                values.entry((content.kind, name)).or_default().push(value);
            }
        }
        Self {
            resolved,
            inputs,
            values,
            slot_names: RefCell::default(),
            only_variables: OnceCell::new(),
        }
    }

    /// Returns the declared input `name` and its schema.
    pub(super) fn input(&self, name: &str) -> Option<(&'a Input, &Schema)> {
        self.inputs
            .get(name)
            .map(|(input, schema)| (*input, schema))
    }

    /// Returns the type of the slot before the first step, or `None` if it is empty.
    pub(super) fn slot_type(&self, kind: SlotKind, name: &str) -> Option<Type> {
        // The content of the caller's slots is unknown here.
        if self.resolved.role.shares(kind) || self.accepts_any_argument(kind) {
            return Some(Type::Any);
        }
        let mut types: Vec<Type> = self
            .values
            .get(&(kind, name))
            .into_iter()
            .flatten()
            .map(|value| self.known_value(kind, name, value))
            .collect();
        types.extend(self.supplied_type(kind, name));
        (!types.is_empty()).then(|| Type::union(types))
    }

    /// Returns the names of the slots of `kind`: those filled before the first step, then those that steps write.
    pub(super) fn slot_names(&self, kind: SlotKind) -> Rc<[Arc<str>]> {
        // The names are needed for each misspelt reference, and there may be many.
        let mut known = self.slot_names.borrow_mut();
        let names = known
            .entry(kind)
            .or_insert_with(|| self.collect_slot_names(kind));
        Rc::clone(names)
    }

    fn collect_slot_names(&self, kind: SlotKind) -> Rc<[Arc<str>]> {
        let inputs = self.resolved.plan.inputs.iter();
        let inputs = inputs
            .filter(|input| is_read_as(input, kind))
            .map(|input| &input.name);
        let contents = self.resolved.plan.contents.iter();
        let contents = contents
            .filter(|content| content.kind == kind)
            .filter_map(|content| content.value.as_object())
            .flat_map(|fields| fields.keys());
        let supplied = matches!(kind, SlotKind::Inputs | SlotKind::Vars);
        let supplied = supplied
            .then(|| self.resolved.inputs.keys())
            .into_iter()
            .flatten();
        let filled: IndexSet<&Arc<str>> = inputs.chain(contents).chain(supplied).collect();
        let by_bare_name = kind == SlotKind::Inputs && self.has_only_variables();
        let written = self.resolved.plan.steps.iter();
        let written = written
            .filter_map(|step| step.writes.as_ref())
            .flat_map(|writes| writes.targets.paths())
            .filter(|target| target.kind == kind || by_bare_name && target.kind == SlotKind::Vars)
            .filter_map(|target| target.keys.first());
        filled.into_iter().chain(written).cloned().collect()
    }

    /// Returns true if the plan uses variables only, which callers set and steps write under the same names.
    pub(super) fn has_only_variables(&self) -> bool {
        *self.only_variables.get_or_init(|| {
            let plan = self.resolved.plan;
            let mut steps = plan.steps.iter();
            plan.contents.is_empty()
                && plan
                    .inputs
                    .iter()
                    .all(|input| input.kind == InputKind::Variable)
                && (!plan.inputs.is_empty() || steps.any(|step| step.writes.is_some()))
        })
    }

    /// Returns true if the plan gets its inputs from arguments or later, and declares none: then it accepts any.
    fn accepts_any_argument(&self, kind: SlotKind) -> bool {
        !matches!(self.resolved.role, PlanRole::Main)
            && self.inputs.is_empty()
            && matches!(kind, SlotKind::Inputs | SlotKind::Vars)
    }

    /// Returns the type of a value that the caller gives or that an input declares.
    fn supplied_type(&self, kind: SlotKind, name: &str) -> Option<Type> {
        if !matches!(kind, SlotKind::Inputs | SlotKind::Vars) {
            return None;
        }
        let declared = self.input(name);
        if declared.is_some_and(|(input, _)| !is_read_as(input, kind)) {
            return None;
        }
        // A given value replaces the default.
        if let Some(value) = self.resolved.inputs.get(name) {
            return Some(self.known_value(kind, name, value));
        }
        let (input, schema) = declared?;
        match (&input.default, self.resolved.role.is_main()) {
            // The caller of a sub-plan may override the default.
            (Some(default), true) => Some(self.known_value(kind, name, default)),
            _ => Some(schema.structure().clone()),
        }
    }

    /// Returns the type of a known value. Messages quote types, so a value with a secret part gets the type of its
    /// schema.
    fn known_value(&self, kind: SlotKind, name: &str, value: &Value) -> Type {
        let is_input = matches!(kind, SlotKind::Inputs | SlotKind::Vars);
        if is_input && self.resolved.plan.has_secret_inputs() {
            let inputs = Object::from_iter([(Arc::from(name), value.clone())]);
            if !self.resolved.plan.secret_parts(&inputs).is_empty() {
                let schema = self.input(name).map(|(_, schema)| schema);
                return schema.map_or(Type::Any, |schema| schema.structure().clone());
            }
        }
        Type::Literal(value.clone())
    }
}

/// Returns true if `input` is read as a slot of `kind`.
fn is_read_as(input: &Input, kind: SlotKind) -> bool {
    kind == SlotKind::Inputs || (kind == SlotKind::Vars && input.kind == InputKind::Variable)
}
