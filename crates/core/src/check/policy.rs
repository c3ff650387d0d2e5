//! What the policy denies, and what it does not allow.

use super::findings::Findings;
use super::rules::{AllowList, Policy, StageRule};
use super::survey::Survey;
use crate::{Code, Tool, ToolPattern};

/// The most patterns of a list that a finding names.
const SHOWN: usize = 5;

pub(super) fn check(survey: &Survey<'_>, findings: &mut Findings<'_>) {
    let policy = survey.context.policy;
    if policy.denied.is_empty() && policy.allowed.is_empty() && policy.stage.is_none() {
        return;
    }
    for (index, step) in survey.steps() {
        let (Some(name), Some(tool)) = (step.tool(), survey.tool(index)) else {
            continue;
        };
        if let Some((message, help)) = policy.objection_to(&name.text, tool) {
            let finding = findings.error(Code::DeniedTool, name.place, message);
            findings.push(finding.help(help));
        }
    }
}

impl Policy {
    /// Why a tool may not be called, and the way out; nothing where it may.
    pub fn objection(&self, tool: &Tool) -> Option<(String, String)> {
        self.objection_to(&tool.qualified_name(), tool)
    }

    /// As [`objection`](Self::objection), about a tool that is called `name`.
    fn objection_to(&self, name: &str, tool: &Tool) -> Option<(String, String)> {
        let way_out = "do without the tool, or ask for another policy";
        if let Some(rule) = self.denied.iter().find(|rule| rule.pattern.covers(tool)) {
            let place = rule.set_in.as_ref();
            let place = place.map_or(String::new(), |place| format!(" in `{place}`"));
            return Some((
                format!("the policy denies the tool `{name}`"),
                format!("the rule is `{}`{place}: {way_out}", rule.pattern),
            ));
        }
        let Some(list) = self.allowed.iter().find(|list| !list.covers(tool)) else {
            return self.stage.as_ref()?.objection(name, tool);
        };
        let place = list.set_in.as_ref();
        let place = place.map_or(String::new(), |place| format!(" in `{place}`"));
        Some((
            format!("the policy does not allow the tool `{name}`"),
            format!("it allows {}{place}: {way_out}", list.shown()),
        ))
    }
}

impl StageRule {
    fn objection(&self, name: &str, tool: &Tool) -> Option<(String, String)> {
        let covers = |tools: &[ToolPattern]| tools.iter().any(|pattern| pattern.covers(tool));
        if covers(&self.tools) {
            return None;
        }
        let others = self.others.iter().filter(|(_, tools)| covers(tools));
        let others: Vec<String> = others
            .take(SHOWN)
            .map(|(stage, _)| format!("`{stage}`"))
            .collect();
        let help = if others.is_empty() {
            "no stage has it: do without the tool".to_owned()
        } else {
            format!("move to the stage {} first", others.join(" or "))
        };
        let message = format!("the stage `{}` does not have the tool `{name}`", self.name);
        Some((message, help))
    }
}

impl AllowList {
    pub(super) fn covers(&self, tool: &Tool) -> bool {
        self.tools.iter().any(|pattern| pattern.covers(tool))
    }

    /// The first patterns of the list.
    pub(super) fn shown(&self) -> String {
        let patterns = self.tools.iter().take(SHOWN);
        let patterns: Vec<String> = patterns.map(|pattern| format!("`{pattern}`")).collect();
        match self.tools.len().saturating_sub(SHOWN) {
            _ if patterns.is_empty() => "no tool at all".to_owned(),
            0 => patterns.join(", "),
            more => format!("{} and {more} more", patterns.join(", ")),
        }
    }
}
