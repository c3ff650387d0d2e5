//! `planwright save`, `list`, `delete`, and plans that are named in place of a file.

use std::time::UNIX_EPOCH;

use planwright::core::plan::Input;
use planwright::core::{Plan, Value};
use planwright::terminal_text;
use planwright_store::{NewPlan, Store, StoreError, StoredPlan};
use serde::Serialize;

use super::{run_storage, store};
use crate::args::{DeleteArguments, Format, ListArguments, RunFormat, SaveArguments};
use crate::error::{CommandError, Exit};
use crate::run::plan_file::{self, ParsedPlanText, called, selector};
use crate::view::printer::Printer;
use crate::view::{diagnostics, output};

/// The number of characters of an id that are shown: nearly always enough to be unique.
const SHORT: usize = 8;

/// `planwright save PLAN`
pub(crate) fn save(arguments: &SaveArguments, printer: Printer) -> Result<Exit, CommandError> {
    let ParsedPlanText { name, result } = plan_file::parse_without_tools(&arguments.text)?;
    let text = result.source.to_string();
    let mut diagnostics = result.diagnostics;
    diagnostics.sort();
    diagnostics::show(&diagnostics, &[(name, text.clone())], printer);
    let Some(plan) = result.plan.filter(|_| !diagnostics.has_errors()) else {
        printer.status("the plan was rejected; nothing was saved");
        return Ok(Exit::Rejected);
    };
    let store = store::open(&arguments.text.store, printer)?;
    let name = name_of(arguments, &plan);
    let version = keep(&store, name, text, (result.dialect, &plan), printer)?;
    printer.data_line(&version);
    Ok(Exit::Success)
}

/// Keeps the plan of a text as the newest version of `name`: `NAME@VERSION`.
pub(crate) fn keep(
    store: &Store,
    name: String,
    text: String,
    (dialect, plan): (Option<&str>, &Plan),
    printer: Printer,
) -> Result<String, CommandError> {
    let new = NewPlan {
        name: name.clone(),
        text,
        dialect: dialect.map(str::to_owned),
        inputs: Value::list(plan.inputs.iter().map(describe)),
        saved: run_storage::now(),
    };
    let saved = store.save_plan(new).map_err(|error| match error {
        StoreError::BadName { .. } => store::explain(error).hint("name it with `--name NAME`"),
        other => store::explain(other),
    })?;
    let (version, id) = (saved.version, short(&saved.id));
    let how = if saved.is_new {
        "saved as"
    } else {
        "is already"
    };
    printer.quote(&format!("`{name}` {how} version {version} ({id})"));
    Ok(format!("{name}@{version}"))
}

/// Returns the name of a plan that has none.
fn name_of(arguments: &SaveArguments, plan: &Plan) -> String {
    let path = &arguments.text.plan;
    let of_file = || {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        stem.map(|stem| selector(stem).0.to_owned())
    };
    arguments
        .name
        .clone()
        .or_else(|| plan.name.as_deref().map(str::to_owned))
        .or_else(of_file)
        .unwrap_or_default()
}

/// Returns the stored description of an input, for lists of plans.
fn describe(input: &Input) -> Value {
    Value::object([
        ("name", Value::Text(input.name.clone())),
        ("required", Value::Bool(input.default.is_none())),
        ("schema", input.schema.clone()),
    ])
}

#[derive(Serialize)]
struct PlanListing<'a> {
    name: &'a str,
    version: u32,
    id: &'a str,
    dialect: Option<&'a str>,
    inputs: &'a Value,
    saved_unix_ms: u64,
}

/// `planwright list [NAME]`
pub(crate) fn list(arguments: &ListArguments, printer: Printer) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let plans = match &arguments.name {
        Some(name) => store.plan_versions(name),
        None => store.plans(),
    };
    let plans = plans.map_err(store::explain)?;
    match arguments.format {
        Format::Json => {
            let listing: Vec<PlanListing<'_>> = plans.iter().map(listing).collect();
            output::json(&listing, RunFormat::Json, printer)?;
        }
        Format::Text => {
            let width = plans.iter().map(|plan| called(plan).len()).max();
            for plan in &plans {
                let called = format!("{:width$}", called(plan), width = width.unwrap_or(0));
                let line = format!("{called}  {}  {}", short(&plan.id), inputs(plan));
                printer.data_line(terminal_text::one_line(&line).trim_end());
            }
            if plans.is_empty() {
                printer.status("no plans: `planwright save PLAN` saves one");
            }
        }
    }
    Ok(Exit::Success)
}

fn listing(plan: &StoredPlan) -> PlanListing<'_> {
    let saved = plan.saved.duration_since(UNIX_EPOCH).unwrap_or_default();
    PlanListing {
        name: &plan.name,
        version: plan.version,
        id: &plan.id,
        dialect: plan.dialect.as_deref(),
        inputs: &plan.inputs,
        saved_unix_ms: u64::try_from(saved.as_millis()).unwrap_or(u64::MAX),
    }
}

/// Formats required and optional inputs: `city, days?`.
fn inputs(plan: &StoredPlan) -> String {
    let inputs = plan.inputs.as_list().unwrap_or(&[]).iter();
    let names: Vec<String> = inputs
        .map(|input| {
            let name = input.get("name").and_then(Value::as_text);
            let is_required = input.get("required").and_then(Value::as_bool) == Some(true);
            let mark = if is_required { "" } else { "?" };
            format!("{}{mark}", name.unwrap_or_default())
        })
        .collect();
    names.join(", ")
}

/// `planwright delete NAME`
pub(crate) fn delete(arguments: &DeleteArguments, printer: Printer) -> Result<Exit, CommandError> {
    let (name, version) = selector(&arguments.name);
    let deleted = store::open(&arguments.store, printer)?
        .delete_plan(name, version)
        .map_err(store::explain)?;
    for plan in &deleted {
        printer.quote(&format!("`{}` is deleted", called(plan)));
    }
    Ok(Exit::Success)
}

fn short(id: &str) -> &str {
    id.get(..SHORT).unwrap_or(id)
}
