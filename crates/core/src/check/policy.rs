//! What the policy denies.

use super::findings::Findings;
use super::survey::Survey;
use crate::{Code, Tool};

pub(super) fn check(survey: &Survey<'_>, findings: &mut Findings<'_>) {
    let denied = &survey.context.policy.denied;
    if denied.is_empty() {
        return;
    }
    for (index, step) in survey.steps() {
        let (Some(name), Some(tool)) = (step.tool(), survey.tool(index)) else {
            continue;
        };
        if let Some(rule) = denied.iter().find(|rule| covers(rule, tool)) {
            let finding = findings
                .error(
                    Code::DeniedTool,
                    name.place,
                    format!("the policy denies the tool `{}`", name.text),
                )
                .help(format!(
                    "the rule is `{rule}`: do without the tool, or ask for another policy"
                ));
            findings.push(finding);
        }
    }
}

/// Whether `rule` (`tool`, `server.tool`, `server.*`) covers `tool`.
fn covers(rule: &str, tool: &Tool) -> bool {
    match rule.strip_suffix(".*") {
        Some(server) => *tool.server == *server,
        None => *tool.name == *rule || tool.qualified_name() == rule,
    }
}
