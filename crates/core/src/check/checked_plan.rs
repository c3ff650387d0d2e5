//! The checked plan, which is the only form that an engine accepts.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use super::digest::plan_digest;
use super::slot_writers::{SlotWriters, slot_keys};
use crate::flow::FlowReport;
use crate::plan::{
    Action, Alternative, Approval, ExternalValue, Form, Missing, NodeKind, Read, Segment, SlotKind,
    Source,
};
use crate::schema::Type;
use crate::{Diagnostics, Hashing, Object, Plan, PlanDigest, Step, StepId, Tool};

/// A plan without errors, with the results of its check. Only [`check()`](crate::check()) creates one. Cloning is
/// cheap.
#[derive(Clone, Debug)]
pub struct CheckedPlan {
    data: Arc<CheckedData>,
    warnings: Diagnostics,
    /// The flow of data, for the main plan under a policy with flow rules.
    flow: Option<Arc<FlowReport>>,
}

/// A plan with the results of its check.
#[derive(Debug)]
pub(crate) struct CheckedData {
    pub(super) plan: Plan,
    pub(super) steps: Vec<CheckedStep>,
    pub(super) ids: HashMap<StepId, u32, Hashing>,
    pub(super) writers: SlotWriters,
    /// The digest, once it was asked for: a check alone does not need it.
    pub(super) digest: OnceLock<PlanDigest>,
    pub(super) inputs: Object,
    /// The type of the output of a sub-plan as its caller can rely on it; [`Type::Any`] for a main plan.
    pub(super) output_type: Type,
    /// The reads of slots that no step of the plan writes, including those of sub-plans that share the slots.
    pub(super) unwritten_slot_reads: Vec<Read>,
    pub(super) size: PlanSize,
}

/// The size of a plan together with its sub-plans.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PlanSize {
    /// The number of steps, including those of sub-plans for each of their uses.
    pub(super) steps: usize,
    /// The nesting depth of sub-plans: 0 if no step runs a plan.
    pub(super) depth: usize,
}

impl PlanSize {
    /// Computes the size of `plan`, which runs for `instances` instances.
    pub(super) fn of(plan: &Plan, resolved: &[CheckedStep], instances: usize) -> Self {
        let mut whole = Self::default();
        for (step, resolved) in plan.steps.iter().zip(resolved) {
            let mut steps = 1;
            if let Some(inner) = resolved.plan.as_ref().map(CheckedPlan::size) {
                steps = inner.steps.saturating_add(1);
                whole.depth = whole.depth.max(inner.depth + 1);
            }
            // A step of one instance runs once, all others run for each instance.
            if step.instance.is_none() {
                steps = steps.saturating_mul(instances);
            }
            whole.steps = whole.steps.saturating_add(steps);
        }
        whole
    }
}

/// The results of the check for one step.
#[derive(Clone, Debug)]
pub struct CheckedStep {
    /// The position of the step in the plan.
    pub index: u32,
    /// The tool that the step calls.
    pub tool: Option<Arc<Tool>>,
    /// The plan that the step runs.
    pub plan: Option<CheckedPlan>,
    /// The tool that undoes the call of the step.
    pub undo: Option<Arc<Tool>>,
    /// The steps that this one may wait for, by position, each once per kind.
    pub dependencies: Vec<Dependency>,
    /// The steps that must finish before this one is first evaluated, by position: all dependencies except those of
    /// later alternatives.
    pub initial_dependencies: Vec<u32>,
}

/// A dependency: the step waits for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dependency {
    /// The position of the other step.
    pub on: u32,
    /// The reason for waiting.
    pub kind: DependencyKind,
    /// True if the step waits only after an earlier alternative turned out to be missing.
    pub optional: bool,
}

/// The reads of one step's output that the check could not follow.
#[derive(Clone, Debug)]
pub struct UnprovedReads<'a> {
    /// The step whose output is read.
    pub step: &'a Step,
    /// The tool of the step.
    pub tool: &'a Tool,
    /// The reads, each once, in the order of the plan.
    pub reads: Vec<&'a Read>,
}

/// The reason why a step waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DependencyKind {
    /// The step reads the output or the outcome of the other.
    Data,
    /// The step reads a slot that the other may write.
    Slot,
    /// The author declared the order.
    Order,
    /// The plan runs its steps in the listed order.
    Listed,
}

impl CheckedData {
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(crate) fn steps(&self) -> &[CheckedStep] {
        &self.steps
    }

    pub(crate) fn inputs(&self) -> &Object {
        &self.inputs
    }

    /// Returns the position of the step `id`.
    pub(crate) fn step_index(&self, id: &str) -> Option<u32> {
        self.ids.get(id).copied()
    }

