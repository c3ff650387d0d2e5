//! Constants of agents that had read untrusted data: such data may have chosen them, and a saved plan would make them trusted.

use planwright_core::Value;
use planwright_core::plan::{Action, Node, NodeKind, PlanTarget, Step, TextPart};

use super::arguments::{is_distinctive, shown};
use super::finding::{Finding, FindingKind};

/// Reports the constants in the arguments of steps, also those of inner plans.
pub(super) fn find_constants(steps: &[Step], findings: &mut Vec<Finding>) {
    for step in steps {
        each_constant(&step.args, &mut |constant| {
            let message = format!(
                "`{}` may come from untrusted data that the session had read",
                shown(constant)
            );
            let finding =
                Finding::new(FindingKind::UntrustedConstant, message).at(step.id.as_str(), None);
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        });
        if let Action::Plan(call) = &step.action
            && let PlanTarget::Inline(plan) = &call.target
        {
            find_constants(&plan.steps, findings);
        }
    }
}

/// Calls `visit` with each constant, and with each constant part of a text, that is more than a common word.
fn each_constant(node: &Node, visit: &mut dyn FnMut(&Value)) {
    let mut visit_one = |value: &Value| {
        if is_distinctive(value) {
            visit(value);
        }
    };
    match &node.kind {
        NodeKind::Literal(value) => visit_one(value),
        NodeKind::Reference(_) => {}
        NodeKind::Text(parts) => {
            for part in parts {
                if let TextPart::Literal(text) = part {
                    visit_one(&Value::Text(text.clone()));
                }
            }
        }
        NodeKind::List(items) => items.iter().for_each(|item| each_constant(item, visit)),
        NodeKind::Object(fields) => {
            for field in fields {
                each_constant(&field.value, visit);
            }
        }
    }
}
