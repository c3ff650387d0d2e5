//! One plan under way: the run's own, an instance of it, or a plan that a step runs.

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::plan::{InputKind, SlotKind};
use planwright_core::{Hashing, Object, Value};

use super::outcome::Outcome;
use super::slots::Slots;
use crate::schedule::TaskId;

/// One plan under way.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) plan: CheckedPlan,
    /// The task that runs this plan as its action; none for the run's own plan.
    pub(crate) owner: Option<TaskId>,
    pub(crate) instance: Option<Arc<str>>,
    pub(crate) slots: Slots,
    /// By step: its task, where the step runs in this frame.
    pub(crate) tasks: Vec<Option<TaskId>>,
    /// By step: what became of it.
    pub(crate) outcomes: Vec<Option<Arc<Outcome>>>,
    /// The steps that do not start before the plan is whole.
    pub(crate) held: Vec<usize>,
    /// The first step whose failure is the plan's.
    pub(crate) failed: Option<u32>,
}

impl Frame {
    /// A plan about to start, with what it is given over what it has.
    pub(crate) fn new(
        plan: CheckedPlan,
        owner: Option<TaskId>,
        instance: Option<Arc<str>>,
        given: &Object,
        shared: Option<Arc<Slots>>,
    ) -> Self {
        let mut slots = shared.map_or_else(Slots::default, Slots::over);
        fill(&mut slots, &plan, instance.as_ref(), given);
        Self {
            tasks: Vec::new(),
            outcomes: Vec::new(),
            held: Vec::new(),
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
    fill(&mut slots, plan, None, &Object::default());
    slots
}

/// Puts into the slots what is there before the first step: first what is meant for everyone, then, over it, what is
/// meant for this instance; the inputs by what was given over their defaults.
fn fill(slots: &mut Slots, plan: &CheckedPlan, instance: Option<&Arc<str>>, given: &Object) {
    let variables = plan.plan().inputs.iter().filter_map(|input| {
        let value = given
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
        for fields in [plan.inputs(), given] {
            slots.fill(SlotKind::Inputs, &Value::from(fields.clone()));
        }
        let inputs = plan.plan().inputs.iter();
        let declared: HashSet<&Arc<str>, Hashing> = inputs.map(|input| &input.name).collect();
        let undeclared: Object = plan
            .inputs()
            .iter()
            .filter(|(name, _)| !declared.contains(name))
            .map(|(name, value)| (Arc::clone(name), value.clone()))
            .collect();
        slots.fill(SlotKind::Vars, &undeclared.into());
    }
}
