//! The inspection of a plan that is still being written: its diagnostics, the types of its values, the flow of its data.

use std::sync::Arc;

use super::context::CheckContext;
use super::passes::{names, policy, positional};
use super::pipeline::{check_as, check_plan, resolve_steps, step_ids};
use super::reporter::Reporter;
use super::resolved_plan::{CheckSession, ParentScope, PlanRole, ResolvedPlan, sub_plans};
use super::slot_writers::SlotWriters;
use super::type_inference::TypeInference;
use crate::flow::FlowReport;
use crate::plan::{Keyword as _, SlotKind};
use crate::schema::Type;
use crate::{Diagnostics, Object, Plan, StepId, Tool};

/// The result of [`inspect`].
#[derive(Clone, Debug)]
pub struct PlanInspection {
    /// All diagnostics.
    pub diagnostics: Diagnostics,
    /// The flow of data, for a plan without errors that is checked with a flow policy.
    pub flow: Option<FlowReport>,
    /// The types of each step, in the order of the plan. Empty for a plan that exceeds a limit.
    pub steps: Vec<StepTypes>,
    /// The names and types of inputs and slots before the first step, by kind.
    pub slots: Vec<SlotType>,
}

/// An input or a slot: its kind, its name and its type before the first step.
pub type SlotType = (SlotKind, Arc<str>, Type);

/// The types of a step.
#[derive(Clone, Debug)]
pub struct StepTypes {
    /// The step's id.
    pub id: StepId,
    /// The tool that the step calls, if it is known.
    pub tool: Option<Arc<Tool>>,
    /// The output as other steps read it.
    pub output: Type,
    /// The item of its loop; [`Type::Any`] for a step without one.
    pub item: Type,
}

/// Checks `plan` without its inputs, and returns everything that is known about it, also if it has errors.
pub fn inspect(plan: Plan, context: &CheckContext<'_>) -> PlanInspection {
    let (steps, slots) = types(plan.clone(), context);
    let (checked, diagnostics) = check_as(PlanRole::Template, plan, context);
    PlanInspection {
        diagnostics,
        flow: checked.and_then(|plan| plan.flow().cloned()),
        steps,
        slots,
    }
}

/// The types of all steps, and of inputs and slots before the first of them.
fn types(mut plan: Plan, context: &CheckContext<'_>) -> (Vec<StepTypes>, Vec<SlotType>) {
    let sources = plan.sources.clone();
    let mut session = CheckSession::new(context, check_plan);
    let parent = ParentScope {
        sources: &sources,
        text: None,
        role: PlanRole::Template,
    };
    // The check reports the problems.
    let mut reporter = Reporter::new(&sources, None);
    let limits = &context.policy.limits;
    if policy::check_size(&plan, limits, &mut session.patterns, &mut reporter).is_break() {
        return (Vec::new(), Vec::new());
    }
    let tools = names::resolve_tools(&mut plan, context.catalog, &mut reporter);
    positional::name_plan(&mut plan, context.catalog, &mut reporter);
    let ids = step_ids(&plan);
    let writers = SlotWriters::of(&plan.steps);
    let sub_plans = sub_plans(&plan, &parent, &mut session, &mut reporter);
    let (resolved_steps, reads) = resolve_steps(&mut plan, &ids, &writers, sub_plans, tools);
    let resolved = ResolvedPlan {
        plan: &plan,
        context,
        role: &parent.role,
        ids: &ids,
        writers: &writers,
        resolved_steps: &resolved_steps,
        inputs: &Object::default(),
        reads,
        is_undo: false,
    };
    let types = TypeInference::new(&resolved);
    let steps = resolved.steps().map(|(index, step)| StepTypes {
        id: step.id.clone(),
        tool: resolved.tool(index).cloned(),
        output: types.output_type(index),
        item: types.item_type(Some(index)),
    });
    let steps = steps.collect();
    let slots = SlotKind::ALL.iter().flat_map(|&kind| {
        let names = types.initial.slot_names(kind);
        let of_kind = names.iter().map(|name| {
            let shape = types.initial.slot_type(kind, name).unwrap_or(Type::Any);
            (kind, Arc::clone(name), shape)
        });
        of_kind.collect::<Vec<_>>()
    });
    (steps, slots.collect())
}
