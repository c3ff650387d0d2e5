//! The check pipeline: runs all passes over a plan and builds the checked plan.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::checked_plan::{CheckedData, CheckedPlan, CheckedStep, PlanSize};
use super::context::{CheckContext, Policy};
use super::dependencies::DependencyFinder;
use super::passes::path_texts::PathTextPass;
use super::passes::{
    arguments, cycles, inputs, names, order, policy, positional, references, seen, slot_schemas,
    slots, undo,
};
use super::reporter::{DiagnosticBatch, Reporter};
use super::resolved_plan::{
    CheckSession, ParentScope, PlanRole, ReadKinds, ReferenceUse, ResolvedPlan, sub_plans,
};
use super::slot_writers::{SlotWriters, slot_keys};
use super::type_inference::TypeInference;
use crate::flow::{self, FlowAnalysis, FlowContext, FlowReport, FlowVerdict, StepLabels};
use crate::plan::reference::StepIndex;
use crate::plan::{Action, Alternative, Form, Node, Output, Read, Source};
use crate::schema::Type;
use crate::{Diagnostics, Hashing, Object, Plan, Step, StepId, Tool};

/// The number of steps that one pass after the other looks at.
const STEPS_AT_A_TIME: usize = 16;

/// Checks `plan` against `context`. Returns every diagnostic at once and, if none of them is an error, the plan that an
/// engine can run.
pub fn check(plan: Plan, context: &CheckContext<'_>) -> (Option<CheckedPlan>, Diagnostics) {
    check_as(PlanRole::Main, plan, context)
}

/// Checks `plan` without its inputs, which are provided when it runs. Returns only diagnostics, since a plan
/// without its inputs cannot run.
pub fn check_without_inputs(plan: Plan, context: &CheckContext<'_>) -> Diagnostics {
    let (_, diagnostics) = check_as(PlanRole::Template, plan, context);
    diagnostics
}

pub(super) fn check_as(
    role: PlanRole,
    plan: Plan,
    context: &CheckContext<'_>,
) -> (Option<CheckedPlan>, Diagnostics) {
    let sources = plan.sources.clone();
    let mut session = CheckSession::new(context, check_plan);
    let parent = ParentScope {
        sources: &sources,
        text: None,
        role,
    };
    let (checked, found) = check_plan(plan, parent, &mut session);
    let diagnostics = found.finish_in_order();
    let checked = checked.map(|plan| plan.with_warnings(diagnostics.clone()));
    (checked, diagnostics)
}

impl CheckedPlan {
    /// Analyzes the flow of data again, now with the labels of results that an earlier plan of the same run computed. Returns no
    /// plan if `policy` denies a violation, and the violations; a plan without a flow policy stays as it is.
    pub fn with_retained(
        self,
        policy: &Policy,
        retained: &StepLabels,
    ) -> (Option<CheckedPlan>, Diagnostics) {
        let Some(flow_policy) = &policy.flow else {
            return (Some(self), Diagnostics::new());
        };
        let context = FlowContext {
            retained: Some(retained),
            ..FlowContext::new(flow_policy, &policy.releases)
        };
        let mut report = flow::analyze(&self, context);
        let violations = std::mem::take(&mut report.diagnostics);
        let is_denied = report.verdict() == FlowVerdict::Denied;
        ((!is_denied).then(|| self.with_flow(report)), violations)
    }

    /// Appends the steps of `more` to this plan and checks the result. Existing steps keep their positions, and new
    /// steps may refer to them.
    ///
    /// Inputs, initial values, slot schemas and texts of `more` are added. Its output replaces the current one unless
    /// it selects everything. Places of the new texts must not overlap with existing ones (see
    /// [`SourceText::new`](crate::place::SourceText::new)).
    pub fn extend(
        &self,
        more: Plan,
        context: &CheckContext<'_>,
    ) -> (Option<CheckedPlan>, Diagnostics) {
        check(joined(self.plan().clone(), more), context)
    }
}

fn joined(mut plan: Plan, more: Plan) -> Plan {
    plan.inputs.extend(more.inputs);
    plan.contents.extend(more.contents);
    plan.slot_schemas.extend(more.slot_schemas);
    for instance in more.instances {
        if !plan.instances.contains(&instance) {
            plan.instances.push(instance);
        }
    }
    plan.steps.extend(more.steps);
    // Selecting everything is the default and must not undo an earlier selection.
    if more.output != Output::All {
        plan.output = more.output;
    }
    plan.sources.join(&more.sources);
    plan
}

