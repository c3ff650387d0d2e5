//! Estimates and previews of runs, before they start.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::iter;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::check::{CheckedPlan, CheckedStep};
use planwright_core::expression::EvaluationLimits;
use planwright_core::plan::{
    Action, Alternative, Approval, Concurrency, Form, Node, NodeKind, Read, Source, Step,
};
use planwright_core::{Object, StepId, Tool, ToolName, Value};

use super::cost_model::{CostModel, in_order};
use crate::address::Address;
use crate::durations::Durations;
use crate::forecast::{Job, JobId, Jobs, longest_paths, run_order};
use crate::options::{DEFAULT_COMPUTED_BYTES, SecretValues};
use crate::run::budgets::MemoryBudget;
use crate::run::redaction::redactor::{Redactor, secret_inputs};
use crate::run::values::resolve::{ReferenceScope, Warnings};
use crate::run::values::slots::{Frame, shared_slots};
use crate::schedule::ConcurrencyLimits;

/// The maximum number of jobs in an estimate: calls, values, and the ends of plans and loops.
const MAX_JOBS: usize = 100_000;

/// The expected duration of a run, with its assumptions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Estimate {
    /// The expected time from start to end, under the limits.
    pub expected: Duration,
    /// The calls on the longest path.
    pub path: Vec<EstimatedCall>,
    /// The number of calls.
    pub calls: usize,
    /// The total duration of all calls.
    pub work: Duration,
    /// The assumptions of the estimate.
    pub assumptions: BTreeSet<Assumption>,
}

impl Estimate {
    /// The expected time if the durations of all tools are known; `None` if a typical one is assumed for any of them.
    pub fn known(&self) -> Option<Duration> {
        let is_guess = |assumption: &Assumption| match assumption {
            Assumption::Unknown { .. } => true,
            Assumption::Conditions(_)
            | Assumption::OneItem(_)
            | Assumption::OneRound(_)
            | Assumption::FirstAlternative(_)
            | Assumption::Consent(_)
            | Assumption::Shortened => false,
        };
        (!self.assumptions.iter().any(is_guess)).then_some(self.expected)
    }
}

/// A call of an estimate.
#[derive(Clone, Debug)]
pub struct EstimatedCall {
    /// The step, item or round that calls.
    pub at: Arc<Address>,
    /// The tool.
    pub tool: Arc<Tool>,
    /// The expected duration.
    pub takes: Duration,
}

/// An assumption of an estimate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assumption {
    /// The duration of this tool is unknown: a typical one is assumed.
    Unknown {
        /// `server.tool`.
        tool: ToolName,
        /// The assumed duration.
        takes: Duration,
    },
    /// The conditional step runs.
    Conditions(String),
    /// The list of this step is not known before the run: one item is assumed.
    OneItem(String),
    /// The repetition of this step ends after its first round.
    OneRound(String),
    /// The first of several alternatives of this step has a value.
    FirstAlternative(String),
    /// The consent to this step comes without delay.
    Consent(String),
    /// The run has more parts than the estimate covers.
    Shortened,
}

/// Estimates a run of `plan` under `limits`. It calls nothing, and assumes that every first attempt succeeds.
pub fn estimate(
    plan: &CheckedPlan,
    durations: &Durations,
    limits: &ConcurrencyLimits,
    evaluation: &EvaluationLimits,
) -> Estimate {
    let mut builder = JobBuilder {
        costs: CostModel::new(durations, limits),
        durations,
        evaluation,
        // An estimate evaluates expressions of the plan, too, so it has the same bound.
        memory: MemoryBudget::new(DEFAULT_COMPUTED_BYTES),
        jobs: Jobs::new(),
        calls: BTreeMap::new(),
        assumptions: BTreeSet::new(),
    };
    let none = Object::default();
    let instances = &plan.plan().instances;
    if instances.is_empty() {
        builder.plan(
            &Frame::new(plan.clone(), None, None, &none, None),
            None,
            Vec::new(),
        );
    }
    let shared = Arc::new(shared_slots(plan));
    // The instances go into one set of jobs, since they compete for the same limits.
    for instance in instances {
        let (instance, shared) = (Some(Arc::clone(instance)), Some(Arc::clone(&shared)));
        let frame = Frame::new(plan.clone(), None, instance, &none, shared);
        builder.plan(&frame, None, Vec::new());
    }
    builder.estimate(limits)
}