    /// Returns the positions of the steps that must finish before `read` can be resolved.
    pub(crate) fn producers(&self, read: &Read) -> Vec<u32> {
        match &read.source {
            Source::Step(id) | Source::Result(id) => {
                self.step_index(id.as_str()).into_iter().collect()
            }
            Source::Slot(kind) => {
                let overlap = self.writers.overlapping(*kind, slot_keys(&read.path));
                overlap.steps()
            }
            Source::Item | Source::Index | Source::Last | Source::ExternalValue(..) => Vec::new(),
        }
    }
}

impl CheckedPlan {
    pub(super) fn new(data: CheckedData) -> Self {
        Self {
            data: Arc::new(data),
            warnings: Diagnostics::new(),
            flow: None,
        }
    }

    /// Returns the plan with [`warnings`](Self::warnings) replaced.
    pub fn with_warnings(self, warnings: Diagnostics) -> Self {
        Self { warnings, ..self }
    }

    /// Returns the plan with the results of its check.
    pub(crate) fn data(&self) -> &CheckedData {
        &self.data
    }

    pub(super) fn with_flow(self, report: FlowReport) -> Self {
        Self {
            flow: Some(Arc::new(report)),
            ..self
        }
    }

    /// Returns the flow of data to guarded and leaving parameters, if the policy has flow rules. Only the main plan of
    /// a check has it; it covers inner plans.
    pub fn flow(&self) -> Option<&FlowReport> {
        self.flow.as_deref()
    }

    /// Returns the diagnostics that do not prevent a run. The reader of the plan's text may add its own.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.data.plan
    }

    /// Returns the results of the check for each step, in order.
    pub fn steps(&self) -> &[CheckedStep] {
        &self.data.steps
    }

    /// Returns the position of the step `id`.
    pub fn step_index(&self, id: &str) -> Option<u32> {
        self.data.step_index(id)
    }

    /// Returns the type of the plan's output as a step that runs it can rely on it.
    pub(super) fn output_type(&self) -> &Type {
        &self.data.output_type
    }

    pub(super) fn size(&self) -> PlanSize {
        self.data.size
    }

    /// Returns the external values that the plan and its sub-plans read.
    pub fn outside(&self) -> BTreeSet<(ExternalValue, Arc<str>)> {
        let mut names = BTreeSet::new();
        for (step, checked) in self.plan().steps.iter().zip(self.steps()) {
            step.args.each_reference(&mut |reference| {
                reference.each_read(&mut |read| {
                    if let Source::ExternalValue(what, name) = &read.source {
                        names.insert((*what, Arc::clone(name)));
                    }
                });
            });
            // Sub-plans read the same external values.
            names.extend(checked.plan.iter().flat_map(Self::outside));
        }
        names
    }

    /// Returns the digest of the plan's meaning, SHA-256 in hexadecimal digits. Plans that differ only in layout,
    /// titles and notes share it.
    pub fn digest(&self) -> &PlanDigest {
        let compute = || plan_digest(self.plan(), self.steps());
        self.data.digest.get_or_init(compute)
    }

    /// Returns the values of the inputs by name: the given ones, and defaults for the others. A sub-plan has defaults
    /// only.
    pub fn inputs(&self) -> &Object {
        &self.data.inputs
    }

    /// Returns the positions of the steps that must finish before `read` can be resolved: the named step, or all
    /// writers of the slot, of a part of it, or of a slot around it.
    pub fn producers(&self, read: &Read) -> Vec<u32> {
        self.data.producers(read)
    }

    /// Returns true if a step of the plan may write the slot that `read` reads.
    pub(super) fn writes(&self, read: &Read) -> bool {
        let Source::Slot(kind) = read.source else {
            return false;
        };
        let overlap = self.data.writers.overlapping(kind, slot_keys(&read.path));
        !overlap.is_empty()
    }

    /// Returns the reads that the check could not follow, by step: the tool of the step declares no output schema, and no answer
    /// of it is known. A read is of a part of the output, or of the whole output where the reader needs a certain type. If the answer is
    /// another, the run fails there. Inner plans are included.
    pub fn unproved_reads(&self) -> Vec<UnprovedReads<'_>> {
        let mut found: Vec<Vec<&Read>> = vec![Vec::new(); self.steps().len()];
        self.plan().each_reference(&mut |reference| {
            let computes =
                |alternative: &Alternative| matches!(alternative, Alternative::Expression(_));
            let computes = match &reference.form {
                Form::First(alternatives) => alternatives.iter().any(computes),
                Form::All(_) => false,
            };
            reference.each_read(&mut |read| self.add_unproved(read, computes, &mut found));
        });
        for (step, checked) in self.plan().steps.iter().zip(self.steps()) {
            let (NodeKind::Object(arguments), Some(tool)) = (&step.args.kind, &checked.tool) else {
                continue;
            };
            for argument in arguments {
                if let NodeKind::Reference(reference) = &argument.value.kind
                    && needs_type(tool, &argument.key)
                {
                    reference.each_read(&mut |read| self.add_unproved(read, true, &mut found));
                }
            }
        }
        let steps = self.plan().steps.iter().zip(self.steps()).zip(found);
        let own = steps.filter_map(|((step, checked), reads)| {
            let tool = checked.tool.as_deref()?;
            (!reads.is_empty()).then_some(UnprovedReads { step, tool, reads })
        });
        let inner = self.steps().iter().filter_map(|step| step.plan.as_ref());
        own.chain(inner.flat_map(Self::unproved_reads)).collect()
    }

    /// Adds `read` to those of its step in `found`, if the check could not follow it. `needs_type` says that a reader of the
    /// whole output needs a certain type.
    fn add_unproved<'p>(&self, read: &'p Read, needs_type: bool, found: &mut [Vec<&'p Read>]) {
        let (id, path) = match (&read.source, read.path.as_slice()) {
            (Source::Step(id), path) => (id, path),
            (Source::Result(id), [Segment::Key(data), path @ ..]) if &**data == "data" => {
                (id, path)
            }
            _ => return,
        };
        let Some(index) = self.step_index(id.as_str()).map(|index| index as usize) else {
            return;
        };
        let Some(tool) = self
            .steps()
            .get(index)
            .and_then(|step| step.tool.as_deref())
        else {
            return;
        };
        // `[*]` at the end is the list itself.
        let is_part = !matches!(path, [] | [Segment::Each]);
        let is_seen = tool.seen.as_deref().is_some_and(|seen| seen.calls > 0);
        let is_unproved = read.missing == Missing::Fail && tool.output.is_any() && !is_seen;
        if let Some(reads) = found.get_mut(index)
            && is_unproved
            && (is_part || needs_type)
            && !reads.contains(&read)
        {
            reads.push(read);
        }
    }

    /// Returns the slots of `kind` that the plan reads and none of its steps writes. A plan that shares its caller's slots reads
    /// those.
    pub fn unwritten_slot_reads(&self, kind: SlotKind) -> impl Iterator<Item = &Read> {
        self.data
            .unwritten_slot_reads
            .iter()
            .filter(move |read| read.source == Source::Slot(kind))
    }
}

