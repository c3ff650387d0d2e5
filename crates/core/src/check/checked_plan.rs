//! A plan that was proved sound: the only thing that an engine takes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::writers::{SlotWriters, slot_keys};
use crate::plan::{Action, Approval, Outside, Read, SlotKind, Source};
use crate::{Diagnostics, Hashing, Object, Plan, Step, StepId, Tool};

/// A plan without errors, and what the check learned about it. Only [`check()`](crate::check())
/// makes one. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct CheckedPlan {
    data: Arc<CheckedData>,
    warnings: Arc<Diagnostics>,
}

#[derive(Debug)]
pub(super) struct CheckedData {
    pub(super) plan: Plan,
    pub(super) steps: Vec<CheckedStep>,
    pub(super) ids: HashMap<StepId, u32, Hashing>,
    pub(super) writers: SlotWriters,
    pub(super) digest: String,
    pub(super) inputs: Object,
    /// The reads of slots that no step of the plan writes, sub-plans that share the slots included.
    pub(super) unwritten_slot_reads: Vec<Read>,
    pub(super) size: PlanSize,
}

/// How large a plan is together with the plans that its steps run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PlanSize {
    /// The steps of all of them: as often as they are run in a plan without loops.
    pub(super) steps: usize,
    /// How deep plans run plans in it: 0 where no step runs one.
    pub(super) depth: usize,
}

impl PlanSize {
    /// The extent of `plan`, of which `instances` run side by side.
    pub(super) fn of(plan: &Plan, sub_plans: &[Option<CheckedPlan>], instances: usize) -> Self {
        let mut whole = Self::default();
        for (step, sub_plan) in plan.steps.iter().zip(sub_plans) {
            let mut steps = 1;
            if let Some(inner) = sub_plan.as_ref().map(CheckedPlan::size) {
                steps = inner.steps.saturating_add(1);
                whole.depth = whole.depth.max(inner.depth + 1);
            }
            if step.instance.is_none() {
                steps = steps.saturating_mul(instances);
            }
            whole.steps = whole.steps.saturating_add(steps);
        }
        whole
    }
}

/// What the check learned about one step.
#[derive(Clone, Debug)]
pub struct CheckedStep {
    /// The step's position in the plan.
    pub index: u32,
    /// The tool that it calls.
    pub tool: Option<Arc<Tool>>,
    /// The plan that it runs.
    pub plan: Option<CheckedPlan>,
    /// Every step that this one may wait for, each once per kind, by position.
    pub dependencies: Vec<Dependency>,
    /// The steps that must have settled before this one is looked at for the first time, by
    /// position: all dependencies but those behind an earlier alternative.
    pub first_waits: Vec<u32>,
}

/// One step waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dependency {
    /// The position of the step that is waited for.
    pub on: u32,
    /// Why.
    pub kind: DependencyKind,
    /// Whether it is waited for only when what stands before it turned out to be missing.
    pub optional: bool,
}

/// Why one step waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DependencyKind {
    /// It reads its output, or what became of it.
    Data,
    /// It reads a slot that the other may write.
    Slot,
    /// Its author wants it to come after the other.
    Order,
    /// The plan's steps run in the order in which they are listed.
    Listed,
}

impl CheckedPlan {
    pub(super) fn new(data: CheckedData) -> Self {
        Self {
            data: Arc::new(data),
            warnings: Arc::default(),
        }
    }

    /// The same plan, with `warnings` in place of what [`warnings`](Self::warnings) said.
    pub fn with_warnings(self, warnings: Diagnostics) -> Self {
        Self {
            warnings: Arc::new(warnings),
            ..self
        }
    }