/// Converts a plan into jobs and collects the assumptions.
struct JobBuilder<'a> {
    costs: CostModel<'a>,
    durations: &'a Durations,
    evaluation: &'a EvaluationLimits,
    memory: MemoryBudget,
    jobs: Jobs,
    calls: BTreeMap<JobId, EstimatedCall>,
    assumptions: BTreeSet<Assumption>,
}

impl JobBuilder<'_> {
    /// Adds the steps of a plan, which begin when all of `gate` have ended. Returns the job that ends with the plan.
    fn plan(&mut self, frame: &Frame, inside: Option<&Arc<Address>>, gate: Vec<JobId>) -> JobId {
        let steps = frame.plan.steps();
        let gate = self.gate(gate);
        let mut ends: Vec<Option<JobId>> = vec![None; steps.len()];
        let mut left_out = HashSet::new();
        for index in in_order(steps) {
            let (Some(checked), Some(step)) =
                (steps.get(index), frame.plan.plan().steps.get(index))
            else {
                continue;
            };
            // The step belongs to another instance, whose frame adds it.
            if step.instance.is_some() && step.instance != frame.instance {
                continue;
            }
            let mut waits: Vec<JobId> = checked
                .initial_dependencies
                .iter()
                .filter_map(|on| *ends.get(*on as usize)?)
                .collect();
            // A step without dependencies starts with its plan.
            if waits.is_empty() {
                waits.clone_from(&gate);
            }
            let address = Address {
                inside: inside.cloned(),
                instance: frame.instance.clone(),
                step: step.id.clone(),
                item: None,
                round: None,
            };
            // A step that needs the output of a skipped one is skipped as well.
            let end = if literal_condition(step) == Some(false) || needs_one_of(&left_out, step) {
                left_out.insert(&step.id);
                // An empty job keeps the order: steps that only come after the skipped one still wait for its dependencies.
                self.jobs.add(Job::default(), waits)
            } else {
                self.step(frame, step, checked, address, waits)
            };
            if let Some(slot) = ends.get_mut(index) {
                *slot = Some(end);
            }
        }
        let mut all: Vec<JobId> = ends.into_iter().flatten().collect();
        // An empty plan still ends only after what precedes it.
        if all.is_empty() {
            all = gate;
        }
        self.jobs.add(Job::default(), all)
    }

    /// Adds a barrier for `waits` if there are several, so that many jobs can wait for one instead of each for all.
    fn gate(&mut self, waits: Vec<JobId>) -> Vec<JobId> {
        if waits.len() < 2 {
            return waits;
        }
        vec![self.jobs.add(Job::default(), waits)]
    }

    fn step(
        &mut self,
        frame: &Frame,
        step: &Step,
        checked: &CheckedStep,
        address: Address,
        waits: Vec<JobId>,
    ) -> JobId {
        self.note_assumptions(step, checked, &address);
        let Some(for_each) = &step.for_each else {
            return self.action(frame, step, checked, None, address, waits);
        };
        let Some(items) = self.known_list(frame, &for_each.over) else {
            let assumption = Assumption::OneItem(address.to_string());
            self.assumptions.insert(assumption);
            return self.action(frame, step, checked, None, address, waits);
        };
        let waits = if items.len() > 1 {
            self.gate(waits)
        } else {
            waits
        };
        let together = for_each.max_parallel.map(|limit| limit.get() as usize);
        let mut ends: Vec<JobId> = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            // A literal list can be far longer than a search for an order should take.
            if self.jobs.len() >= MAX_JOBS {
                self.assumptions.insert(Assumption::Shortened);
                break;
            }
            let mut waits = waits.clone();
            // At most `together` items run at a time, so each item starts about when the item that many places before it ends.
            let before = together.and_then(|together| ends.get(index.checked_sub(together)?));
            waits.extend(before.copied());
            let address = Address {
                item: Some(index as u64),
                ..address.clone()
            };
            ends.push(self.action(frame, step, checked, Some(item), address, waits));
        }
        let all = if ends.is_empty() { waits } else { ends };
        self.jobs.add(Job::default(), all)
    }

    fn action(
        &mut self,
        frame: &Frame,
        step: &Step,
        checked: &CheckedStep,
        item: Option<&Value>,
        address: Address,
        waits: Vec<JobId>,
    ) -> JobId {
        if let Some(tool) = &checked.tool {
            return self.call(step, tool, address, waits);
        }
        let (Action::Plan(_), Some(inner)) = (&step.action, &checked.plan) else {
            return self.jobs.add(Job::default(), waits);
        };
        // Nested plans multiply, so a short text can describe more calls than fit into memory.
        if self.jobs.len() >= MAX_JOBS {
            self.assumptions.insert(Assumption::Shortened);
            return self.jobs.add(Job::default(), waits);
        }
        let args = self.with_scope(frame, item, |scope| scope.preview(&step.args));
        let none = Object::default();
        let arguments = args.as_object().unwrap_or(&none);
        let frame = Frame::new(inner.clone(), None, None, arguments, None);
        self.plan(&frame, Some(&Arc::new(address)), waits)
    }

    fn call(&mut self, step: &Step, tool: &Arc<Tool>, at: Address, waits: Vec<JobId>) -> JobId {
        let micros = self.costs.call(tool);
        let takes = Duration::from_micros(micros);
        if self.durations.of(&tool.server, &tool.name).is_none() {
            let tool = tool.qualified_name();
            self.assumptions.insert(Assumption::Unknown { tool, takes });
        }
        let job = Job {
            takes: micros,
            // The lanes have the limits of real runs, so that the estimate includes the wait for slots.
            lane: Some(self.jobs.lane(&tool.server, &tool.name)),
            is_exclusive: step.concurrency == Concurrency::Alone,
        };
        let id = self.jobs.add(job, waits);
        let (at, tool) = (Arc::new(at), Arc::clone(tool));
        self.calls.insert(id, EstimatedCall { at, tool, takes });
        id
    }

    fn note_assumptions(&mut self, step: &Step, checked: &CheckedStep, address: &Address) {
        let name = || address.to_string();
        let asks = checked
            .tool
            .as_ref()
            .is_some_and(|tool| tool.needs_approval());
        let optional = checked.dependencies.iter().any(|on| on.optional);
        let granted = [
            (step.when.is_some() && literal_condition(step).is_none())
                .then(|| Assumption::Conditions(name())),
            step.repeat.is_some().then(|| Assumption::OneRound(name())),
            optional.then(|| Assumption::FirstAlternative(name())),
            (asks || step.approval == Approval::Ask).then(|| Assumption::Consent(name())),
        ];
        self.assumptions.extend(granted.into_iter().flatten());
    }

    /// Returns the items of a list whose length is known before the run; `None` if it is not. Items that are not known contain references
    /// as written.
    fn known_list(&self, frame: &Frame, over: &Node) -> Option<Arc<Vec<Value>>> {
        if let NodeKind::List(items) = &over.kind {
            let items = items.iter();
            let seen = items.map(|item| self.with_scope(frame, None, |scope| scope.preview(item)));
            return Some(Arc::new(seen.collect()));
        }
        // A reference to inputs or initial values has a value before the run.
        match self.with_scope(frame, None, |scope| scope.node(over, None)) {
            Ok(Value::List(items)) => Some(items),
            _ => None,
        }
    }

    fn with_scope<T>(
        &self,
        frame: &Frame,
        item: Option<&Value>,
        see: impl FnOnce(&ReferenceScope<'_>) -> T,
    ) -> T {
        let warnings = Warnings::default();
        see(&ReferenceScope {
            frame,
            item,
            index: None,
            last: None,
            own_outcome: None,
            secret_values: &SecretValues::new(),
            limits: self.evaluation,
            warnings: &warnings,
            memory: &self.memory,
        })
    }

    fn estimate(mut self, limits: &ConcurrencyLimits) -> Estimate {
        let order = run_order(&self.jobs, limits);
        // Summed up before `path`, which takes calls out.
        let work = self.calls.values().map(|call| call.takes).sum();
        let calls = self.calls.len();
        Estimate {
            expected: Duration::from_micros(order.timeline.makespan),
            path: self.path(),
            calls,
            work,
            assumptions: self.assumptions,
        }
    }

    /// The calls on the longest path, in order.
    fn path(&mut self) -> Vec<EstimatedCall> {
        let ranks = longest_paths(&self.jobs);
        let reversed = self.jobs.reversed();
        let longest = |ids: &mut dyn Iterator<Item = JobId>| {
            let rank = |id: &JobId| ranks.get(*id as usize).copied();
            // On a tie, the first one.
            ids.max_by_key(|id| (rank(id), std::cmp::Reverse(*id)))
        };
        let mut at = longest(&mut (0..self.jobs.next_id()));
        let mut path = Vec::new();
        while let Some(id) = at {
            // Jobs without a call are barriers and computed values, which the path does not list.
            path.extend(self.calls.remove(&id));
            let next = reversed.waits().get(id as usize);
            at = longest(&mut next.into_iter().flatten().copied());
        }
        path
    }
}

