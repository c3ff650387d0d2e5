//! A plan with its names resolved, which is the input of all passes, and its sub-plans.

use std::collections::HashMap;
use std::sync::Arc;

use super::checked_plan::{CheckedPlan, CheckedStep};
use super::context::CheckContext;
use super::reporter::{DiagnosticBatch, Reporter};
use super::slot_writers::SlotWriters;
use crate::expression::PatternBudget;
use crate::plan::{
    Action, InputKind, Name, Node, OnError, Output, PlanCall, PlanTarget, Reference, SelfReference,
    SlotKind, Source,
};
use crate::{Code, Hashing, Object, Place, Plan, Sources, Step, StepId, Tool};

/// The role in which a plan runs.
#[derive(Clone, Debug)]
pub(super) enum PlanRole {
    /// The top-level plan.
    Main,
    /// A top-level plan whose inputs are given later.
    Template,
    /// A sub-plan, run by a step of another plan.
    Nested {
        /// The number of enclosing plans.
        depth: usize,
        /// The kinds of the caller's slots that the plan may read.
        scopes: Vec<SlotKind>,
    },
}

impl PlanRole {
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::Main | Self::Template => 0,
            Self::Nested { depth, .. } => *depth,
        }
    }

    /// Returns true if the slots of `kind` are those of the caller.
    pub(super) fn shares(&self, kind: SlotKind) -> bool {
        match self {
            Self::Main | Self::Template => false,
            Self::Nested { scopes, .. } => scopes.contains(&kind),
        }
    }

    pub(super) fn is_main(&self) -> bool {
        matches!(self, Self::Main | Self::Template)
    }
}

/// A plan with its names resolved: ids, tools, sub-plans, dependencies.
pub(super) struct ResolvedPlan<'a> {
    pub(super) plan: &'a Plan,
    pub(super) context: &'a CheckContext<'a>,
    pub(super) role: &'a PlanRole,
    pub(super) ids: &'a HashMap<StepId, u32, Hashing>,
    pub(super) writers: &'a SlotWriters,
    /// The tool of each step that calls a known one, the checked plan of each step that runs one without errors, and the
    /// dependencies of each step.
    pub(super) resolved_steps: &'a [CheckedStep],
    /// The given inputs by name. Empty for a sub-plan, whose arguments differ between calls.
    pub(super) inputs: &'a Object,
    /// The kinds of reads in the plan.
    pub(super) reads: ReadKinds,
    /// True if the plan stands for an undo: its first steps are the output and the arguments of the call to undo.
    pub(super) is_undo: bool,
}

/// The kinds of reads that a plan has. Passes about a kind need not look for reads if there are none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadKinds {
    /// True if a reference reads a slot, an input or a variable.
    pub(super) slots: bool,
    /// True if a reference reads an external value.
    pub(super) external_values: bool,
    /// The number of references with expressions.
    pub(super) expressions: usize,
}

impl ReadKinds {
    /// Adds the kind of a read of `source`.
    pub(super) fn add(&mut self, source: &Source) {
        match source {
            Source::Slot(_) => self.slots = true,
            Source::ExternalValue(..) => self.external_values = true,
            Source::Step(_) | Source::Result(_) | Source::Item | Source::Index | Source::Last => {}
        }
    }
}

/// A reference and its location in the plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReferenceUse<'a> {
    pub(super) reference: &'a Reference,
    /// The step; `None` for the plan's output.
    pub(super) step: Option<(u32, &'a Step)>,
    pub(super) self_reference: SelfReference,
    pub(super) loop_scope: LoopScope,
}

/// The loop variables that a part of a step may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoopScope {
    /// No variables: the part is evaluated once for the whole loop, as the list of a `for_each` or the output of a failed step.
    None,
    /// The item: the condition is evaluated before the first round.
    Item,
    /// The item and the round.
    Round,
}

impl LoopScope {
    fn of(step: &Step, node: &Node) -> Self {
        // Equal nodes may occur in several parts of a step, so identity decides.
        let is = |part: Option<&Node>| part.is_some_and(|part| std::ptr::eq(part, node));
        let instead = match &step.on_error {
            OnError::Output(node) => Some(node),
            OnError::Fail | OnError::Continue => None,
        };
        if is(step.for_each.as_ref().map(|for_each| &for_each.over)) || is(instead) {
            return Self::None;
        }
        if is(step.when.as_ref()) {
            return Self::Item;
        }
        Self::Round
    }
}

impl<'a> ResolvedPlan<'a> {
    /// Iterates over the steps with their positions.
    pub(super) fn steps(&self) -> impl Iterator<Item = (u32, &'a Step)> + use<'a> {
        (0_u32..).zip(&self.plan.steps)
    }

    pub(super) fn tool(&self, step: u32) -> Option<&'a Arc<Tool>> {
        self.resolved_steps.get(step as usize)?.tool.as_ref()
    }

    /// The kind of the input that `id` names, if it is not a step.
    pub(super) fn meant_input(&self, id: &StepId) -> Option<SlotKind> {
        if self.ids.contains_key(id) {
            return None;
        }
        let mut inputs = self.plan.inputs.iter();
        let input = inputs.find(|input| *input.name == *id.as_str())?;
        Some(match input.kind {
            InputKind::Variable => SlotKind::Vars,
            InputKind::Input => SlotKind::Inputs,
        })
    }

    pub(super) fn sub_plan(&self, step: u32) -> Option<&'a CheckedPlan> {
        self.resolved_steps.get(step as usize)?.plan.as_ref()
    }

    pub(super) fn step(&self, step: u32) -> Option<&'a Step> {
        self.plan.steps.get(step as usize)
    }

    /// Calls `visit` with every reference in the plan.
    pub(super) fn each_use(&self, visit: &mut dyn FnMut(ReferenceUse<'a>)) {
        for (index, step) in self.steps() {
            Self::each_use_in_step(index, step, visit);
        }
        self.each_use_in_output(visit);
    }

    /// Calls `visit` with every reference in the step at position `index`.
    pub(super) fn each_use_in_step(
        index: u32,
        step: &'a Step,
        visit: &mut dyn FnMut(ReferenceUse<'a>),
    ) {
        step.each_node(&mut |node: &'a Node, self_reference| {
            let loop_scope = LoopScope::of(step, node);
            node.each_reference(&mut |reference| {
                visit(ReferenceUse {
                    reference,
                    step: Some((index, step)),
                    self_reference,
                    loop_scope,
                });
            });
        });
    }

    /// Calls `visit` with every reference in the output.
    pub(super) fn each_use_in_output(&self, visit: &mut dyn FnMut(ReferenceUse<'a>)) {
        if let Output::Value(node) = &self.plan.output {
            node.each_reference(&mut |reference| {
                visit(ReferenceUse {
                    reference,
                    step: None,
                    self_reference: SelfReference::Forbidden,
                    loop_scope: LoopScope::None,
                });
            });
        }
    }
}

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
