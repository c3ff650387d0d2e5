//! The name pass: blank and duplicate ids, unknown tools and steps.

mod output;
mod renaming;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::Hashing;
use crate::check::reporter::{Reporter, name_list};
use crate::check::resolved_plan::ResolvedPlan;
use crate::expression::function::foreign_word;
use crate::plan::{Action, Name, Output, Step};
use crate::{Catalog, Code, EXTRACTION, Lookup, Place, Plan, Severity, StepId, Tool, ToolName};

/// Maximum number of differing letters in a name that counts as mistyped.
const MAX_TYPING_ERROR: usize = 2;

/// Maximum number of steps whose ids are proposed: each proposal reads the rest of the plan.
const MAX_RENAMED: usize = 8;

/// Names that other systems have for the model itself as a step.
const MODELS: [&str; 8] = [
    "llm",
    "model",
    "ai",
    "gpt",
    "claude",
    "llm_call",
    "generate_text",
    "chat_completion",
];

/// Names that other systems have for steps that a plan has in another form, with spaces between them, and that form.
const INSTEAD: [(&str, &str); 5] = [
    (
        "final_answer finalanswer finish final_response finalresponse answer respond submit_answer",
        "leave the step out, and write what it gives as the `output` of the plan: `\"output\": \"${STEP.FIELD}\"`",
    ),
    (
        "human_approval humanapproval ask_user askuser ask_human user_confirmation request_approval wait_for_approval confirm approval",
        "leave the step out, and write `\"approval\": true` in the steps that wait for it: a person sees each call with its arguments, and decides",
    ),
    (
        "python run_python python_repl execute_python code run_code execute_code code_interpreter javascript calculator calculate transform compute eval",
        "a step that computes has an expression in place of a call, such as `\"value\": \"${size(STEP.items) * 2}\"`",
    ),
    (
        "wait sleep delay pause",
        "leave the step out: a step starts as soon as the steps that it needs have ended",
    ),
    (
        "if switch condition branch loop for_each foreach parallel while",
        "a condition is the `when` of a step, a loop its `for_each`, and steps that do not need each other run in parallel",
    ),
];

/// The form of a plan that stands for a call of `name`, which is not a tool.
fn instead_of_tool(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let has = |names: &str| names.split(' ').any(|known| known == name);
    let mut found = INSTEAD.iter().filter(|(names, _)| has(names));
    found.next().map(|(_, help)| *help)
}

/// The names of tools that run plans. A plan that calls one would start plans recursively.
const PLAN_TOOLS: [&str; 6] = [
    "execute_plan",
    "execute_tool_plan",
    "plan_create",
    "plan_create_and_execute",
    "plan_execute",
    "run_plan",
];

pub(in crate::check) fn check(resolved: &ResolvedPlan<'_>, reporter: &mut Reporter<'_>) {
    if resolved.plan.steps.is_empty() {
        let diagnostic = reporter
            .error(
                Code::EmptyPlan,
                resolved.plan.place,
                "the plan has no steps",
            )
            .help("add at least one step");
        reporter.push(diagnostic);
    }
    check_ids(resolved, reporter);
    check_instances(resolved, reporter);
    for step in &resolved.plan.steps {
        for name in &step.after {
            let describe = || format!("the step `{}` waits for", step.id);
            check_step_name(resolved, name, describe, reporter);
        }
    }
    if let Output::Steps(names) = &resolved.plan.output {
        output::check_output(resolved, names, reporter);
    }
}

/// Finds the tool of each step, and reports names that lead to none. A misspelt name becomes that of the tool, so that the other
/// passes find all that is wrong with the call at once.
pub(in crate::check) fn resolve_tools(
    plan: &mut Plan,
    catalog: &Catalog,
    reporter: &mut Reporter<'_>,
) -> Vec<Option<Arc<Tool>>> {
    let tool = |step: &mut Step| {
        if let Lookup::Found(tool) = catalog.find(&step.tool()?.text) {
            return Some(tool);
        }
        let place = step.place;
        let Action::Tool(name) = &mut step.action else {
            return None;
        };
        let meant = report_tool(&step.id, place, name, catalog, reporter)?;
        let Lookup::Found(tool) = catalog.find(&meant) else {
            return None;
        };
        name.text = meant.into();
        Some(tool)
    };
    plan.steps.iter_mut().map(tool).collect()
}