/// The preview of one step.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StepPreview {
    /// The step.
    pub step: StepId,
    /// The instance, if the plan runs for several.
    pub instance: Option<Arc<str>>,
    /// The tool, as the plan names it.
    pub tool: Option<Arc<str>>,
    /// The arguments; references without a known value stand as written.
    pub args: Value,
    /// True if a person would be asked first.
    pub approval: bool,
    /// The steps that it waits for.
    pub after: Vec<StepId>,
    /// The steps of its inner plan.
    pub parts: Vec<StepPreview>,
}

/// Previews a run of `plan`, in plan order. Nothing is called, and secret inputs are redacted.
pub fn preview(plan: &CheckedPlan, limits: &EvaluationLimits) -> Vec<StepPreview> {
    let memory = MemoryBudget::new(DEFAULT_COMPUTED_BYTES);
    let mut previews = whole(plan, limits, &memory);
    if let Some(flow) = plan.flow() {
        ask_by_flow(&mut previews, &flow.asking_steps(), "");
    }
    let redactor = Redactor::new(secret_inputs(plan));
    if !redactor.is_idle() {
        for preview in &mut previews {
            redact(preview, &redactor);
        }
    }
    previews
}

/// The value of the condition of `step`, if it is a literal.
fn literal_condition(step: &Step) -> Option<bool> {
    match &step.when.as_ref()?.kind {
        NodeKind::Literal(value) => value.as_bool(),
        NodeKind::List(_) | NodeKind::Object(_) | NodeKind::Reference(_) | NodeKind::Text(_) => {
            None
        }
    }
}