pub(super) fn check_plan(
    mut plan: Plan,
    parent: ParentScope<'_>,
    session: &mut CheckSession<'_>,
) -> (Option<CheckedPlan>, DiagnosticBatch) {
    let context = session.context;
    let role = &parent.role;
    let mut reporter = Reporter::new(parent.sources, parent.text.clone());
    let limits = &context.policy.limits;
    // The other passes assume bounded sizes.
    if policy::check_size(&plan, limits, &mut session.patterns, &mut reporter).is_break() {
        return (None, reporter.finish());
    }
    let tools = names::resolve_tools(&mut plan, context.catalog, &mut reporter);
    // Positional arguments get their names first: all other passes see named ones only.
    positional::name_plan(&mut plan, context.catalog, &mut reporter);
    let ids = step_ids(&plan);
    let writers = SlotWriters::of(&plan.steps);
    let sub_plans = sub_plans(&plan, &parent, session, &mut reporter);
    let (steps, reads) = resolve_steps(&mut plan, &ids, &writers, sub_plans, tools);
    let instances = match role {
        PlanRole::Main | PlanRole::Template => plan.instances.len().max(1),
        PlanRole::Nested { .. } => 1,
    };
    let size = PlanSize::of(&plan, &steps, instances);
    policy::check_total_size(&plan, size, limits, &mut reporter);
    let nothing = Object::default();
    // A sub-plan gets its inputs as arguments, which differ between calls.
    let inputs = if role.is_main() {
        context.inputs
    } else {
        &nothing
    };
    // The type of the output and the open reads follow once there are no errors.
    let mut data = CheckedData {
        inputs: inputs::values(&plan, inputs),
        plan,
        steps,
        ids,
        writers,
        size,
        digest: OnceLock::new(),
        output_type: Type::Any,
        unwritten_slot_reads: Vec::new(),
    };
    let resolved = ResolvedPlan {
        plan: &data.plan,
        context,
        role,
        ids: &data.ids,
        writers: &data.writers,
        resolved_steps: &data.steps,
        inputs,
        reads,
        is_undo: false,
    };
    let flow_policy = context.policy.flow.as_ref().filter(|_| role.is_main());
    let mut flow = flow_policy.map(|policy| {
        let context_of_flow = FlowContext {
            recalled: Some(context.recalled),
            retained: context.retained,
            ..FlowContext::new(policy, &context.policy.releases)
        };
        FlowAnalysis::new(&data, context_of_flow)
    });
    let types = TypeInference::new(&resolved);
    let learned = TypeInference::learned(&resolved);
    names::check(&resolved, &mut reporter);
    cycles::check(&resolved, &mut reporter);
    order::check(&resolved, &mut reporter);
    let mut path_texts = PathTextPass::new(&resolved, &types, context.catalog);
    let mut malformed = HashSet::new();
    let check_use = |usage: ReferenceUse<'_>, reporter: &mut Reporter<'_>| {
        references::check(&resolved, &types, usage, reporter);
        references::check_expressions(&types, usage, reporter);
        if let Some(learned) = &learned {
            seen::check_computed((&types, learned), &resolved, usage, reporter);
        }
        policy::check_length(&resolved, usage, reporter);
    };
    path_texts.check_output(&mut reporter);
    // The passes over the parts of steps take a few of them at a time: a large plan does not fit into the caches of a processor.
    let steps: Vec<_> = resolved.steps().collect();
    for steps in steps.chunks(STEPS_AT_A_TIME) {
        for &(index, step) in steps {
            ResolvedPlan::each_use_in_step(index, step, &mut |usage| {
                check_use(usage, &mut reporter);
            });
            references::check_conditions(&types, (index, step), &mut reporter);
        }
        for &(index, step) in steps {
            arguments::check(
                &resolved,
                &types,
                (index, step),
                &mut malformed,
                &mut reporter,
            );
            arguments::check_extraction(step, &mut reporter);
            path_texts.check_step(step, &mut reporter);
            policy::check_tool(&resolved, (index, step), &mut reporter);
            policy::check_limits(step, limits, &mut reporter);
        }
        // The flow analysis needs a plan without errors.
        if reporter.has_errors() {
            flow = None;
            continue;
        }
        if let (Some(flow), Some((last, _))) = (&mut flow, steps.last()) {
            flow.label_up_to(*last);
        }
    }
    resolved.each_use_in_output(&mut |usage| check_use(usage, &mut reporter));
    inputs::check(&resolved, &mut reporter);
    slots::check_sharing(&resolved, &mut reporter);
    let undos = undo::check(&resolved, &mut reporter);
    undo::check_inner_plans(&resolved, &mut reporter);
    policy::check_external_values(&resolved, &mut reporter);
    slots::check(&resolved, &types, &mut reporter);
    slot_schemas::check(&resolved, &types, &mut reporter);
    // Only a plan without errors becomes a `CheckedPlan`.
    if reporter.has_errors() {
        return (None, reporter.finish());
    }
    let report = flow.map(FlowAnalysis::finish);
    // The caller of a sub-plan reads parts of its output.
    let output_type = if role.is_main() {
        Type::Any
    } else {
        types.plan_output_type()
    };
    drop((types, learned));
    for (step, tool) in undos {
        if let Some(step) = data.steps.get_mut(step as usize) {
            step.undo = Some(tool);
        }
    }
    let checked = CheckedPlan::new(CheckedData {
        output_type,
        unwritten_slot_reads: unwritten_slot_reads(&data, reads),
        ..data
    });
    let checked = match report {
        Some(report) => with_flow(checked, report, context, &mut reporter),
        None => Some(checked),
    };
    (checked, reporter.finish())
}

