//! A running plan: the run's own, an instance of it, or an inner plan.

use std::collections::HashSet;
use std::ops::Range;
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
