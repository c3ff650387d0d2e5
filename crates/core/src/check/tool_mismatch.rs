//! Whether a checked plan fits the tools and the rules that it is about to run with: those of its check may have been others.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::checked_plan::CheckedPlan;
use super::context::CheckContext;
use crate::plan::{Outside, Source};
use crate::{Catalog, Tool};

/// A tool that a plan was checked with, and that is another one where the plan is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolMismatch {
    /// The tool, as `server.tool`.
    pub tool: Arc<str>,
    /// What differs, as one clause.
    pub reason: String,
}

impl fmt::Display for ToolMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.tool, self.reason)
    }
}

impl CheckedPlan {
    /// Compares the plan's tools, and those of the plans that it runs, with the tools and the policy of `context`: whether each
    /// tool exists, has the same definition, effects and need for approval, is allowed, and may be given what the plan gives it from
    /// outside. Limits on the size of plans are left to the check.
    pub fn tool_mismatches(&self, context: &CheckContext<'_>) -> Vec<ToolMismatch> {
        let mut found = Comparison::default();
        self.compare(context, &mut found);
        found.mismatches
    }

    fn compare(&self, context: &CheckContext<'_>, found: &mut Comparison) {
        for (step, checked) in self.plan().steps.iter().zip(self.steps()) {
            if let Some(plan) = &checked.plan {
                plan.compare(context, found);
            }
            let Some(tool) = &checked.tool else {
                continue;
            };
            if found.compared.insert(Arc::as_ptr(tool).addr())
                && let Some(reason) = difference(tool, context)
            {
                found.add(tool, reason);
            }
            for (what, name) in given_from_outside(step) {
                if context
                    .policy
                    .releases
                    .objection(what, &name, tool)
                    .is_some()
                {
                    found.add(tool, format!("it may not be given `{what}.{name}`"));
                }
            }
        }
    }
}

#[derive(Default)]
struct Comparison {
    /// The addresses of the tools that were compared. The plan keeps them alive.
    compared: HashSet<usize>,
    mismatches: Vec<ToolMismatch>,
}

impl Comparison {
    fn add(&mut self, tool: &Tool, reason: String) {
        let mismatch = ToolMismatch {
            tool: tool.qualified_name().into(),
            reason,
        };
        if !self.mismatches.contains(&mismatch) {
            self.mismatches.push(mismatch);
        }
    }
}

/// What a step hands to its tool from outside.
fn given_from_outside(step: &crate::Step) -> Vec<(Outside, Arc<str>)> {
    let mut names = Vec::new();
    for node in step.argument_nodes() {
        node.each_reference(&mut |reference| {
            for read in reference.reads() {
                if let Source::Outside(what, name) = &read.source {
                    names.push((*what, Arc::clone(name)));
                }
            }
        });
    }
    names
}

/// Why a plan that was checked with `tool` must not call it here.
fn difference(tool: &Arc<Tool>, context: &CheckContext<'_>) -> Option<String> {
    if let Some(reason) = context.catalog.difference(tool) {
        return Some(reason);
    }
    context.policy.objection(tool).map(|(message, _)| message)
}

impl Catalog {
    /// What differs between `tool` and the catalog's tool of that server and name, as one clause; `None` if it is the same tool.
    pub fn difference(&self, tool: &Arc<Tool>) -> Option<String> {
        let Some(here) = self.get(&tool.server, &tool.name) else {
            return Some("there is no such tool".to_owned());
        };
        if Arc::ptr_eq(here, tool) {
            return None;
        }
        let reason = if here.approval != tool.approval {
            if here.approval {
                "it needs approval, and did not when the plan was checked"
            } else {
                "it needs no approval, and did when the plan was checked"
            }
        } else if here.origin != tool.origin {
            "its server is another program or address"
        } else if here.annotations != tool.annotations {
            "its effects are others"
        } else if here.definition_digest() != tool.definition_digest() {
            "its definition is another one"
        } else {
            return None;
        };
        Some(reason.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Policy, check};
    use crate::plan::{Action, Name, Node};
    use crate::{Place, Plan, Schema, Step, Value};

    type Change = fn(&mut Tool);

    fn pay() -> Tool {
        Tool::new("bank", "pay")
    }

    fn plan() -> CheckedPlan {
        let nothing = || Node::literal(Value::empty_object(), Place::NOWHERE);
        let inner = Plan {
            steps: vec![Step::call("inner", "pay", nothing())],
            ..Plan::default()
        };
        let name = Name {
            text: "other".into(),
            place: Place::NOWHERE,
        };
        let call = crate::plan::PlanCall {
            target: crate::plan::PlanTarget::Named(name),
            scopes: Vec::new(),
        };
        let outer = Plan {
            steps: vec![Step::new("outer".into(), Action::Plan(call), nothing())],
            ..Plan::default()
        };
        let catalog: Catalog = [pay()].into_iter().collect();
        let mut library = crate::check::Library::new();
        library.add("other", inner);
        let context = CheckContext::new(&catalog).with_library(&library);
        let (checked, found) = check(outer, &context);
        checked.unwrap_or_else(|| panic!("{found}"))
    }

    /// What the plan finds here, whose only step calls `bank.pay` in a plan inside.
    fn found(tool: Tool, policy: &Policy) -> Vec<String> {
        let catalog: Catalog = [tool].into_iter().collect();
        let context = CheckContext::new(&catalog).with_policy(policy);
        let found = plan().tool_mismatches(&context);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_difference_of_a_tool_is_found_in_plans_inside() {
        let open = Policy::new();
        assert_eq!(found(pay(), &open), [""; 0]);
        let changes: [(Change, &str); 6] = [
            (|tool| tool.name = "play".into(), "there is no such tool"),
            (
                |tool| tool.approval = true,
                "it needs approval, and did not when the plan was checked",
            ),
            (
                |tool| tool.origin = "evil".into(),
                "its server is another program or address",
            ),
            (
                |tool| tool.annotations.destructive = false,
                "its effects are others",
            ),
            (
                |tool| tool.description = Some("Pays.".into()),
                "its definition is another one",
            ),
            (
                |tool| tool.input = Schema::from_value(Value::from(false)),
                "its definition is another one",
            ),
        ];
        for (change, reason) in changes {
            let mut tool = pay();
            change(&mut tool);
            assert_eq!(found(tool, &open), [format!("`bank.pay`: {reason}")]);
        }
        let denied = Policy::new().deny("bank.*");
        let reason = "`bank.pay`: the policy denies the tool `bank.pay`";
        assert_eq!(found(pay(), &denied), [reason]);
    }
}