/// Adds the flow of data to a plan that is sound otherwise. Returns `None` if the policy denies a violation.
fn with_flow(
    plan: CheckedPlan,
    mut report: FlowReport,
    context: &CheckContext<'_>,
    reporter: &mut Reporter<'_>,
) -> Option<CheckedPlan> {
    // These diagnostics become warnings of the plan.
    let violations = std::mem::take(&mut report.diagnostics);
    let policy = context.policy.flow.as_ref();
    let uncovered = policy.map(|policy| flow::uncovered_rules(policy, context.catalog));
    reporter.push_violations(violations, uncovered.unwrap_or_default());
    let is_denied = report.verdict() == FlowVerdict::Denied;
    (!is_denied).then(|| plan.with_flow(report))
}

/// Returns the position of each id; of duplicate ids, the first.
pub(super) fn step_ids(plan: &Plan) -> HashMap<StepId, u32, Hashing> {
    let mut ids = HashMap::with_capacity_and_hasher(plan.steps.len(), Hashing::default());
    for (index, step) in (0_u32..).zip(&plan.steps) {
        // A duplicate id is reported by the name pass.
        ids.entry(step.id.clone()).or_insert(index);
    }
    ids
}

/// Resolves the names in each step: its tool, its dependencies, and the positions of the steps that it reads, which are
/// stored in its reads, so that a run need not look up ids. Expressions are shared between plans, so their reads keep using
/// ids; sub-plans are resolved when they are checked. Returns the kinds of all reads as well.
pub(super) fn resolve_steps(
    plan: &mut Plan,
    ids: &HashMap<StepId, u32, Hashing>,
    writers: &SlotWriters,
    sub_plans: Vec<Option<CheckedPlan>>,
    tools: Vec<Option<Arc<Tool>>>,
) -> (Vec<CheckedStep>, ReadKinds) {
    let mut kinds = ReadKinds::default();
    let mut resolve_read = |read: &mut Read| {
        read.position = StepIndex(match &read.source {
            Source::Step(id) | Source::Result(id) => ids.get(id).copied(),
            Source::Slot(_)
            | Source::Item
            | Source::Index
            | Source::Last
            | Source::ExternalValue(..) => None,
        });
    };
    let mut resolve_node = |node: &mut Node| {
        node.each_reference_mut(&mut |reference| {
            match &mut reference.form {
                Form::All(reads) => reads.iter_mut().for_each(&mut resolve_read),
                Form::First(alternatives) => {
                    for alternative in alternatives.iter_mut() {
                        if let Alternative::Read(read) = alternative {
                            resolve_read(read);
                        }
                    }
                    let is_expression =
                        |one: &Alternative| matches!(one, Alternative::Expression(_));
                    kinds.expressions += usize::from(alternatives.iter().any(is_expression));
                }
            }
            reference.each_read(&mut |read| kinds.add(&read.source));
        });
    };
    if let Output::Value(node) = &mut plan.output {
        resolve_node(node);
    }
    let mut resolved = Vec::with_capacity(sub_plans.len());
    for ((index, sub_plan), tool) in (0_u32..).zip(sub_plans).zip(tools) {
        let step = plan.steps.get_mut(index as usize);
        let nodes = step.into_iter().flat_map(Step::nodes_mut);
        nodes.for_each(&mut resolve_node);
        let Some(step) = plan.steps.get(index as usize) else {
            break;
        };
        let finder = DependencyFinder { plan, ids, writers };
        let dependencies = finder.find(index, step, sub_plan.as_ref());
        resolved.push(CheckedStep {
            index,
            tool: tool.map(|tool| tool.of_step(step)),
            plan: sub_plan,
            undo: None,
            dependencies: dependencies.all,
            initial_dependencies: dependencies.initial,
        });
    }
    (resolved, kinds)
}

/// Returns the reads of slots that no step of the plan writes, including those of sub-plans that share the slots.
fn unwritten_slot_reads(data: &CheckedData, reads: ReadKinds) -> Vec<Read> {
    let CheckedData { plan, writers, .. } = data;
    let mut open = Vec::new();
    let mut consider = |read: &Read| {
        if let Source::Slot(kind) = read.source
            && writers.overlapping(kind, slot_keys(&read.path)).is_empty()
        {
            open.push(read.clone());
        }
    };
    for (step, checked) in plan.steps.iter().zip(&data.steps) {
        if reads.slots {
            step.each_node(&mut |node, _| {
                node.each_reference(&mut |reference| {
                    reference.each_read(&mut consider);
                });
            });
        }
        if let (Action::Plan(call), Some(sub_plan)) = (&step.action, &checked.plan) {
            for kind in &call.scopes {
                sub_plan.unwritten_slot_reads(*kind).for_each(&mut consider);
            }
        }
    }
    if let Output::Value(node) = &plan.output {
        node.each_reference(&mut |reference| {
            reference.each_read(&mut consider);
        });
    }
    open
}
