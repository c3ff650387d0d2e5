//! What the policy denies, and what it does not allow.

use super::findings::Findings;
use super::rules::{AllowList, Policy};
use super::survey::Survey;
use crate::plan::Name;
use crate::{Code, Tool};

/// The most patterns of a list that a finding names.
const SHOWN: usize = 5;

pub(super) fn check(survey: &Survey<'_>, findings: &mut Findings<'_>) {
    let policy = survey.context.policy;
    if policy.denied.is_empty() && policy.allowed.is_empty() {
        return;
    }
    for (index, step) in survey.steps() {
        let (Some(name), Some(tool)) = (step.tool(), survey.tool(index)) else {
            continue;
        };
        if let Some((message, help)) = objection(policy, name, tool) {
            let finding = findings.error(Code::DeniedTool, name.place, message);
            findings.push(finding.help(help));
        }
    }
}

/// Why the tool may not be called, and the way out.
fn objection(policy: &Policy, name: &Name, tool: &Tool) -> Option<(String, String)> {
    let way_out = "do without the tool, or ask for another policy";
    if let Some(rule) = policy.denied.iter().find(|rule| rule.pattern.covers(tool)) {
        let place = rule.set_in.as_ref();
        let place = place.map_or(String::new(), |place| format!(" in `{place}`"));
        return Some((
            format!("the policy denies the tool `{}`", name.text),
            format!("the rule is `{}`{place}: {way_out}", rule.pattern),
        ));
    }
    let list = policy.allowed.iter().find(|list| !list.covers(tool))?;
    let place = list.set_in.as_ref();
    let place = place.map_or(String::new(), |place| format!(" in `{place}`"));
    Some((
        format!("the policy does not allow the tool `{}`", name.text),
        format!("it allows {}{place}: {way_out}", list.shown()),
    ))
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