    /// What was found that keeps no plan from running. Whoever read the plan's text adds what was found there.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.data.plan
    }

    /// What is known about its steps, in their order.
    pub fn steps(&self) -> &[CheckedStep] {
        &self.data.steps
    }

    /// The position of the step `id`.
    pub fn step_index(&self, id: &str) -> Option<u32> {
        self.data.ids.get(id).copied()
    }

    pub(super) fn size(&self) -> PlanSize {
        self.data.size
    }

    /// What the plan reads from outside, by name, the plans that it runs included.
    pub fn outside(&self) -> BTreeSet<(Outside, Arc<str>)> {
        let mut names = BTreeSet::new();
        for (step, checked) in self.plan().steps.iter().zip(self.steps()) {
            step.args.each_reference(&mut |reference| {
                for read in reference.reads() {
                    if let Source::Outside(what, name) = &read.source {
                        names.insert((*what, Arc::clone(name)));
                    }
                }
            });
            names.extend(checked.plan.iter().flat_map(Self::outside));
        }
        names
    }

    /// What the plan means, as SHA-256 in hexadecimal digits: the same for plans that differ only
    /// in layout, titles and notes.
    pub fn digest(&self) -> &str {
        &self.data.digest
    }

    /// The values of the inputs by name: what was given over the defaults. Of a plan that runs as
    /// a step: its defaults.
    pub fn inputs(&self) -> &Object {
        &self.data.inputs
    }

    /// The steps that must have settled before `read` can be answered, by position: the step
    /// itself, or all that may write a part of the slot, the slot, or one around it.
    pub fn producers(&self, read: &Read) -> Vec<u32> {
        producers(&self.data.ids, &self.data.writers, read)
    }

    /// Whether a step of the plan may write what `read` reads.
    pub(super) fn writes(&self, read: &Read) -> bool {
        let Source::Slot(kind) = read.source else {
            return false;
        };
        let overlap = self.data.writers.overlapping(kind, slot_keys(&read.path));
        !overlap.is_empty()
    }

    /// The places of slots of `kind` that the plan reads and that none of its steps writes: what
    /// it takes from its caller where the caller shares the slots.
    pub fn unwritten_slot_reads(&self, kind: SlotKind) -> impl Iterator<Item = &Read> {
        self.data
            .unwritten_slot_reads
            .iter()
            .filter(move |read| read.source == Source::Slot(kind))
    }
}

pub(super) fn producers(
    ids: &HashMap<StepId, u32, Hashing>,
    writers: &SlotWriters,
    read: &Read,
) -> Vec<u32> {
    match &read.source {
        Source::Step(id) | Source::Result(id) => ids.get(id).copied().into_iter().collect(),
        Source::Slot(kind) => writers.overlapping(*kind, slot_keys(&read.path)).steps(),
        Source::Item | Source::Index | Source::Last | Source::Outside(..) => Vec::new(),
    }
}

impl CheckedPlan {
    /// Whether the step at position `step` may start before the rest of its plan is known. It changes nothing, by the word of
    /// somebody who is trusted; nobody is asked before it; it is given nothing secret and nothing from outside; and as far as can
    /// be told, no step that is yet to come writes what it reads. Whether what it waits for may start is another question.
    pub fn may_start_early(&self, step: usize) -> bool {
        let plan = self.plan();
        let (Some(written), Some(checked)) = (plan.steps.get(step), self.steps().get(step)) else {
            return false;
        };
        let changes_nothing = match &written.action {
            Action::Tool(_) => checked.tool.as_deref().is_some_and(merely_reads),
            Action::Value(_) => true,
            Action::Plan(call) => {
                call.scopes.is_empty()
                    && checked.plan.as_ref().is_some_and(|inner| {
                        (0..inner.steps().len()).all(|step| inner.may_start_early(step))
                    })
            }
        };
        changes_nothing && written.approval != Approval::Ask && self.knows_what_it_reads(written)
    }

    fn knows_what_it_reads(&self, step: &Step) -> bool {
        let mut knows = true;
        step.each_node(&mut |node, _| {
            node.each_reference(&mut |reference| {
                knows &= reference
                    .reads()
                    .into_iter()
                    .all(|read| self.is_known(read));
            });
        });
        knows
    }

    fn is_known(&self, read: &Read) -> bool {
        match &read.source {
            Source::Outside(..) => false,
            Source::Slot(SlotKind::Inputs | SlotKind::Vars) if self.has_secrets() => false,
            Source::Slot(SlotKind::State | SlotKind::Data) => self.writes(read),
            _ => true,
        }
    }

    fn has_secrets(&self) -> bool {
        self.plan().has_secret_inputs()
    }
}

fn merely_reads(tool: &Tool) -> bool {
    tool.annotations.trusted && tool.annotations.read_only && !tool.needs_approval()
}
