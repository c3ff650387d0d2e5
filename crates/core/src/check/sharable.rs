//! Which parameters may receive data from other steps.

use super::findings::Findings;
use super::survey::Survey;
use crate::plan::{Node, NodeKind, Sharing};
use crate::{Code, Tool, Value};

pub(super) fn check(survey: &Survey<'_>, findings: &mut Findings<'_>) {
    if survey.plan.sharing == Sharing::Open {
        return;
    }
    for (index, step) in survey.steps() {
        let Some(tool) = survey.tool(index) else {
            continue;
        };
        match &step.args.kind {
            NodeKind::Object(fields) => {
                for field in fields {
                    if !is_sharable(tool, &field.key) {
                        parameter(tool, &field.key, &field.value, findings);
                    }
                }
            }
            NodeKind::Literal(_) => {}
            _ => {
                let finding = findings.error(
                    Code::NotSharable,
                    step.args.place,
                    format!(
                        "the arguments of `{}` as a whole cannot come from another step",
                        tool.name
                    ),
                );
                findings.push(finding);
            }
        }
    }
}

fn parameter(tool: &Tool, name: &str, value: &Node, findings: &mut Findings<'_>) {
    let mut found = Vec::new();
    value.each_reference(&mut |reference| {
        let message = format!(
            "the parameter `{name}` of `{}` is not sharable, so no reference may stand in it",
            tool.name
        );
        found.push((reference.place, message));
    });
    for (place, message) in found {
        let finding = findings.error(Code::NotSharable, place, message).help(
            "write the value itself, or mark the parameter with `x-sharable` in the tool's schema",
        );
        findings.push(finding);
    }
}

/// Whether the tool marks the parameter `name` as one that may receive data from other steps.
fn is_sharable(tool: &Tool, name: &str) -> bool {
    tool.input
        .as_value()
        .get("properties")
        .and_then(|properties| properties.get(name))
        .and_then(|property| property.get("x-sharable"))
        == Some(&Value::Bool(true))
}