/// Returns true if `step` needs the output of a step that is `left_out`, without an alternative.
fn needs_one_of(left_out: &HashSet<&StepId>, step: &Step) -> bool {
    if left_out.is_empty() {
        return false;
    }
    let is_gone =
        |read: &Read| matches!(&read.source, Source::Step(step) if left_out.contains(step));
    let value = match &step.action {
        Action::Value(value) => Some(value),
        Action::Tool(_) | Action::Plan(_) => None,
    };
    let over = step.for_each.as_ref().map(|for_each| &for_each.over);
    let nodes = iter::once(&step.args).chain(value).chain(&step.when);
    let mut needs = false;
    for node in nodes.chain(over) {
        node.each_reference(&mut |reference| {
            needs |= match &reference.form {
                Form::All(reads) => reads.iter().any(is_gone),
                // The value of an expression is only known when it is evaluated.
                Form::First(alternatives) => {
                    let is_gone =
                        |one: &Alternative| matches!(one, Alternative::Read(read) if is_gone(read));
                    !alternatives.is_empty() && alternatives.iter().all(is_gone)
                }
            };
        });
    }
    needs
}

/// Marks the steps that the flow policy lets wait for approval.
fn ask_by_flow(previews: &mut [StepPreview], asking: &BTreeSet<Arc<str>>, prefix: &str) {
    for preview in previews {
        let path = format!("{prefix}{}", preview.step);
        preview.approval |= asking.contains(&*path);
        ask_by_flow(&mut preview.parts, asking, &format!("{path}/"));
    }
}

