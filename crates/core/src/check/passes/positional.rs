//! The positional argument pass: assigns parameter names to arguments without names, required parameters first, in
//! schema order.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::receiver::{named_arguments, properties};
use crate::check::reporter::{DiagnosticBatch, Reporter, name_list};
use crate::plan::{Action, Field, Name, NodeKind, PlanTarget};
use crate::{Catalog, Code, Diagnostics, Lookup, Place, Plan, Step, Tool, Value};

/// Assigns names to the positional arguments of `plan` and its inline sub-plans, as far as `catalog` knows the tools.
/// Returns the diagnostics that [`check`](crate::check()) would report.
pub fn name_arguments(plan: &mut Plan, catalog: &Catalog) -> Diagnostics {
    name_all(plan, catalog).finish()
}

fn name_all(plan: &mut Plan, catalog: &Catalog) -> DiagnosticBatch {
    let sources = plan.sources.clone();
    let mut reporter = Reporter::new(&sources, None);
    name_plan(plan, catalog, &mut reporter);
    let mut found = reporter.finish();
    for step in &mut plan.steps {
        if let Action::Plan(call) = &mut step.action
            && let PlanTarget::Inline(inner) = &mut call.target
        {
            found.add_all(name_all(inner, catalog));
        }
    }
    found
}

/// Assigns names in one plan, without its sub-plans.
pub(in crate::check) fn name_plan(plan: &mut Plan, catalog: &Catalog, reporter: &mut Reporter<'_>) {
    for step in &mut plan.steps {
        if !step.positional.is_empty() {
            name_step(step, catalog, reporter);
        }
    }
}

fn name_step(step: &mut Step, catalog: &Catalog, reporter: &mut Reporter<'_>) {
    let Action::Tool(name) = &step.action else {
        report_nameless(step, reporter);
        return;
    };
    // Unknown and ambiguous tools are reported by the name pass.
    let Lookup::Found(tool) = catalog.find(&name.text) else {
        return;
    };
    let parameters = parameters(&tool);
    // Without named parameters there is nothing to assign.
    if parameters.is_empty() {
        report_unknown(step, name, &tool, reporter);
        return;
    }
    let Some(mut fields) = named_arguments(&step.args, reporter) else {
        return;
    };
    let given: HashSet<Arc<str>> = fields.iter().map(|field| Arc::clone(&field.key)).collect();
    let known = name_list("parameters", parameters.iter().map(|name| &**name));
    let mut names = parameters.iter();
    for (position, node) in std::mem::take(&mut step.positional).into_iter().enumerate() {
        match names.next() {
            // A value given by name and by position is ambiguous, as in Python.
            Some(name) if given.contains(name) => report_twice(name, &tool, node.place, reporter),
            Some(name) => fields.push(Field {
                key: Arc::clone(name),
                value: node,
            }),
            None => report_surplus(
                position,
                (parameters.len(), known.as_deref()),
                &tool,
                node.place,
                reporter,
            ),
        }
    }
    // Arguments are stored in the order of the parameters, so that a call by position has the digest of the same call
    // by name.
    let positions: HashMap<&str, usize> = parameters
        .iter()
        .enumerate()
        .rev()
        .map(|(position, name)| (&**name, position))
        .collect();
    let position = |field: &Field| positions.get(&*field.key).copied();
    fields.sort_by_cached_key(|field| position(field).unwrap_or(parameters.len()));
    // Even constant arguments stay an object node, so that each keeps its place.
    step.args.kind = NodeKind::Object(fields);
}

/// Returns the names of the tool's parameters: required ones first, each kind in schema order.
fn parameters(tool: &Tool) -> Vec<Arc<str>> {
    let schema = tool.input.as_value();
    let required: HashSet<&str> = schema
        .get("required")
        .and_then(Value::as_list)
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_text)
        .collect();
    let mut names = properties(tool.input.structure());
    names.sort_by_key(|name| !required.contains(&**name));
    names
}

fn report_nameless(step: &Step, reporter: &mut Reporter<'_>) {
    let message = format!("the step `{}` calls no tool that could name it", step.id);
    report(first_place(step), message, Some("give it a name"), reporter);
}

fn report_unknown(step: &Step, name: &Name, tool: &Tool, reporter: &mut Reporter<'_>) {
    let message = format!(
        "the tool `{}` names no parameters that it could be meant for",
        tool.name
    );
    let help = format!("write `{}(name=value)`, or declare them", name.text);
    let help = if tool.input.is_any() {
        help
    } else {
        "the tool takes no arguments".to_owned()
    };
    report(first_place(step), message, Some(&help), reporter);
}

fn report_twice(name: &str, tool: &Tool, place: Place, reporter: &mut Reporter<'_>) {
    let message = format!(
        "its parameter `{name}` of the tool `{}` is given by name as well",
        tool.name
    );
    report(place, message, Some("give it once"), reporter);
}

fn report_surplus(
    position: usize,
    (count, known): (usize, Option<&str>),
    tool: &Tool,
    place: Place,
    reporter: &mut Reporter<'_>,
) {
    let message = format!(
        "it is number {} of those for the tool `{}`, which has {count} parameters",
        position + 1,
        tool.name,
    )
    .replace(" 1 parameters", " 1 parameter");
    report(place, message, known, reporter);
}

fn first_place(step: &Step) -> Place {
    step.positional
        .first()
        .map_or(step.place, |node| node.place)
}

fn report(place: Place, message: String, help: Option<&str>, reporter: &mut Reporter<'_>) {
    let message = format!("an argument has no name: {message}");
    let mut diagnostic = reporter.error(Code::UnnamedArgument, place, message);
    diagnostic.help = help.map(str::to_owned);
    reporter.push(diagnostic);
}
