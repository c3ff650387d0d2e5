//! The check pipeline: runs all passes over a plan and builds the checked plan.

use std::collections::HashMap;
use std::sync::Arc;

use super::checked_plan::{CheckedData, CheckedPlan, CheckedStep, PlanSize};
use super::context::{CheckContext, Policy};
use super::dependencies::{StepDependencies, step_dependencies};
use super::digest;
use super::passes::{
    arguments, cycles, inputs, names, path_texts, policy, positional, references, slot_schemas,
    slots,
};
use super::reporter::{DiagnosticBatch, Reporter};
use super::resolved_plan::{
    CheckSession, ParentScope, PlanRole, ReadKinds, ResolvedPlan, sub_plans,
};
use super::slot_writers::{SlotWriters, slot_keys};
use super::type_inference::TypeInference;
use crate::flow::{self, FlowContext, FlowPolicy, FlowVerdict, StepLabels};
use crate::plan::reference::StepIndex;
use crate::plan::{Action, Alternative, Form, Node, Output, Read, Source};
use crate::schema::Type;
use crate::{Diagnostics, Hashing, Lookup, Object, Plan, StepId, Tool};

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

fn check_as(
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
    let (checked, mut found) = check_plan(plan, parent, &mut session);
    let checked = checked.and_then(|plan| match &context.policy.flow {
        Some(policy) => check_flow(plan, policy, context, &mut found),
        None => Some(plan),
    });
    found.sort();
    let diagnostics = found.finish();
    let checked = checked.map(|plan| plan.with_warnings(diagnostics.clone()));
    (checked, diagnostics)
}

