//! The generalization of traces to a plan.

mod arguments;
mod blocks;
mod cleaning;
mod columns;
mod conditions;
mod exposure;
mod finding;
mod inputs;
mod known;
mod loops;
mod order;
mod references;
mod selection;
mod template;

use std::collections::HashSet;
use std::sync::Arc;

use planwright_core::plan::{Node, Plan, Reference, Step};
use planwright_core::{Catalog, Object, StepId, Value};

use crate::trace::{Trace, TracedCall};
use columns::CallColumn;
use known::{KnownAnswers, KnownStep, PresentCalls};

pub use finding::{Finding, FindingKind};
pub use inputs::LearnedInput;

/// A plan that was learned from traces.
#[derive(Clone, Debug)]
pub struct LearnedPlan {
    /// The plan.
    pub plan: Plan,
    /// The inputs, with their values in each trace.
    pub inputs: Vec<LearnedInput>,
    /// The findings: what the traces leave open, and what was decided in spite of alternatives.
    pub findings: Vec<Finding>,
    /// The calls of each trace that the plan has to make.
    pub calls: Vec<Vec<TracedCall>>,
}

impl LearnedPlan {
    /// Returns true if the traces leave nothing open that changes the meaning of the plan.
    pub fn is_complete(&self) -> bool {
        !self.findings.iter().any(|finding| finding.undecided)
    }

    /// Returns the inputs with which the plan does the work of a trace.
    pub fn inputs_of(&self, trace: usize) -> Object {
        let used = self.inputs.iter().filter_map(|input| {
            let value = input.values.get(trace)?.clone()?;
            Some((Arc::clone(&input.name), value))
        });
        used.collect()
    }
}

/// Generalizes traces of the same work to a plan. The tools of the traces are named as in `catalog`, which also says which of
/// them only read; a tool that it does not have may change something.
pub fn generalize(traces: &[Trace], catalog: &Catalog) -> LearnedPlan {
    let mut findings = Vec::new();
    let calls: Vec<Vec<TracedCall>> = traces
        .iter()
        .map(|trace| cleaning::clean(trace, &mut findings))
        .collect();
    let context = TraceContext {
        requests: traces
            .iter()
            .map(|trace| trace.request.as_deref())
            .collect(),
        replies: traces.iter().map(|trace| &*trace.replies).collect(),
        asked: traces
            .iter()
            .filter_map(|trace| trace.request.as_deref())
            .collect(),
        is_body: false,
    };
    let mut found = with_blocks(&calls, &context, findings, catalog);
    if traces.iter().any(|trace| trace.is_exposed) {
        exposure::find_constants(&found.steps, &mut found.findings);
    }
    let steps = order::ordered(found.steps, catalog);
    LearnedPlan {
        plan: Plan {
            inputs: found.inputs.iter().map(LearnedInput::declaration).collect(),
            steps,
            ..Plan::default()
        },
        inputs: found.inputs,
        findings: found.findings,
        calls,
    }
}

/// Maximum number of bodies that are tried as loops in one pass.
const MAX_BODIES: usize = 16;

/// Maximum number of passes with loops of several calls. Each one leaves out the bodies that no loop of an earlier one repeats.
const MAX_PASSES: usize = 4;

/// Facts about traces apart from their calls.
#[derive(Clone, Debug, Default)]
struct TraceContext<'a> {
    requests: Vec<Option<&'a str>>,
    /// The later messages of the user in each trace.
    replies: Vec<&'a [String]>,
    /// The requests of all traces, also if those of `requests` are not known.
    asked: Vec<&'a str>,
    /// True if the traces are the rounds of a loop, which share their data and prove less.
    is_body: bool,
}

/// Generalizes calls whose repeated sequences are loops, unless nothing says what they are repeated for.
fn with_blocks(
    calls: &[Vec<TracedCall>],
    context: &TraceContext<'_>,
    findings: Vec<Finding>,
    catalog: &Catalog,
) -> Generalization {
    let mut rejected = HashSet::new();
    for _ in 0..MAX_PASSES {
        let mut folded = calls.to_vec();
        let mut blocks: Vec<blocks::Block> = Vec::new();
        let mut tried = rejected.clone();
        while tried.len() < rejected.len() + MAX_BODIES
            && let Some(body) = blocks::repeated(&folded, &tried)
        {
            tried.insert(body.clone());
            // The rounds of a block are no part of another one.
            let is_nested = body
                .iter()
                .any(|tool| blocks.iter().any(|block| block.name == *tool));
            if is_nested {
                continue;
            }
            if let Some((calls, block)) = blocks::fold(&folded, &body, catalog, &context.asked) {
                folded = calls;
                blocks.push(block);
            }
        }
        let found = generalize_calls(&folded, context.clone(), findings.clone(), blocks);
        if found.unlooped.is_empty() {
            return found;
        }
        rejected.extend(found.unlooped);
    }
    generalize_calls(calls, context.clone(), findings, Vec::new())
}

