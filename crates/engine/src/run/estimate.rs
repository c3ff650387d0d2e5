//! What a run is expected to take, as far as that is known before it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::iter;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::check::{CheckedPlan, CheckedStep};
use planwright_core::expression::EvaluationLimits;
use planwright_core::plan::{
    Action, Alternative, Approval, Company, Form, Node, NodeKind, Read, Source, Step,
};
use planwright_core::{Object, StepId, Tool, Value};

use super::bind::Scope;
use super::frame::{Frame, shared_slots};
use super::made::Made;
use super::pace::Pace;
use crate::confidential::Confidential;
use crate::durations::Durations;
use crate::event::Address;
use crate::forecast::{Job, JobId, Jobs, longest_paths, order_of_run};
use crate::options::COMPUTED_BYTES;
use crate::schedule::Limits;

/// The most parts of a run that are looked at: calls, values, and where plans and loops end.
const MOST_JOBS: usize = 100_000;

/// What a run is expected to take, and what that goes by.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Estimate {
    /// From the start to the end, under the limits.
    pub expected: Duration,
    /// The calls that have to happen one after the other and take longest.
    pub path: Vec<EstimatedCall>,
    /// How many calls are made.
    pub calls: usize,
    /// How long they take together.
    pub work: Duration,
    /// What is taken for granted.
    pub assumptions: BTreeSet<Assumption>,
}

/// One call.
#[derive(Clone, Debug)]
pub struct EstimatedCall {
    /// Who calls.
    pub at: Arc<Address>,
    /// The tool.
    pub tool: Arc<Tool>,
    /// How long it takes.
    pub takes: Duration,
}

/// Something that an estimate takes for granted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Assumption {
    /// Nothing is known of this tool: its calls take as long as a typical one.
    Unknown {
        /// `server.tool`.
        tool: String,
        /// What is taken for it.
        takes: Duration,
    },
    /// These steps run, though they have a condition.
    Conditions(String),
    /// The list of this step is not known before the run: it has one item.
    OneItem(String),
    /// This step's repetition ends after its first round.
    OneRound(String),
    /// This step takes the first of several alternatives.
    FirstAlternative(String),
    /// Nobody has to wait for a person's consent to this step.
    Consent(String),
    /// The run has more parts than were looked at.
    Shortened,
}

/// What a run of `plan` is expected to take under `limits`. Nothing is called, and every call goes well at once.
pub fn estimate(
    plan: &CheckedPlan,
    durations: &Durations,
    limits: &Limits,
    evaluation: &EvaluationLimits,
) -> Estimate {
    let mut outline = Outline {
        pace: Pace::new(durations, limits),
        durations,
        evaluation,
        made: Made::new(COMPUTED_BYTES),
        jobs: Jobs::new(),
        calls: BTreeMap::new(),
        assumptions: BTreeSet::new(),
    };
    let none = Object::default();
    let instances = &plan.plan().instances;
    if instances.is_empty() {
        outline.plan(
            &Frame::new(plan.clone(), None, None, &none, None),
            None,
            Vec::new(),
        );
    }
    let shared = Arc::new(shared_slots(plan));
    for instance in instances {
        let (instance, shared) = (Some(Arc::clone(instance)), Some(Arc::clone(&shared)));
        let frame = Frame::new(plan.clone(), None, instance, &none, shared);
        outline.plan(&frame, None, Vec::new());
    }
    outline.estimate(limits)
}

/// A plan as jobs, with what was taken for granted on the way.
struct Outline<'a> {
    pace: Pace<'a>,
    durations: &'a Durations,
    evaluation: &'a EvaluationLimits,
    made: Made,
    jobs: Jobs,
    calls: BTreeMap<JobId, EstimatedCall>,
    assumptions: BTreeSet<Assumption>,
}