impl CheckedPlan {
    /// Returns true if the step at position `step` may start before the rest of its plan is known. Its tool must be
    /// read-only according to a trusted server, it must need no approval, it must read no secrets and no external
    /// values, and no later step may be able to write what it reads. The caller checks its dependencies.
    pub fn can_start_speculatively(&self, step: usize) -> bool {
        let plan = self.plan();
        let (Some(written), Some(checked)) = (plan.steps.get(step), self.steps().get(step)) else {
            return false;
        };
        let changes_nothing = match &written.action {
            Action::Tool(_) => checked.tool.as_deref().is_some_and(merely_reads),
            Action::Value(_) => true,
            Action::Plan(call) => {
                // A shared slot may still be written by a later step of the caller.
                call.scopes.is_empty()
                    && checked.plan.as_ref().is_some_and(|inner| {
                        (0..inner.steps().len()).all(|step| inner.can_start_speculatively(step))
                    })
            }
        };
        changes_nothing && written.approval != Approval::Ask && self.has_known_reads(written)
    }

    fn has_known_reads(&self, step: &Step) -> bool {
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
            Source::ExternalValue(..) => false,
            // A secret must not leave before the whole plan is known.
            Source::Slot(SlotKind::Inputs | SlotKind::Vars) if self.has_secrets() => false,
            // A slot without a writer so far may get one in the rest of the plan.
            Source::Slot(SlotKind::State | SlotKind::Data) => self.writes(read),
            Source::Step(_)
            | Source::Result(_)
            | Source::Slot(_)
            | Source::Item
            | Source::Index
            | Source::Last => true,
        }
    }

    fn has_secrets(&self) -> bool {
        self.plan().has_secret_inputs()
    }
}

/// Returns true if the parameter `name` of `tool` takes one type, and no text, so that an answer in words does not fit.
fn needs_type(tool: &Tool, name: &str) -> bool {
    let properties = tool.input.as_value().get("properties");
    let wanted = properties.and_then(|all| all.get(name)?.get("type"));
    let word = wanted.and_then(|wanted| wanted.as_text());
    word.is_some_and(|word| matches!(word, "number" | "integer" | "boolean" | "array" | "object"))
}

fn merely_reads(tool: &Tool) -> bool {
    // Only a trusted server's word counts.
    tool.merely_reads() && !tool.needs_approval()
}
