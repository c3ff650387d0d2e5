//! The policy pass: the tools that a plan calls, and the external values that it gives them.

use crate::check::reporter::Reporter;
use crate::check::resolved_plan::ResolvedPlan;
use crate::plan::{Action, ExternalValue, Missing, Node, Output, Read, Reference, Source};
use crate::{Code, Tool};

pub(in crate::check) fn check(resolved: &ResolvedPlan<'_>, reporter: &mut Reporter<'_>) {
    check_tools(resolved, reporter);
    check_external_values(resolved, reporter);
}

fn check_tools(resolved: &ResolvedPlan<'_>, reporter: &mut Reporter<'_>) {
    let policy = resolved.context.policy;
    if policy.denied.is_empty() && policy.allowed.is_empty() && policy.stage.is_none() {
        return;
    }
    for (index, step) in resolved.steps() {
        let (Some(name), Some(tool)) = (step.tool(), resolved.tool(index)) else {
            continue;
        };
        if let Some((message, help)) = policy.objection_to(&name.text, tool) {
            let diagnostic = reporter.error(Code::DeniedTool, name.place, message);
            reporter.push(diagnostic.help(help));
        }
    }
}

fn check_external_values(resolved: &ResolvedPlan<'_>, reporter: &mut Reporter<'_>) {
    for (index, step) in resolved.steps() {
        let mut pass = ExternalValuePass {
            resolved,
            is_argument: matches!(step.action, Action::Tool(_)),
            tool: resolved.tool(index).map(AsRef::as_ref),
        };
        for node in step.argument_nodes() {
            pass.node(node, reporter);
        }
        pass.is_argument = false;
        step.each_other_node(&mut |node, _| pass.node(node, reporter));
    }
    if let Output::Value(node) = &resolved.plan.output {
        let pass = ExternalValuePass {
            resolved,
            is_argument: false,
            tool: None,
        };
        pass.node(node, reporter);
    }
}

struct ExternalValuePass<'a> {
    resolved: &'a ResolvedPlan<'a>,
    /// True if the visited node is an argument of a tool call.
    is_argument: bool,
    tool: Option<&'a Tool>,
}

impl ExternalValuePass<'_> {
    fn node(&self, node: &Node, reporter: &mut Reporter<'_>) {
        node.each_reference(&mut |reference| {
            for read in reference.reads() {
                if let Source::ExternalValue(what, name) = &read.source {
                    self.read(reference, read, (*what, name), reporter);
                }
            }
        });
    }

    fn read(
        &self,
        reference: &Reference,
        read: &Read,
        (what, name): (ExternalValue, &str),
        reporter: &mut Reporter<'_>,
    ) {
        let text = reference.shown();
        // A condition, the length of a list or a field of an output reveals something of a value, and no mask sees it.
        let misplaced = if !self.is_argument {
            Some((
                format!("`{text}` is used outside the arguments of a tool"),
                "external values can only be passed to tools: move it into the step that needs it",
            ))
        } else if reference.as_read() != Some(read) {
            Some((
                format!("`{text}` computes with `{what}.{name}`, which can only be passed on"),
                "write the name alone, as the whole argument or in the middle of a text",
            ))
        } else if !read.path.is_empty() || read.missing != Missing::Fail {
            Some((
                format!("`{what}.{name}` is a text, and `{text}` reads a part of it"),
                "write nothing after the name",
            ))
        } else {
            None
        };
        let diagnostic = match (misplaced, self.tool) {
            (Some((message, help)), _) => reporter
                .error(Code::MisplacedExternalValue, reference.place, message)
                .help(help),
            (None, Some(tool)) => {
                let Some(help) = self
                    .resolved
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
                reporter
                    .error(Code::UnreleasedValue, reference.place, message)
                    .help(help)
            }
            (None, None) => return,
        };
        reporter.push(diagnostic);
    }
}
