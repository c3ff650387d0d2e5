//! Sub-plans: lookup, checking, and detection of recursion.

use std::collections::HashMap;
use std::sync::Arc;

use super::checked_plan::CheckedPlan;
use super::context::CheckContext;
use super::reporter::{DiagnosticBatch, Reporter};
use super::resolved_plan::PlanRole;
use crate::expression::PatternBudget;
use crate::plan::{Action, Name, PlanCall, PlanTarget, SlotKind};
use crate::{Code, Place, Plan, Sources};

/// The texts and the role of a plan.
pub(super) struct ParentScope<'a> {
    /// The texts that contain its places.
    pub(super) sources: &'a Sources,
    /// The name of the text; `None` for the plan that is checked itself.
    pub(super) text: Option<Arc<str>>,
    pub(super) role: PlanRole,
}

/// The function that checks one plan. The session holds it so that this module does not depend on the pipeline.
type CheckPlan =
    fn(Plan, ParentScope<'_>, &mut CheckSession<'_>) -> (Option<CheckedPlan>, DiagnosticBatch);

/// State of one check that is shared by all plans it visits.
pub(super) struct CheckSession<'a> {
    pub(super) context: &'a CheckContext<'a>,
    check_plan: CheckPlan,
    /// The names of the library plans being checked, outermost first.
    call_stack: Vec<Arc<str>>,
    /// The checked library plans, by name and shared slots.
    cache: HashMap<(Arc<str>, Vec<SlotKind>), Option<CheckedPlan>>,
    /// The remaining budget for patterns in the schemas of all plans.
    pub(super) patterns: PatternBudget,
}

impl<'a> CheckSession<'a> {
    pub(super) fn new(context: &'a CheckContext<'a>, check_plan: CheckPlan) -> Self {
        Self {
            context,
            check_plan,
            call_stack: Vec::new(),
            cache: HashMap::new(),
            patterns: PatternBudget::default(),
        }
    }
}

/// Checks the plan of each step that runs one. Reports the problems of plans with errors.
pub(super) fn sub_plans(
    plan: &Plan,
    parent: &ParentScope<'_>,
    session: &mut CheckSession<'_>,
    reporter: &mut Reporter<'_>,
) -> Vec<Option<CheckedPlan>> {
    plan.steps
        .iter()
        .map(|step| {
            let Action::Plan(call) = &step.action else {
                return None;
            };
            let depth = parent.role.depth();
            let max_depth = session.context.policy.limits.max_depth;
            // The depth is bounded before descending, since inline plans need no library to nest.
            if depth >= max_depth {
                let place = match &call.target {
                    PlanTarget::Named(name) => name.place,
                    PlanTarget::Inline(plan) => plan.place,
                };
                too_deep(max_depth, place, reporter);
                return None;
            }
            match &call.target {
                PlanTarget::Named(name) => named(call, name, depth, session, reporter),
                PlanTarget::Inline(plan) => inline(call, plan, depth, parent, session, reporter),
            }
        })
        .collect()
}

fn too_deep(max_depth: usize, place: Place, reporter: &mut Reporter<'_>) {
    let message = format!("plans run plans more than {max_depth} deep");
    let diagnostic = reporter.error(Code::PlansTooDeep, place, message);
    reporter.push(diagnostic.help("nest fewer plans"));
}

fn inline(
    call: &PlanCall,
    plan: &Plan,
    depth: usize,
    parent: &ParentScope<'_>,
    session: &mut CheckSession<'_>,
    reporter: &mut Reporter<'_>,
) -> Option<CheckedPlan> {
    let has_text = plan.sources.iter().next().is_some();
    let sources = plan.sources.clone();
    let inner = ParentScope {
        sources: if has_text { &sources } else { parent.sources },
        text: parent.text.clone(),
        role: PlanRole::Nested {
            depth: depth + 1,
            scopes: sorted(&call.scopes),
        },
    };
    let (checked, found) = (session.check_plan)(plan.clone(), inner, session);
    reporter.add_all(found);
    checked
}

fn named(
    call: &PlanCall,
    name: &Name,
    depth: usize,
    session: &mut CheckSession<'_>,
    reporter: &mut Reporter<'_>,
) -> Option<CheckedPlan> {
    let library = session.context.library;
    let Some(plan) = library.get(&name.text) else {
        if library.is_unreadable(&name.text) {
            let message = format!("the plan `{}` in the library cannot be read", name.text);
            let diagnostic = reporter.error(Code::UnknownPlan, name.place, message);
            reporter.push(diagnostic.help("fix the errors in it"));
            return None;
        }
        let cache = library.known_names().map(|name| &**name);
        let mut diagnostic = reporter.error(
            Code::UnknownPlan,
            name.place,
            format!("there is no plan `{}` in the library", name.text),
        );
        diagnostic.help = reporter
            .advice(&name.text, "plans", cache)
            .or_else(|| Some("the library is empty".to_owned()));
        reporter.push(diagnostic);
        return None;
    };
    if let Some(start) = session
        .call_stack
        .iter()
        .position(|call_stack| *call_stack == name.text)
    {
        let chain: Vec<String> = session
            .call_stack
            .iter()
            .skip(start)
            .chain([&name.text])
            .map(|name| format!("`{name}`"))
            .collect();
        let diagnostic = reporter
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
        reporter.push(diagnostic);
        return None;
    }
    let scopes = sorted(&call.scopes);
    // Sharing other slots may change the result of the check.
    let key = (Arc::clone(&name.text), scopes.clone());
    if let Some(cache) = session.cache.get(&key) {
        // The cached result may come from a use with fewer enclosing plans.
        let max_depth = session.context.policy.limits.max_depth;
        let cache = cache.clone()?;
        if depth + 1 + cache.size().depth > max_depth {
            too_deep(max_depth, name.place, reporter);
            return None;
        }
        return Some(cache);
    }
    let sources = plan.sources.clone();
    let text = sources.iter().next().map_or_else(
        || Arc::clone(&name.text),
        |source| Arc::clone(source.name()),
    );
    let inner = ParentScope {
        sources: &sources,
        text: Some(text),
        role: PlanRole::Nested {
            depth: depth + 1,
            scopes,
        },
    };
    session.call_stack.push(Arc::clone(&name.text));
    let (checked, found) = (session.check_plan)((**plan).clone(), inner, session);
    session.call_stack.pop();
    reporter.add_all(found);
    session.cache.insert(key, checked.clone());
    checked
}

fn sorted(scopes: &[SlotKind]) -> Vec<SlotKind> {
    let mut scopes = scopes.to_vec();
    // The order of scopes means nothing and must not split the cache.
    scopes.sort_unstable();
    scopes.dedup();
    scopes
}