/// The result of a generalization, before the order of the steps.
struct Generalization {
    steps: Vec<Step>,
    inputs: Vec<LearnedInput>,
    findings: Vec<Finding>,
    known: KnownAnswers,
    /// The bodies that no loop repeats.
    unlooped: Vec<Vec<Arc<str>>>,
}

fn generalize_calls(
    calls: &[Vec<TracedCall>],
    context: TraceContext<'_>,
    findings: Vec<Finding>,
    blocks: Vec<blocks::Block>,
) -> Generalization {
    let mut generalizer = Generalizer {
        requests: context.requests,
        replies: context.replies,
        asked: context.asked,
        is_body: context.is_body,
        known: KnownAnswers::new(calls.len()),
        inputs: Vec::new(),
        origins: Vec::new(),
        findings,
        steps: Vec::new(),
        calls,
        blocks,
        unlooped: Vec::new(),
    };
    for column in columns::align(calls) {
        generalizer.add_column(&column);
    }
    // A repetition of a trace, such as that in the log of a later request, tells nothing more.
    let is_single = calls.iter().all(|one| Some(one) == calls.first());
    if is_single && !generalizer.steps.is_empty() {
        generalizer.find_single_trace("all calls are");
    }
    let Generalizer {
        mut findings,
        steps,
        inputs,
        known,
        blocks,
        unlooped,
        ..
    } = generalizer;
    for block in blocks {
        for finding in block.findings {
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    Generalization {
        steps,
        inputs,
        findings,
        known,
        unlooped,
    }
}

/// The state of a generalization.
struct Generalizer<'a> {
    requests: Vec<Option<&'a str>>,
    /// The later messages of the user in each trace.
    replies: Vec<&'a [String]>,
    /// The requests of all traces.
    asked: Vec<&'a str>,
    /// True if the traces are the rounds of a loop.
    is_body: bool,
    known: KnownAnswers,
    inputs: Vec<LearnedInput>,
    /// The values whose origin is decided.
    origins: Vec<Origin>,
    findings: Vec<Finding>,
    steps: Vec<Step>,
    calls: &'a [Vec<TracedCall>],
    /// The bodies of several calls, which are like tools.
    blocks: Vec<blocks::Block>,
    unlooped: Vec<Vec<Arc<str>>>,
}

/// Values whose origin is decided: later occurrences have the same one.
struct Origin {
    values: Vec<Option<Value>>,
    reference: Reference,
    /// The position of the step that has the values; `None` for inputs.
    step: Option<usize>,
}

impl<'a> Generalizer<'a> {
    /// Adds the steps of a column.
    fn add_column(&mut self, column: &CallColumn) {
        let present = column.present();
        let is_optional = present.len() < self.calls.len();
        let condition = if is_optional {
            match self.condition(column) {
                Some(condition) => {
                    // A condition that one trace alone decides may agree by chance.
                    if present.len() == 1 {
                        self.find_single_trace(&format!("the calls of `{}` are", column.tool));
                    } else if present.len() + 1 == self.calls.len() {
                        let message = format!(
                            "the calls of `{}` are absent in a single trace, which does not prove their condition",
                            column.tool
                        );
                        self.findings
                            .push(Finding::new(FindingKind::SingleTrace, message));
                    }
                    Some(condition)
                }
                // A call that may be unwanted is not made.
                None => return,
            }
        } else {
            None
        };
        let count = column.count();
        if count != Some(1) && self.add_loop(column, condition.clone()) {
            return;
        }
        if count.is_some()
            && let Some(block) = self.blocks.iter().find(|block| block.name == column.tool)
        {
            // Single calls say the same with less.
            self.unlooped.push(block.body.clone());
            return;
        }
        match count {
            Some(count) => {
                for single in column.single(count) {
                    self.add_call(&single, condition.clone());
                }
            }
            None => self.add_input_loop(column, condition),
        }
    }

    /// Adds the step of a column with one call in each trace.
    fn add_call(&mut self, column: &CallColumn, condition: Option<Node>) {
        let id = self.free_id(&column.tool);
        let view = self.view(column);
        let calls = self.calls_of(column);
        let args: Vec<&Value> = calls
            .iter()
            .filter_map(|calls| Some(&calls.first()?.args))
            .collect();
        let at = arguments::ArgumentPlace {
            view: &view,
            step: &id,
            argument: "",
        };
        let args = self.object(&at, &args);
        let mut step = self.step_of(id, &column.tool, args);
        step.when = condition;
        self.add_step(step, column, |calls| {
            calls.first()?.answer.output().cloned()
        });
    }

    /// Returns the step that calls a tool or runs a block.
    fn step_of(&self, id: StepId, tool: &Arc<str>, args: Node) -> Step {
        match self.blocks.iter().find(|block| block.name == *tool) {
            Some(block) => block.step(id, args),
            None => Step::call(id, Arc::clone(tool), args),
        }
    }

    /// Adds a step, whose answer in each trace is `answer` of its calls.
    fn add_step(
        &mut self,
        step: Step,
        column: &CallColumn,
        answer: impl Fn(&[&TracedCall]) -> Option<Value>,
    ) {
        let traces = self.calls.iter().zip(&column.calls);
        let calls: Vec<Vec<&TracedCall>> = traces
            .map(|(trace, positions)| {
                let positions = positions.iter().flatten();
                positions
                    .filter_map(|position| trace.get(*position))
                    .collect()
            })
            .collect();
        self.known.add(KnownStep {
            id: step.id.clone(),
            answers: calls.iter().map(|calls| answer(calls)).collect(),
            rounds: calls
                .iter()
                .map(|calls| calls.iter().map(|call| call.round).max())
                .collect(),
            given: calls
                .iter()
                .map(|calls| known::scalars(calls.iter().map(|call| &call.args)))
                .collect(),
        });
        self.steps.push(step);
    }

    /// Returns the calls of a column in each trace that has them.
    fn calls_of(&self, column: &CallColumn) -> Vec<Vec<&'a TracedCall>> {
        let calls = self.calls;
        let traces = calls.iter().zip(&column.calls);
        traces
            .filter_map(|(trace, positions)| {
                let positions = positions.as_ref()?.iter();
                Some(
                    positions
                        .filter_map(|position| trace.get(*position))
                        .collect(),
                )
            })
            .collect()
    }

    fn view(&self, column: &CallColumn) -> PresentCalls {
        let rounds = self.calls_of(column);
        PresentCalls {
            present: column.present(),
            rounds: rounds
                .iter()
                .map(|calls| calls.iter().map(|call| call.round).min().unwrap_or(0))
                .collect(),
        }
    }

    /// Returns an id for a step that calls `tool`.
    fn free_id(&self, tool: &str) -> StepId {
        let bare = tool.rsplit(['.', '/']).next().unwrap_or(tool);
        let bare = bare.rsplit("__").next().unwrap_or(bare);
        let name = inputs::identifier(bare);
        let taken: HashSet<&str> = self.steps.iter().map(|step| step.id.as_str()).collect();
        let is_taken = |name: &str| taken.contains(name) || RESERVED.contains(&name);
        StepId::new(inputs::free_name(&name, is_taken))
    }

    /// Adds an input and returns its reference. `values` are those of the traces of `view`.
    fn add_input(
        &mut self,
        name: &str,
        step: &StepId,
        values: &[Value],
        view: &PresentCalls,
    ) -> Reference {
        let mut all = vec![None; self.calls.len()];
        for (trace, value) in view.present.iter().zip(values) {
            if let Some(slot) = all.get_mut(*trace) {
                *slot = Some(value.clone());
            }
        }
        let name = inputs::identifier(if name.is_empty() { step.as_str() } else { name });
        let is_taken = |name: &str| self.inputs.iter().any(|input| *input.name == *name);
        let name = if is_taken(&name) {
            inputs::free_name(
                &format!("{}_{name}", inputs::identifier(step.as_str())),
                is_taken,
            )
        } else {
            name
        };
        let input = LearnedInput {
            name: name.into(),
            values: all.clone(),
        };
        let reference = input.reference();
        if input.is_redacted() {
            let message = format!("`{}` was redacted, so it is an input", input.name);
            let finding = Finding::new(FindingKind::RedactedValue, message);
            self.findings.push(finding.at(step.as_str(), None));
        }
        self.inputs.push(input);
        self.origins.push(Origin {
            values: all,
            reference: reference.clone(),
            step: None,
        });
        reference
    }

    fn find_single_trace(&mut self, what: &str) {
        let message =
            format!("{what} those of a single trace, which does not tell constants from inputs");
        self.findings
            .push(Finding::new(FindingKind::SingleTrace, message));
    }

    /// Adds a finding about an argument.
    fn find(&mut self, at: &arguments::ArgumentPlace<'_>, kind: FindingKind, message: String) {
        let argument = Some(at.argument).filter(|argument| !argument.is_empty());
        let finding = Finding::new(kind, message).at(at.step.as_str(), argument);
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

/// Names that references read as something other than a step.
const RESERVED: [&str; 18] = [
    "inputs", "vars", "slots", "steps", "results", "item", "index", "last", "env", "secrets",
    "true", "false", "null", "in", "each", "size", "first", "runs",
];
