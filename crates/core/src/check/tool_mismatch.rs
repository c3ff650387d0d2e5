//! The comparison of a checked plan with the tools and the policy that it is about to run with.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::checked_plan::CheckedPlan;
use super::context::CheckContext;
use crate::plan::{ExternalValue, Source};
use crate::{Catalog, Tool, ToolName};

/// A tool that differs between the check and the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolMismatch {
    /// The tool, as `server.tool`.
    pub tool: ToolName,
    /// The difference, as one clause.
    pub reason: String,
}

impl fmt::Display for ToolMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.tool, self.reason)
    }
}

impl CheckedPlan {
    /// Compares the tools of the plan and its sub-plans with the tools and the policy of `context`. Each tool must
    /// exist with the same definition, effects and approval rule, it must be allowed, and it may receive the external
    /// values that the plan gives it. Limits are not compared.
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
            // Many steps share a tool, and comparing definitions hashes them.
            if found.compared.insert(Arc::as_ptr(tool).addr())
                && let Some(reason) = difference(tool, context)
            {
                found.add(tool, reason);
            }
            // Each step may give other values to the same tool.
            for (what, name) in external_values_of(step) {
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
    /// The addresses of the compared tools, which the plan keeps alive.
    compared: HashSet<usize>,
    mismatches: Vec<ToolMismatch>,
}

impl Comparison {
    fn add(&mut self, tool: &Tool, reason: String) {
        let mismatch = ToolMismatch {
            tool: tool.qualified_name(),
            reason,
        };
        if !self.mismatches.contains(&mismatch) {
            self.mismatches.push(mismatch);
        }
    }
}

/// Returns the external values that a step gives to its tool.
fn external_values_of(step: &crate::Step) -> Vec<(ExternalValue, Arc<str>)> {
    let mut names = Vec::new();
    for node in step.argument_nodes() {
        node.each_reference(&mut |reference| {
            for read in reference.reads() {
                if let Source::ExternalValue(what, name) = &read.source {
                    names.push((*what, Arc::clone(name)));
                }
            }
        });
    }
    names
}

/// Explains why the tool must not be called in `context`, or returns `None`.
fn difference(tool: &Arc<Tool>, context: &CheckContext<'_>) -> Option<String> {
    if let Some(reason) = context.catalog.difference(tool) {
        return Some(reason);
    }
    context.policy.objection(tool).map(|(message, _)| message)
}

impl Catalog {
    /// Describes the difference between `tool` and the catalog's tool of the same server and name, as one clause.
    /// Returns `None` if they are equal.
    pub fn difference(&self, tool: &Arc<Tool>) -> Option<String> {
        let Some(here) = self.get(&tool.server, &tool.name) else {
            return Some("there is no such tool".to_owned());
        };
        // The usual case: the plan was checked with this catalog.
        if Arc::ptr_eq(here, tool) {
            return None;
        }
        let (here, tool) = (here.listed(), tool.listed());
        let reason = if here.approval != tool.approval {
            if here.approval {
                "it needs approval, and did not when the plan was checked"
            } else {
                "it needs no approval, and did when the plan was checked"
            }
        } else if here.origin != tool.origin {
            "the configuration of its server changed"
        } else if here.annotations != tool.annotations {
            "its effects changed"
        } else if here.sharable != tool.sharable {
            "its sharable parameters changed"
        } else if here.definition_digest() != tool.definition_digest() {
            "its definition changed"
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

    /// Returns the mismatches of a plan whose sub-plan calls `bank.pay`.
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
                "the configuration of its server changed",
            ),
            (
                |tool| tool.annotations.destructive = false,
                "its effects changed",
            ),
            (
                |tool| tool.description = Some("Pays.".into()),
                "its definition changed",
            ),
            (
                |tool| tool.input = Schema::from_value(Value::from(false)),
                "its definition changed",
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
