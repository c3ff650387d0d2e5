//! Plans that steps run: found, checked, and never inside of themselves.

use std::collections::HashMap;
use std::sync::Arc;

use super::checked_plan::CheckedPlan;
use super::context::CheckContext;
use super::reporter::{Findings, Found};
use super::resolved_plan::Role;
use crate::expression::PatternBudget;
use crate::plan::{Action, Name, PlanCall, PlanTarget, SlotKind};
use crate::{Code, Place, Plan, Sources};

/// Where a plan stands.
pub(super) struct Surroundings<'a> {
    /// The texts that its places are in.
    pub(super) sources: &'a Sources,
    /// The text's name, where it is not the plan itself that is checked.
    pub(super) text: Option<Arc<str>>,
    pub(super) role: Role,
}

/// The pipeline that checks one plan. A session holds it, so that this module does not depend on the pipeline.
type CheckPlan = fn(Plan, Surroundings<'_>, &mut Session<'_>) -> (Option<CheckedPlan>, Found);

/// What one check remembers across the plans that it looks at.
pub(super) struct Session<'a> {
    pub(super) context: &'a CheckContext<'a>,
    check_plan: CheckPlan,
    /// The library's plans that are being checked, outermost first.
    open: Vec<Arc<str>>,
    /// Those that were checked, by name and shared slots.
    known: HashMap<(Arc<str>, Vec<SlotKind>), Option<CheckedPlan>>,
    /// What is left for the patterns in the schemas of the plan and of those that it runs.
    pub(super) patterns: PatternBudget,
}

impl<'a> Session<'a> {
    pub(super) fn new(context: &'a CheckContext<'a>, check_plan: CheckPlan) -> Self {
        Self {
            context,
            check_plan,
            open: Vec::new(),
            known: HashMap::new(),
            patterns: PatternBudget::default(),
        }
    }
}

/// The plan of each step that runs a sound one. The findings of the others are added.
pub(super) fn sub_plans(
    plan: &Plan,
    surroundings: &Surroundings<'_>,
    session: &mut Session<'_>,
    findings: &mut Findings<'_>,
) -> Vec<Option<CheckedPlan>> {
    plan.steps
        .iter()
        .map(|step| {
            let Action::Plan(call) = &step.action else {
                return None;
            };
            let depth = surroundings.role.depth();
            let max_depth = session.context.policy.limits.max_depth;
            if depth >= max_depth {
                let place = match &call.target {
                    PlanTarget::Named(name) => name.place,
                    PlanTarget::Inline(plan) => plan.place,
                };
                too_deep(max_depth, place, findings);
                return None;
            }
            match &call.target {
                PlanTarget::Named(name) => named(call, name, depth, session, findings),
                PlanTarget::Inline(plan) => {
                    inline(call, plan, depth, surroundings, session, findings)
                }
            }
        })
        .collect()
}

fn too_deep(max_depth: usize, place: Place, findings: &mut Findings<'_>) {
    let message = format!("plans run plans more than {max_depth} deep");
    let finding = findings.error(Code::PlansTooDeep, place, message);
    findings.push(finding.help("let fewer plans stand inside of each other"));
}

fn inline(
    call: &PlanCall,
    plan: &Plan,
    depth: usize,
    surroundings: &Surroundings<'_>,
    session: &mut Session<'_>,
    findings: &mut Findings<'_>,
) -> Option<CheckedPlan> {
    let has_text = plan.sources.iter().next().is_some();
    let sources = plan.sources.clone();
    let inner = Surroundings {
        sources: if has_text {
            &sources
        } else {
            surroundings.sources
        },
        text: surroundings.text.clone(),
        role: Role::Step {
            depth: depth + 1,
            scopes: sorted(&call.scopes),
        },
    };
    let (checked, found) = (session.check_plan)(plan.clone(), inner, session);
    findings.add_all(found);
    checked
}

fn named(
    call: &PlanCall,
    name: &Name,
    depth: usize,
    session: &mut Session<'_>,
    findings: &mut Findings<'_>,
) -> Option<CheckedPlan> {
    let library = session.context.library;
    let Some(plan) = library.get(&name.text) else {
        if library.is_unreadable(&name.text) {
            let message = format!("the plan `{}` in the library cannot be read", name.text);
            let finding = findings.error(Code::UnknownPlan, name.place, message);
            findings.push(finding.help("mend what was found in it"));
            return None;
        }
        let known = library.known_names().map(|name| &**name);
        let mut finding = findings.error(
            Code::UnknownPlan,
            name.place,
            format!("there is no plan `{}` in the library", name.text),
        );
        finding.help = findings
            .advice(&name.text, "plans", known)
            .or_else(|| Some("the library is empty".to_owned()));
        findings.push(finding);
        return None;
    };
    if let Some(start) = session.open.iter().position(|open| *open == name.text) {
        let chain: Vec<String> = session
            .open
            .iter()
            .skip(start)
            .chain([&name.text])
            .map(|name| format!("`{name}`"))
            .collect();
        let finding = findings
            .error(
                Code::RecursivePlan,
                name.place,
                format!(
                    "the plan `{}` runs itself: {}",
                    name.text,
                    chain.join(" → ")
                ),
            )
            .help("a plan that repeats something says `repeat` or `for_each`");
        findings.push(finding);
        return None;
    }
    let scopes = sorted(&call.scopes);
    let key = (Arc::clone(&name.text), scopes.clone());
    if let Some(known) = session.known.get(&key) {
        // It was checked where fewer plans were around it, perhaps.
        let max_depth = session.context.policy.limits.max_depth;
        let known = known.clone()?;
        if depth + 1 + known.extent().depth > max_depth {
            too_deep(max_depth, name.place, findings);
            return None;
        }
        return Some(known);
    }
    let sources = plan.sources.clone();
    let text = sources.iter().next().map_or_else(
        || Arc::clone(&name.text),
        |source| Arc::clone(source.name()),
    );
    let inner = Surroundings {
        sources: &sources,
        text: Some(text),
        role: Role::Step {
            depth: depth + 1,
            scopes,
        },
    };
    session.open.push(Arc::clone(&name.text));
    let (checked, found) = (session.check_plan)((**plan).clone(), inner, session);
    session.open.pop();
    findings.add_all(found);
    session.known.insert(key, checked.clone());
    checked
}

fn sorted(scopes: &[SlotKind]) -> Vec<SlotKind> {
    let mut scopes = scopes.to_vec();
    scopes.sort_unstable();
    scopes.dedup();
    scopes
}
