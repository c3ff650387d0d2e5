//! A running plan: the run's own, an instance of it, or an inner plan.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::plan::{InputKind, SlotKind};
use planwright_core::{Hashing, Object, Value};

use crate::run::outcome::Outcome;
use crate::run::values::slots::Slots;
use crate::schedule::TaskId;

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
