//! Which parameters may receive data from other steps.

use super::findings::Findings;
use super::survey::Survey;
use crate::plan::{Field, Node, NodeKind, Sharing};
use crate::schema::Spot;
use crate::{Code, Tool};

/// What a schema says about a parameter, or a part of one, that may receive data from other steps.
const MARK: &str = "x-sharable";

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
                let whole = tool.input.spot();
                for field in fields {
                    parameter(tool, field, &whole, findings);
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

fn parameter(tool: &Tool, field: &Field, whole: &Spot<'_>, findings: &mut Findings<'_>) {
    let mut found = Vec::new();
    visit(&field.value, &whole.field(&field.key), false, &mut found);
    for node in found {
        node.each_reference(&mut |reference| {
            let message = format!(
                "the parameter `{}` of `{}` is not sharable, so no reference may stand in it",
                field.key, tool.name
            );
            let finding = findings.error(Code::NotSharable, reference.place, message).help(
                "write the value itself, or mark the parameter with `x-sharable` in the tool's schema",
            );
            findings.push(finding);
        });
    }
}

/// Collects the references in `node` that stand where they may not: the nearest mark around each decides.
fn visit<'a>(node: &'a Node, spot: &Spot<'_>, sharable: bool, found: &mut Vec<&'a Node>) {
    let sharable = spot.says(MARK).unwrap_or(sharable);
    match &node.kind {
        NodeKind::Literal(_) => {}
        NodeKind::Reference(_) | NodeKind::Text(_) if sharable => {}
        NodeKind::Reference(_) | NodeKind::Text(_) => found.push(node),
        NodeKind::List(items) => {
            for (index, item) in items.iter().enumerate() {
                visit(item, &spot.item(index), sharable, found);
            }
        }
        NodeKind::Object(fields) => {
            for field in fields {
                visit(&field.value, &spot.field(&field.key), sharable, found);
            }
        }
    }
}
