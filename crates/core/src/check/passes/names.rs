//! Names: ids that are blank or taken, tools and steps that do not exist.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::Hashing;
use crate::check::reporter::{Findings, listed};
use crate::check::resolved_plan::Survey;
use crate::plan::{Action, Name, Output, Step};
use crate::{Catalog, Code, Diagnostic, Lookup, Place, Severity, StepId, Tool};

/// The most letters that differ in a name that is merely mistyped.
const MAX_TYPING_ERROR: usize = 2;

/// The names under which plan tools are known: a plan that calls one would run plans without an end.
const PLAN_TOOLS: [&str; 6] = [
    "execute_plan",
    "execute_tool_plan",
    "plan_create",
    "plan_create_and_execute",
    "plan_execute",
    "run_plan",
];

pub(in crate::check) fn check(survey: &Survey<'_>, findings: &mut Findings<'_>) {
    if survey.plan.steps.is_empty() {
        let finding = findings
            .error(Code::EmptyPlan, survey.plan.place, "the plan has no steps")
            .help("add at least one step");
        findings.push(finding);
    }
    ids(survey, findings);
    instances(survey, findings);
    for (_, step) in survey.steps() {
        if let Action::Tool(name) = &step.action {
            tool(survey, step, name, findings);
        }
        for name in &step.after {
            let says = || format!("the step `{}` waits for", step.id);
            known_step(survey, name, says, findings);
        }
    }
    if let Output::Steps(names) = &survey.plan.output {
        for name in names {
            known_step(survey, name, || "the output selects".to_owned(), findings);
        }
    }
}

/// Advice for an unknown step.
pub(super) fn step_advice(
    survey: &Survey<'_>,
    id: &str,
    findings: &Findings<'_>,
) -> Option<String> {
    findings.advice(
        id,
        "steps",
        survey.plan.steps.iter().map(|step| step.id.as_str()),
    )
}

fn ids(survey: &Survey<'_>, findings: &mut Findings<'_>) {
    let mut first: HashMap<&StepId, usize, Hashing> =
        HashMap::with_capacity_and_hasher(survey.plan.steps.len(), Hashing::default());
    for (position, step) in survey.plan.steps.iter().enumerate() {
        if step.id.as_str().trim().is_empty() {
            let finding = findings
                .error(Code::InvalidId, step.place, "a step's id is blank")
                .help("give the step a short name");
            findings.push(finding);
            continue;
        }
        let Some(other) = first.get(&step.id) else {
            first.insert(&step.id, position);
            continue;
        };
        let place = survey.plan.steps.get(*other).map(|step| step.place);
        let pointer = place.and_then(|place| findings.pointer(place));
        let finding = findings
            .error(
                Code::DuplicateStep,
                step.place,
                format!("two steps have the id `{}`", step.id),
            )
            .help(match pointer {
                Some(pointer) => format!("the first is at `{pointer}`: give this one another id"),
                None => format!("the first is step {}: give this one another id", other + 1),
            });
        findings.push(finding);
    }
}

/// A step of an instance that the plan does not run for would never run.
fn instances(survey: &Survey<'_>, findings: &mut Findings<'_>) {
    let known: HashSet<&str, Hashing> = survey
        .plan
        .instances
        .iter()
        .map(|instance| &**instance)
        .collect();
    for step in &survey.plan.steps {
        let Some(instance) = step.instance.as_deref() else {
            continue;
        };
        if !known.contains(instance) {
            let finding = findings
                .error(
                    Code::InvalidFieldValue,
                    step.place,
                    format!(
                        "the step `{}` is of the instance `{instance}`, which the plan does not run for",
                        step.id
                    ),
                )
                .help("name one of its instances, or none");
            findings.push(finding);
        }
    }
}

fn tool(survey: &Survey<'_>, step: &Step, name: &Name, findings: &mut Findings<'_>) {
    let catalog = survey.context.catalog;
    // A dialect may know where its steps are, and no more.
    let is_placed = name.place != Place::NOWHERE;
    let place = if is_placed { name.place } else { step.place };
    match catalog.find(&name.text) {
        Lookup::Found(_) => {}
        Lookup::Ambiguous(tools) => {
            let names = certain_names(catalog, &tools);
            let finding = findings
                .error(
                    Code::AmbiguousTool,
                    place,
                    catalog.ambiguity(&name.text, &tools),
                )
                .help(match tools.as_slice() {
                    [_] => format!("write `{names}` if that tool is meant"),
                    _ => format!("write one of `{names}`"),
                });
            findings.push(finding);
        }
        Lookup::Unknown if PLAN_TOOLS.contains(&&*name.text) => {
            let finding = findings
                .error(
                    Code::NestedPlanTool,
                    place,
                    format!("a plan cannot call the plan tool `{}`", name.text),
                )
                .help("write the steps of the inner plan into this one");
            findings.push(finding);
        }
        Lookup::Unknown => {
            let finding = findings.error(
                Code::UnknownTool,
                place,
                format!("there is no tool `{}`", name.text),
            );
            let mut finding = with_tools(finding, name, catalog, findings);
            if !is_placed {
                // It would take the place of the whole step.
                finding.fix = None;
            }
            findings.push(finding);
        }
    }
}