/// Adds the flow analysis to a plan that is sound otherwise. Returns `None` if the policy denies a violation.
fn check_flow(
    plan: CheckedPlan,
    policy: &FlowPolicy,
    context: &CheckContext<'_>,
    found: &mut DiagnosticBatch,
) -> Option<CheckedPlan> {
    let context_of_flow = FlowContext {
        recalled: Some(context.recalled),
        retained: context.retained,
        ..FlowContext::new(policy, &context.policy.releases)
    };
    let mut report = flow::analyze(&plan, context_of_flow);
    // These diagnostics become warnings of the plan.
    for diagnostic in std::mem::take(&mut report.diagnostics) {
        found.push(diagnostic);
    }
    for diagnostic in flow::uncovered_rules(policy, context.catalog) {
        found.push(diagnostic);
    }
    let is_denied = report.verdict() == FlowVerdict::Denied;
    (!is_denied).then(|| plan.with_flow(report))
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

fn check_plan(
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
    // Positional arguments get their names first: all other passes see named ones only.
    positional::name_plan(&mut plan, context.catalog, &mut reporter);
    let ids = step_ids(&plan);
    let reads = resolve_reads(&mut plan, &ids);
    let writers = SlotWriters::of(&plan.steps);
    let tools = tools(&plan, context);
    let sub_plans = sub_plans(&plan, &parent, session, &mut reporter);
    let instances = match role {
        PlanRole::Main | PlanRole::Template => plan.instances.len().max(1),
        PlanRole::Nested { .. } => 1,
    };
    let size = PlanSize::of(&plan, &sub_plans, instances);
    policy::check_total_size(&plan, size, limits, &mut reporter);
    let dependencies = step_dependencies(&plan, &ids, &writers, &sub_plans);
    let nothing = Object::default();
    // A sub-plan gets its inputs as arguments, which differ between calls.
    let inputs = if role.is_main() {
        context.inputs
    } else {
        &nothing
    };
    let resolved = ResolvedPlan {
        plan: &plan,
        context,
        role,
        ids: &ids,
        writers: &writers,
        tools: &tools,
        sub_plans: &sub_plans,
        dependencies: &dependencies,
        inputs,
        reads,
    };
    let types = TypeInference::new(&resolved);
    names::check(&resolved, &mut reporter);
    cycles::check(&resolved, &mut reporter);
    // One walk for all that looks at each reference: a large plan does not fit into the caches of a processor.
    resolved.each_use(&mut |usage| {
        references::check(&resolved, &types, usage, &mut reporter);
        references::check_expressions(&types, usage, &mut reporter);
        policy::check_length(&resolved, usage, &mut reporter);
    });
    references::check_conditions(&resolved, &types, &mut reporter);
    inputs::check(&resolved, &mut reporter);
    arguments::check(&resolved, &types, &mut reporter);
    arguments::check_extraction(&resolved, &mut reporter);
    path_texts::check(&resolved, &types, &mut reporter);
    slots::check_sharing(&resolved, &mut reporter);
    policy::check(&resolved, &mut reporter);
    policy::check_limits(&resolved, &mut reporter);
    slots::check(&resolved, &types, &mut reporter);
    slot_schemas::check(&resolved, &types, &mut reporter);
    let has_errors = reporter.has_errors();
    // The caller of a sub-plan reads parts of its output.
    let output_type = if role.is_main() || has_errors {
        Type::Any
    } else {
        types.plan_output_type()
    };
    drop(types);

    // Only a plan without errors becomes a `CheckedPlan`.
    if has_errors {
        return (None, reporter.finish());
    }
    let inputs = inputs::values(&plan, inputs);
    let digest = digest::digest(&plan, &sub_plans);
    let unwritten_slot_reads = unwritten_slot_reads(&plan, reads, &writers, &sub_plans);
    let checked = CheckedPlan::new(CheckedData {
        steps: checked_steps(tools, sub_plans, dependencies),
        plan,
        ids,
        writers,
        digest,
        inputs,
        output_type,
        unwritten_slot_reads,
        size,
    });
    (Some(checked), reporter.finish())
}

/// Returns the position of each id; of duplicate ids, the first.
fn step_ids(plan: &Plan) -> HashMap<StepId, u32, Hashing> {
    let mut ids = HashMap::with_capacity_and_hasher(plan.steps.len(), Hashing::default());
    for (index, step) in (0_u32..).zip(&plan.steps) {
        // A duplicate id is reported by the name pass.
        ids.entry(step.id.clone()).or_insert(index);
    }
    ids
}

/// Stores the positions of steps in the reads of `plan`, so that a run need not look up ids. Expressions are shared
/// between plans, so their reads keep using ids; sub-plans are resolved when they are checked. Returns the kinds of all
/// reads.
fn resolve_reads(plan: &mut Plan, ids: &HashMap<StepId, u32, Hashing>) -> ReadKinds {
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
    for step in &mut plan.steps {
        step.nodes_mut().for_each(&mut resolve_node);
    }
    if let Output::Value(node) = &mut plan.output {
        resolve_node(node);
    }
    kinds
}

fn tools(plan: &Plan, context: &CheckContext<'_>) -> Vec<Option<Arc<Tool>>> {
    plan.steps
        .iter()
        .map(|step| match context.catalog.find(&step.tool()?.text) {
            Lookup::Found(tool) => Some(tool.of_step(step)),
            Lookup::Ambiguous(_) | Lookup::Unknown => None,
        })
        .collect()
}

fn checked_steps(
    tools: Vec<Option<Arc<Tool>>>,
    sub_plans: Vec<Option<CheckedPlan>>,
    dependencies: Vec<StepDependencies>,
) -> Vec<CheckedStep> {
    (0_u32..)
        .zip(tools.into_iter().zip(sub_plans).zip(dependencies))
        .map(|(index, ((tool, plan), step))| CheckedStep {
            index,
            tool,
            plan,
            dependencies: step.all,
            initial_dependencies: step.initial,
        })
        .collect()
}

/// Returns the reads of slots that no step of the plan writes, including those of sub-plans that share the slots.
fn unwritten_slot_reads(
    plan: &Plan,
    reads: ReadKinds,
    writers: &SlotWriters,
    sub_plans: &[Option<CheckedPlan>],
) -> Vec<Read> {
    let mut open = Vec::new();
    let mut consider = |read: &Read| {
        if let Source::Slot(kind) = read.source
            && writers.overlapping(kind, slot_keys(&read.path)).is_empty()
        {
            open.push(read.clone());
        }
    };
    for (step, sub_plan) in plan.steps.iter().zip(sub_plans) {
        if reads.slots {
            step.each_node(&mut |node, _| {
                node.each_reference(&mut |reference| {
                    reference.each_read(&mut consider);
                });
            });
        }
        if let (Action::Plan(call), Some(sub_plan)) = (&step.action, sub_plan) {
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