/// Suggests a name for an unknown step.
pub(super) fn step_advice(
    resolved: &ResolvedPlan<'_>,
    id: &str,
    reporter: &Reporter<'_>,
) -> Option<String> {
    if let Some(here) = foreign_word(id) {
        return Some(format!("write `{here}`"));
    }
    if let Some(number) = numbered_step(resolved, id) {
        return Some(format!("the id of that step is the number: `{number}`"));
    }
    reporter.advice(
        id,
        "steps",
        resolved.plan.steps.iter().map(|step| step.id.as_str()),
    )
}

/// The number that is the id of the step which `word` names, `1` of `step1`.
pub(super) fn numbered_step<'w>(resolved: &ResolvedPlan<'_>, word: &'w str) -> Option<&'w str> {
    let number = word.strip_prefix("step")?.trim_start_matches(['_', '-']);
    let is_number = !number.is_empty() && number.bytes().all(|sign| sign.is_ascii_digit());
    (is_number && resolved.ids.contains_key(&StepId::new(number))).then_some(number)
}

fn check_ids(resolved: &ResolvedPlan<'_>, reporter: &mut Reporter<'_>) {
    let mut first: HashMap<&StepId, usize, Hashing> =
        HashMap::with_capacity_and_hasher(resolved.plan.steps.len(), Hashing::default());
    let mut renamed = 0;
    for (position, step) in resolved.plan.steps.iter().enumerate() {
        if step.id.as_str().trim().is_empty() {
            let diagnostic = reporter
                .error(Code::InvalidId, step.place, "a step's id is blank")
                .help("give the step a short name");
            reporter.push(diagnostic);
            continue;
        }
        let Some(other) = first.get(&step.id) else {
            first.insert(&step.id, position);
            continue;
        };
        let place = resolved.plan.steps.get(*other).map(|step| step.place);
        let pointer = place.and_then(|place| reporter.pointer(place));
        let diagnostic = reporter
            .error(
                Code::DuplicateStep,
                step.place,
                format!("two steps have the id `{}`", step.id),
            )
            .help({
                let first = match pointer {
                    Some(pointer) => format!("at `{pointer}`"),
                    None => format!("step {}", other + 1),
                };
                renamed += 1;
                let advice = (renamed <= MAX_RENAMED)
                    .then(|| renaming::advice(resolved, (*other, position)))
                    .flatten()
                    .unwrap_or_default();
                format!("the first is {first}: give this one another id{advice}")
            });
        reporter.push(diagnostic);
    }
}

/// Reports steps of undeclared instances, which would never run.
fn check_instances(resolved: &ResolvedPlan<'_>, reporter: &mut Reporter<'_>) {
    let known: HashSet<&str, Hashing> = resolved
        .plan
        .instances
        .iter()
        .map(|instance| &**instance)
        .collect();
    for step in &resolved.plan.steps {
        let Some(instance) = step.instance.as_deref() else {
            continue;
        };
        if !known.contains(instance) {
            let diagnostic = reporter
                .error(
                    Code::InvalidFieldValue,
                    step.place,
                    format!(
                        "the step `{}` is of the instance `{instance}`, which the plan does not run for",
                        step.id
                    ),
                )
                .help("name one of its instances, or none");
            reporter.push(diagnostic);
        }
    }
}

