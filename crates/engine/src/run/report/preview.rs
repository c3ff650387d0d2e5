//! Previews of runs, for dry runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use planwright_core::check::CheckedPlan;
use planwright_core::expression::EvaluationLimits;
use planwright_core::plan::{Action, Approval};
use planwright_core::{Object, StepId, Value};

use crate::options::DEFAULT_COMPUTED_BYTES;
use crate::options::SecretValues;
use crate::run::budgets::MemoryBudget;
use crate::run::redaction::redactor::Redactor;
use crate::run::redaction::redactor::secret_inputs;
use crate::run::values::frame::{Frame, shared_slots};
use crate::run::values::resolve::{ReferenceScope, Warnings};

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