/// Adds the tool that was probably meant, or those that there are.
fn with_tools(
    finding: Diagnostic,
    name: &Name,
    catalog: &Catalog,
    findings: &Findings<'_>,
) -> Diagnostic {
    let owner = catalog.servers().owner(&name.text);
    // Another server's tool is not meant by a name of this one.
    let meant = || {
        let tools = catalog.tools();
        tools.filter(|tool| owner.is_none_or(|owner| tool.server == *owner))
    };
    if let Some(owner) = owner
        && meant().next().is_none()
    {
        return finding.help(format!(
            "the name belongs to the server `{owner}`, of which no tool is known"
        ));
    }
    let is_free = |tool: &&Arc<Tool>| catalog.servers().leave_free(&tool.name, &tool.server);
    let bare = meant().filter(is_free).map(|tool| &*tool.name);
    let qualified: Vec<String> = if name.text.contains('.') {
        meant().map(|tool| tool.qualified_name()).collect()
    } else {
        Vec::new()
    };
    let known = bare.chain(qualified.iter().map(String::as_str));
    let Some((distance, near)) = findings.ranked(&name.text, known) else {
        let names: Vec<String> = meant().map(|tool| catalog.shortest_name(tool)).collect();
        let help = listed("tools", names.iter().map(String::as_str));
        return finding.help(help.unwrap_or_else(|| "no server offers a tool".to_owned()));
    };
    if let Some(reading) = reading_tool(&name.text, (distance, near), catalog, meant(), findings) {
        return finding.help(format!("did you mean `{reading}`?"));
    }
    match catalog.find(near) {
        Lookup::Ambiguous(tools) => {
            let names = certain_names(catalog, &tools);
            finding.help(format!("did you mean one of `{names}`?"))
        }
        Lookup::Found(_) | Lookup::Unknown => {
            finding.help(format!("did you mean `{near}`?")).fix(near)
        }
    }
}

/// The tool of `meant` that only reads, if `near` may change something and is no mere typing error: a hint must not lead from a tool that
/// does not exist to an effect if a reading tool is as near. The part of `name` behind a server's name is compared as well.
fn reading_tool<'a>(
    name: &str,
    (distance, near): (usize, &str),
    catalog: &Catalog,
    meant: impl Iterator<Item = &'a Arc<Tool>>,
    findings: &Findings<'_>,
) -> Option<String> {
    let reads = |tool: &Arc<Tool>| tool.hints.read_only == Some(true);
    let changes = match catalog.find(near) {
        Lookup::Found(tool) => !reads(&tool),
        Lookup::Ambiguous(tools) => !tools.iter().all(reads),
        Lookup::Unknown => false,
    };
    if !changes {
        return None;
    }
    let reading: Vec<&Arc<Tool>> = meant.filter(|tool| reads(tool)).collect();
    let bare = || reading.iter().map(|tool| &*tool.name);
    let own = name.rsplit(['.', '/']).next().unwrap_or(name);
    let found = findings
        .ranked(name, bare())
        .filter(|(rank, _)| *rank <= distance)
        .or_else(|| {
            let is_typing_error = distance <= MAX_TYPING_ERROR;
            findings.ranked(own, bare()).filter(|_| !is_typing_error)
        });
    let (_, found) = found?;
    let tool = reading.iter().find(|tool| *tool.name == *found)?;
    Some(catalog.shortest_name(tool))
}

/// Names that lead to one of `tools` each.
fn certain_names(catalog: &Catalog, tools: &[Arc<Tool>]) -> String {
    let names: Vec<String> = tools
        .iter()
        .map(|tool| catalog.certain_name(tool))
        .collect();
    names.join("`, `")
}

fn known_step(
    survey: &Survey<'_>,
    name: &Name,
    says: impl FnOnce() -> String,
    findings: &mut Findings<'_>,
) {
    if survey.ids.contains_key(&*name.text) || findings.only_counts(Severity::Error) {
        return;
    }
    let mut finding = findings.error(
        Code::UnknownStep,
        name.place,
        format!("{} `{}`, which is not in the plan", says(), name.text),
    );
    finding.help = step_advice(survey, &name.text, findings);
    findings.push(finding);
}