/// Reports the name of no tool, and returns that of the tool if only the spelling differs.
fn report_tool(
    step: &StepId,
    step_place: Place,
    name: &Name,
    catalog: &Catalog,
    reporter: &mut Reporter<'_>,
) -> Option<String> {
    // Some dialects know only the places of steps.
    let is_placed = name.place != Place::NOWHERE;
    let place = if is_placed { name.place } else { step_place };
    let unknown = || format!("there is no tool `{}`", name.text);
    let (code, message, help) = match catalog.find(&name.text) {
        Lookup::Found(_) => return None,
        Lookup::Ambiguous(tools) => {
            let names = unambiguous_names(catalog, &tools);
            let help = match tools.as_slice() {
                [_] => format!("write `{names}` if that tool is meant"),
                _ => format!("write one of `{names}`"),
            };
            (Code::AmbiguousTool, catalog.ambiguity(&name.text, &tools), help)
        }
        // A model that knows the gateway's tools may try to nest plans this way.
        Lookup::Unknown if PLAN_TOOLS.contains(&&*name.text) => (
            Code::NestedPlanTool,
            format!("a plan cannot call the plan tool `{}`", name.text),
            "write the steps of the inner plan into this one".to_owned(),
        ),
        Lookup::Unknown if &*name.text == EXTRACTION => (
            Code::UnknownTool,
            format!("there is no model that could extract data in `{step}`"),
            "configure one as for planning: `[model]` in your own planwright.toml".to_owned(),
        ),
        Lookup::Unknown if MODELS.contains(&&*name.text) => (
            Code::UnknownTool,
            format!("{}: a plan calls tools, not the model", unknown()),
            "give the values to the model in `output`, or let a step with `extract` take data out of a text".to_owned(),
        ),
        Lookup::Unknown => match instead_of_tool(&name.text) {
            Some(help) => (Code::UnknownTool, unknown(), help.to_owned()),
            None => {
                let advice = match with_server(&name.text, catalog) {
                    Some(tool) => ToolAdvice {
                        help: format!("write `{tool}`"),
                        fix: Some(tool.clone()),
                        meant: Some(tool),
                    },
                    None => suggest_tools(name, catalog, reporter),
                };
                let mut diagnostic = reporter
                    .error(Code::UnknownTool, place, unknown())
                    .help(advice.help);
                // Without a place, the fix would replace the whole step.
                if let Some(fix) = advice.fix.filter(|_| is_placed) {
                    diagnostic = diagnostic.fix(fix);
                }
                reporter.push(diagnostic);
                return advice.meant;
            }
        },
    };
    reporter.push(reporter.error(code, place, message).help(help));
    None
}

/// Advice about the name of no tool.
struct ToolAdvice {
    help: String,
    fix: Option<String>,
    /// The tool whose name it is in another spelling.
    meant: Option<String>,
}

impl ToolAdvice {
    fn new(help: String) -> Self {
        Self {
            help,
            fix: None,
            meant: None,
        }
    }
}

/// The only tool whose server and name `written` has, with other signs between them: `mcp__files__read`, `files/read`, `files_read`.
fn with_server(written: &str, catalog: &Catalog) -> Option<String> {
    let normal = |name: &str| -> Vec<String> {
        let words = name.split(|sign: char| !sign.is_alphanumeric());
        words
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let wanted = normal(written);
    let wanted = wanted
        .strip_prefix(&["mcp".to_owned()][..])
        .unwrap_or(wanted.as_slice());
    let mut found = catalog.tools().filter(|tool| {
        let mut words = normal(&tool.server);
        words.extend(normal(&tool.name));
        words == wanted
    });
    let tool = found.next()?;
    found
        .next()
        .is_none()
        .then(|| catalog.unambiguous_name(tool))
}

/// Suggests the tool that was probably meant, or else a list of tools.
fn suggest_tools(name: &Name, catalog: &Catalog, reporter: &Reporter<'_>) -> ToolAdvice {
    let owner = catalog.servers().owner(&name.text);
    // A name that a server owns cannot mean a tool of another server.
    let candidates = || {
        let tools = catalog.tools();
        tools.filter(|tool| owner.is_none_or(|owner| tool.server == *owner))
    };
    if let Some(owner) = owner
        && candidates().next().is_none()
    {
        return ToolAdvice::new(format!(
            "the name belongs to the server `{owner}`, which has no known tools"
        ));
    }
    let is_free = |tool: &&Arc<Tool>| catalog.servers().allows_bare_name(&tool.name, &tool.server);
    let bare = candidates().filter(is_free).map(|tool| &*tool.name);
    // Qualified names are compared only if the name looks qualified.
    let qualified: Vec<ToolName> = if name.text.contains('.') {
        candidates().map(|tool| tool.qualified_name()).collect()
    } else {
        Vec::new()
    };
    let known = bare.chain(qualified.iter().map(ToolName::as_str));
    let Some((distance, near)) = reporter.nearest_with_distance(&name.text, known) else {
        let similar = same_words(&name.text, catalog, candidates());
        match similar.as_slice() {
            [] => {}
            [one] => {
                return ToolAdvice {
                    meant: Some(one.clone()),
                    ..ToolAdvice::new(format!("did you mean `{one}`?"))
                };
            }
            _ => {
                let similar = similar.join("`, `");
                return ToolAdvice::new(format!("did you mean one of `{similar}`?"));
            }
        }
        let names: Vec<String> = candidates()
            .map(|tool| catalog.shortest_name(tool))
            .collect();
        let help = name_list("tools", names.iter().map(String::as_str));
        let help = help.unwrap_or_else(|| "no server offers a tool".to_owned());
        return ToolAdvice::new(help);
    };
    // No fix is offered here, since the tool is another one.
    if let Some(suggested) = read_only_suggestion(
        &name.text,
        (distance, near),
        catalog,
        candidates(),
        reporter,
    ) {
        return ToolAdvice::new(format!("did you mean `{suggested}`?"));
    }
    match catalog.find(near) {
        Lookup::Ambiguous(tools) => {
            let names = unambiguous_names(catalog, &tools);
            ToolAdvice::new(format!("did you mean one of `{names}`?"))
        }
        Lookup::Found(_) | Lookup::Unknown => {
            let is_spelling = distance <= MAX_TYPING_ERROR || words(&name.text) == words(near);
            ToolAdvice {
                help: format!("did you mean `{near}`?"),
                fix: Some(near.to_owned()),
                meant: is_spelling.then(|| near.to_owned()),
            }
        }
    }
}

/// Returns a read-only tool to suggest instead of `near`, if `near` may have effects and `name` is more than a typing
/// error away from it. A suggestion must not lead from an unknown name to an effect if a read-only tool is as near. The
/// part of `name` after a server name is compared as well.
fn read_only_suggestion<'a>(
    name: &str,
    (distance, near): (usize, &str),
    catalog: &Catalog,
    candidates: impl Iterator<Item = &'a Arc<Tool>>,
    reporter: &Reporter<'_>,
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
    let suggested: Vec<&Arc<Tool>> = candidates.filter(|tool| reads(tool)).collect();
    let bare = || suggested.iter().map(|tool| &*tool.name);
    let own = name.rsplit(['.', '/']).next().unwrap_or(name);
    let found = reporter
        .nearest_with_distance(name, bare())
        .filter(|(rank, _)| *rank <= distance)
        .or_else(|| {
            let is_typing_error = distance <= MAX_TYPING_ERROR;
            reporter
                .nearest_with_distance(own, bare())
                .filter(|_| !is_typing_error)
        });
    let (_, found) = found?;
    let tool = suggested.iter().find(|tool| *tool.name == *found)?;
    Some(catalog.shortest_name(tool))
}

