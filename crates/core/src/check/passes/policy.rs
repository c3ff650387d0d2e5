//! The policy pass: the tools that a plan calls, and the external values that it gives them.

use crate::check::reporter::Findings;
use crate::check::resolved_plan::Survey;
use crate::plan::{Action, Missing, Node, Output, Outside, Read, Reference, Source};
use crate::{Code, Tool};

pub(in crate::check) fn check(survey: &Survey<'_>, findings: &mut Findings<'_>) {
    check_tools(survey, findings);
    check_external_values(survey, findings);
}

fn check_tools(survey: &Survey<'_>, findings: &mut Findings<'_>) {
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

fn check_external_values(survey: &Survey<'_>, findings: &mut Findings<'_>) {
    for (index, step) in survey.steps() {
        let mut pass = Pass {
            survey,
            is_argument: matches!(step.action, Action::Tool(_)),
            tool: survey.tool(index).map(AsRef::as_ref),
        };
        for node in step.argument_nodes() {
            pass.node(node, findings);
        }
        pass.is_argument = false;
        step.each_other_node(&mut |node, _| pass.node(node, findings));
    }
    if let Output::Value(node) = &survey.plan.output {
        let pass = Pass {
            survey,
            is_argument: false,
            tool: None,
        };
        pass.node(node, findings);
    }
}

struct Pass<'a> {
    survey: &'a Survey<'a>,
    /// Whether a tool is called with what is looked at.
    is_argument: bool,
    tool: Option<&'a Tool>,
}

impl Pass<'_> {
    fn node(&self, node: &Node, findings: &mut Findings<'_>) {
        node.each_reference(&mut |reference| {
            for read in reference.reads() {
                if let Source::Outside(what, name) = &read.source {
                    self.read(reference, read, (*what, name), findings);
                }
            }
        });
    }

    fn read(
        &self,
        reference: &Reference,
        read: &Read,
        (what, name): (Outside, &str),
        findings: &mut Findings<'_>,
    ) {
        let text = reference.shown();
        let misplaced = if !self.is_argument {
            Some((
                format!("`{text}` stands elsewhere than in the arguments of a tool"),
                "values from outside are handed to tools and to nothing else: move it into the step that needs it",
            ))
        } else if reference.as_read() != Some(read) {
            Some((
                format!("`{text}` makes something of `{what}.{name}`, which may only be handed on"),
                "write the name alone, as the whole argument or in the middle of a text",
            ))
        } else if !read.path.is_empty() || read.missing != Missing::Fail {
            Some((
                format!("`{what}.{name}` is a text, and `{text}` looks for more in it"),
                "write nothing behind the name",
            ))
        } else {
            None
        };
        let finding = match (misplaced, self.tool) {
            (Some((message, help)), _) => findings
                .error(Code::OutsideValue, reference.place, message)
                .help(help),
            (None, Some(tool)) => {
                let Some(help) = self
                    .survey
                    .context
                    .policy
                    .releases
                    .objection(what, name, tool)
                else {
                    return;
                };
                let message = format!(
                    "the tool `{}` may not be given `{what}.{name}`",
                    tool.qualified_name()
                );
                findings
                    .error(Code::UnreleasedValue, reference.place, message)
                    .help(help)
            }
            (None, None) => return,
        };
        findings.push(finding);
    }
}
