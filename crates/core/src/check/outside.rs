//! Values from outside: where they stand, and which tools are given them.

use super::dependencies::{arguments, each_other_node};
use super::findings::Findings;
use super::rules::{AllowList, Release, Releases};
use super::survey::Survey;
use crate::plan::{Action, Missing, Node, Output, Outside, Read, Reference, Source};
use crate::{Code, Tool};

pub(super) fn check(survey: &Survey<'_>, findings: &mut Findings<'_>) {
    for (index, step) in survey.steps() {
        let mut pass = Pass {
            survey,
            is_argument: matches!(step.action, Action::Tool(_)),
            tool: survey.tool(index).map(AsRef::as_ref),
        };
        for node in arguments(step) {
            pass.node(node, findings);
        }
        pass.is_argument = false;
        each_other_node(step, &mut |node, _| pass.node(node, findings));
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
                let Some(help) = objection(&self.survey.context.policy.releases, what, name, tool)
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

/// What to do so that the tool may be given the value, where it may not.
pub(super) fn objection(
    releases: &Releases,
    what: Outside,
    name: &str,
    tool: &Tool,
) -> Option<String> {
    let Releases::Listed(all) = releases else {
        return None;
    };
    let is_it = |release: &&Release| release.what == what && *release.name == *name;
    let lists: Vec<&AllowList> = all
        .iter()
        .filter(is_it)
        .flat_map(|release| &release.tools)
        .collect();
    let full_name = tool.qualified_name();
    if let Some(list) = lists.iter().find(|list| !list.covers(tool)) {
        let place = list.set_in.as_ref();
        let place = place.map_or(String::new(), |place| format!(" in `{place}`"));
        return Some(format!(
            "it is for {}{place}: add `{full_name}` there if it may have it",
            list.shown()
        ));
    }
    if !lists.is_empty() {
        return None;
    }
    Some(match what {
        Outside::Environment => format!(
            "if it may have it, write `{name} = [\"{full_name}\"]` below `[env]` in your own planwright.toml"
        ),
        Outside::Secrets => format!(
            "if it may have it, write `[secrets.{name}]` with `tools = [\"{full_name}\"]` and `env = \"VARIABLE\"` or \
             `file = \"PATH\"` in your own planwright.toml"
        ),
    })
}