/// Returns unambiguous names for `tools`.
fn unambiguous_names(catalog: &Catalog, tools: &[Arc<Tool>]) -> String {
    let names: Vec<String> = tools
        .iter()
        .map(|tool| catalog.unambiguous_name(tool))
        .collect();
    names.join("`, `")
}

fn check_step_name(
    resolved: &ResolvedPlan<'_>,
    name: &Name,
    describe: impl FnOnce() -> String,
    reporter: &mut Reporter<'_>,
) {
    if resolved.ids.contains_key(&*name.text) || reporter.count_if_full(Severity::Error) {
        return;
    }
    let mut diagnostic = reporter.error(
        Code::UnknownStep,
        name.place,
        format!("{} `{}`, which is not in the plan", describe(), name.text),
    );
    diagnostic.help = step_advice(resolved, &name.text, reporter);
    reporter.push(diagnostic);
}

/// Maximum number of tools with the words of an unknown name that are suggested.
const MAX_SIMILAR: usize = 3;

/// The shortest names of the tools whose names, apart from the words of their server, contain all words of `name`, if there are
/// only a few.
fn same_words<'t>(
    name: &str,
    catalog: &Catalog,
    tools: impl Iterator<Item = &'t Arc<Tool>>,
) -> Vec<String> {
    let wanted = words(name);
    let similar = tools.filter(|tool| {
        let (own, of_server) = (words(&tool.name), words(&tool.server));
        let mut wanted = wanted
            .iter()
            .filter(|word| own.contains(word) || !of_server.contains(word));
        let count = wanted.clone().count();
        count > 1 && wanted.all(|word| own.contains(word))
    });
    let similar: Vec<String> = similar
        .map(|tool| catalog.shortest_name(tool))
        .take(MAX_SIMILAR + 1)
        .collect();
    if similar.len() > MAX_SIMILAR {
        return Vec::new();
    }
    similar
}

/// The words of a name such as `get_current_time` or `getCurrentTime`, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        let begins = !letter.is_alphanumeric() || (letter.is_uppercase() && was_lower);
        if begins {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}