fn redact(preview: &mut StepPreview, redactor: &Redactor) {
    redactor.value(&mut preview.args);
    for part in &mut preview.parts {
        redact(part, redactor);
    }
}

fn whole(plan: &CheckedPlan, limits: &EvaluationLimits, memory: &MemoryBudget) -> Vec<StepPreview> {
    let none = Object::default();
    let instances = &plan.plan().instances;
    if instances.is_empty() {
        let frame = Frame::new(plan.clone(), None, None, &none, None);
        return steps(&frame, limits, memory);
    }
    let shared = Arc::new(shared_slots(plan));
    instances
        .iter()
        .flat_map(|instance| {
            let (instance, shared) = (Some(Arc::clone(instance)), Some(Arc::clone(&shared)));
            steps(
                &Frame::new(plan.clone(), None, instance, &none, shared),
                limits,
                memory,
            )
        })
        .collect()
}

fn steps(frame: &Frame, limits: &EvaluationLimits, memory: &MemoryBudget) -> Vec<StepPreview> {
    let plan = &frame.plan;
    let warnings = Warnings::default();
    let nothing = SecretValues::new();
    let scope = ReferenceScope {
        frame,
        item: None,
        index: None,
        last: None,
        own_outcome: None,
        secret_values: &nothing,
        limits,
        warnings: &warnings,
        memory,
    };
    plan.plan()
        .steps
        .iter()
        .zip(plan.steps())
        .filter(|(step, _)| step.instance.is_none() || step.instance == frame.instance)
        .map(|(step, checked)| {
            let args = match &step.action {
                Action::Value(node) => scope.preview(node),
                Action::Tool(_) | Action::Plan(_) => scope.preview(&step.args),
            };
            let mut after: Vec<u32> = checked
                .dependencies
                .iter()
                .map(|dependency| dependency.on)
                .collect();
            after.sort_unstable();
            after.dedup();
            let parts = checked.plan.as_ref().map(|inner| {
                let none = Object::default();
                let arguments = args.as_object().unwrap_or(&none);
                steps(
                    &Frame::new(inner.clone(), None, None, arguments, None),
                    limits,
                    memory,
                )
            });
            StepPreview {
                step: step.id.clone(),
                instance: frame.instance.clone(),
                tool: step.tool().map(|name| Arc::clone(&name.text)),
                approval: step.approval == Approval::Ask
                    || checked
                        .tool
                        .as_ref()
                        .is_some_and(|tool| tool.needs_approval()),
                args,
                after: after
                    .into_iter()
                    .filter_map(|on| Some(plan.plan().steps.get(on as usize)?.id.clone()))
                    .collect(),
                parts: parts.unwrap_or_default(),
            }
        })
        .collect()
}