impl Outline<'_> {
    /// Adds the steps of a plan; they begin when all that `gate` names has ended. Gives the job that ends with the plan.
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
            if step.instance.is_some() && step.instance != frame.instance {
                continue;
            }
            let mut waits: Vec<JobId> = checked
                .first_waits
                .iter()
                .filter_map(|on| *ends.get(*on as usize)?)
                .collect();
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
            let end = if decided(step) == Some(false) || needs_one_of(&left_out, step) {
                left_out.insert(&step.id);
                self.jobs.add(Job::default(), waits)
            } else {
                self.step(frame, step, checked, address, waits)
            };
            if let Some(slot) = ends.get_mut(index) {
                *slot = Some(end);
            }
        }
        let mut all: Vec<JobId> = ends.into_iter().flatten().collect();
        if all.is_empty() {
            all = gate;
        }
        self.jobs.add(Job::default(), all)
    }

    /// What many are to wait for in place of all that `waits` names, so that not each of them names it all again.
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
        self.take_for_granted(step, checked, &address);
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
        let together = for_each.max_parallel.map(|most| most.get() as usize);
        let mut ends: Vec<JobId> = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            if self.jobs.len() >= MOST_JOBS {
                self.assumptions.insert(Assumption::Shortened);
                break;
            }
            let mut waits = waits.clone();
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
        if self.jobs.len() >= MOST_JOBS {
            self.assumptions.insert(Assumption::Shortened);
            return self.jobs.add(Job::default(), waits);
        }
        let args = self.look(frame, item, |scope| scope.preview(&step.args));
        let none = Object::default();
        let given = args.as_object().unwrap_or(&none);
        let frame = Frame::new(inner.clone(), None, None, given, None);
        self.plan(&frame, Some(&Arc::new(address)), waits)
    }

    fn call(&mut self, step: &Step, tool: &Arc<Tool>, at: Address, waits: Vec<JobId>) -> JobId {
        let micros = self.pace.call(tool);
        let takes = Duration::from_micros(micros);
        if self.durations.of(&tool.server, &tool.name).is_none() {
            let tool = tool.qualified_name();
            self.assumptions.insert(Assumption::Unknown { tool, takes });
        }
        let job = Job {
            takes: micros,
            lane: Some(self.jobs.lane(&tool.server, &tool.name)),
            alone: step.company == Company::Alone,
        };
        let id = self.jobs.add(job, waits);
        let (at, tool) = (Arc::new(at), Arc::clone(tool));
        self.calls.insert(id, EstimatedCall { at, tool, takes });
        id
    }

    fn take_for_granted(&mut self, step: &Step, checked: &CheckedStep, address: &Address) {
        let name = || address.to_string();
        let asks = checked
            .tool
            .as_ref()
            .is_some_and(|tool| tool.needs_approval());
        let optional = checked.dependencies.iter().any(|on| on.optional);
        let granted = [
            (step.when.is_some() && decided(step).is_none())
                .then(|| Assumption::Conditions(name())),
            step.repeat.is_some().then(|| Assumption::OneRound(name())),
            optional.then(|| Assumption::FirstAlternative(name())),
            (asks || step.approval == Approval::Ask).then(|| Assumption::Consent(name())),
        ];
        self.assumptions.extend(granted.into_iter().flatten());
    }

    /// The items of a list that is known before the run, or whose length is: then with references as they are written.
    fn known_list(&self, frame: &Frame, over: &Node) -> Option<Arc<Vec<Value>>> {
        if let NodeKind::List(items) = &over.kind {
            let items = items.iter();
            let seen = items.map(|item| self.look(frame, None, |scope| scope.preview(item)));
            return Some(Arc::new(seen.collect()));
        }
        match self.look(frame, None, |scope| scope.node(over, None)) {
            Ok(Value::List(items)) => Some(items),
            _ => None,
        }
    }

    fn look<T>(&self, frame: &Frame, item: Option<&Value>, see: impl FnOnce(&Scope<'_>) -> T) -> T {
        let warnings = RefCell::new(Vec::new());
        see(&Scope {
            frame,
            item,
            index: None,
            last: None,
            own: None,
            outside: &Confidential::new(),
            limits: self.evaluation,
            warnings: &warnings,
            made: &self.made,
        })
    }

    fn estimate(mut self, limits: &Limits) -> Estimate {
        let foresight = order_of_run(&self.jobs, limits);
        let work = self.calls.values().map(|call| call.takes).sum();
        let calls = self.calls.len();
        Estimate {
            expected: Duration::from_micros(foresight.timeline.makespan),
            path: self.path(),
            calls,
            work,
            assumptions: self.assumptions,
        }
    }

    /// The calls on the longest path, in the order in which they are made.
    fn path(&mut self) -> Vec<EstimatedCall> {
        let ranks = longest_paths(&self.jobs);
        let reversed = self.jobs.reversed();
        let longest = |ids: &mut dyn Iterator<Item = JobId>| {
            let rank = |id: &JobId| ranks.get(*id as usize).copied();
            // Of several that are as long, the first.
            ids.max_by_key(|id| (rank(id), std::cmp::Reverse(*id)))
        };
        let mut at = longest(&mut (0..self.jobs.next_id()));
        let mut path = Vec::new();
        while let Some(id) = at {
            path.extend(self.calls.remove(&id));
            let next = reversed.waits().get(id as usize);
            at = longest(&mut next.into_iter().flatten().copied());
        }
        path
    }
}

/// The steps, each after those that it waits for; in plan order where that leaves a choice.
fn in_order(steps: &[CheckedStep]) -> Vec<usize> {
    let mut open: Vec<usize> = steps.iter().map(|step| step.first_waits.len()).collect();
    let mut dependents = vec![Vec::new(); steps.len()];
    for (index, step) in steps.iter().enumerate() {
        for on in &step.first_waits {
            if let Some(list) = dependents.get_mut(*on as usize) {
                list.push(index);
            }
        }
    }
    let mut ready: BTreeSet<usize> = (0..steps.len())
        .filter(|index| open.get(*index) == Some(&0))
        .collect();
    let mut order = Vec::with_capacity(steps.len());
    while let Some(index) = ready.pop_first() {
        order.push(index);
        for dependent in dependents.get(index).into_iter().flatten() {
            if let Some(count) = open.get_mut(*dependent) {
                *count -= 1;
                if *count == 0 {
                    ready.insert(*dependent);
                }
            }
        }
    }
    order
}

/// What the condition of `step` is where it says so itself.
fn decided(step: &Step) -> Option<bool> {
    match &step.when.as_ref()?.kind {
        NodeKind::Literal(value) => value.as_bool(),
        NodeKind::List(_) | NodeKind::Object(_) | NodeKind::Reference(_) | NodeKind::Text(_) => {
            None
        }
    }
}

/// Whether `step` reads the output of one of those that are `left_out`, with nothing to take its place.
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
                // What an expression makes of it shows only as it is evaluated.
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
