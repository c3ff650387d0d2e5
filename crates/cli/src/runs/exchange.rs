//! `planwright export`, `import` and `prune`: transfer and deletion of runs. `planwright save`, `list`, `delete`: stored plans,
//! and plans that are named in place of a file.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::UNIX_EPOCH;

use planwright::core::{Plan, Value};
use planwright::engine::journal::Entry;
use planwright::engine::run::History;
use planwright::loaded_plan::declared_inputs;
use planwright::stored;
use planwright::terminal_text;
use planwright_store::{ImportOutcome, NewPlan, Prune, Store, StoreError, StoredPlan};
use serde::Serialize;

use super::selector::find_run;
use super::store;
use crate::args::{
    DeleteArguments, ExportArguments, Format, ImportArguments, ListArguments, PruneArguments,
    RunFormat, SaveArguments,
};
use crate::error::{CommandError, Exit};
use crate::run::plan_file::{self, ParsedPlanText, selector, version_name};
use crate::system::text_file::{self, may_write, write};
use crate::view::printer::{Printer, counted};
use crate::view::{diagnostics, output};

/// The default age, in days, at which runs are deleted.
const DEFAULT_DAYS: u64 = 30;

/// The maximum size of an imported run, in bytes.
const MAX_BYTES: u64 = 1 << 30;

/// The number of bytes by which a file is recognised as an exported run.
const HEAD: u64 = 4096;

/// The hint for a file that holds no run.
const NO_RUN: &str = "import a file that `planwright export RUN -o FILE` wrote";

/// `planwright export RUN`
pub(crate) fn export(arguments: &ExportArguments, printer: Printer) -> Result<Exit, CommandError> {
    if let Some(file) = &arguments.output {
        may_write(file, arguments.force)?;
    }
    let store = store::open(&arguments.store, printer)?;
    let run = find_run(&store, arguments.run.as_deref())?;
    let exported = stored::export(&store, run.id.as_str())?;
    match &arguments.output {
        Some(file) => write(&exported.text, file, arguments.force)?,
        None => printer.data(&exported.text),
    }
    for further in &exported.further {
        let further = store::short_id(further);
        printer.status(&format!("exported with it: the run {further}"));
    }
    Ok(Exit::Success)
}

/// `planwright import FILE`
pub(crate) fn import(arguments: &ImportArguments, printer: Printer) -> Result<Exit, CommandError> {
    let text = read(&arguments.file)?;
    let store = store::open(&arguments.store, printer)?;
    let imported = store.import(&text).map_err(|error| {
        let is_no_run = matches!(error, StoreError::Format(_));
        let explained = store::explain(error);
        if is_no_run {
            explained.hint(NO_RUN)
        } else {
            explained
        }
    })?;
    let run = store::short_id(&imported.id);
    if imported.is_new {
        printer.status(&unused_parts(&store, &imported)?);
        printer.status(&format!(
            "look at it with `planwright show {run}` or `planwright logs {run}`"
        ));
    } else {
        printer.status(&format!("the run {run} already exists, unchanged"));
    }
    for further in &imported.further {
        let further = store::short_id(further);
        printer.status(&format!("imported with it: the run {further}"));
    }
    printer.data_line(imported.id.as_str());
    Ok(Exit::Success)
}

/// Describes the parts of an imported run that are not used on this machine.
fn unused_parts(store: &Store, imported: &ImportOutcome) -> Result<String, CommandError> {
    let entries = store
        .entries(imported.id.as_str())
        .and_then(Iterator::collect::<Result<Vec<Entry>, _>>)
        .map_err(store::explain)?;
    let history = History::new(&entries);
    let mut left = vec!["its tool sources".to_owned()];
    let mut count = |count: usize, what: &str| {
        if 0 < count {
            left.push(counted(count, what));
        }
    };
    count(imported.decisions, "stored decision");
    let decided = history.steps().filter(|(_, past)| past.decided.is_some());
    count(decided.count(), "decision in its journal");
    let asked = history
        .steps()
        .filter(|(_, past)| past.open_question().is_some());
    count(asked.count(), "open question");
    let approves = |entry: &Entry| {
        let header = entry.record.header();
        let digest = header.and_then(|header| header.get("approved_plan"));
        digest.is_some_and(|digest| !digest.is_null())
    };
    if entries.iter().any(approves) {
        left.push("the approval of its plan".to_owned());
    }
    Ok(format!("not imported: {}", left.join(", ")))
}

fn read(file: &Path) -> Result<String, CommandError> {
    if file == Path::new("-") {
        let name = Path::new("standard input");
        return read_run(std::io::stdin(), name);
    }
    let opened = File::open(file).map_err(|error| CommandError::unreadable(file, &error))?;
    read_run(opened, file)
}

/// Reads the text of a run. Text that does not start with `{` is rejected at once, because a device such as `/dev/zero` never ends.
fn read_run(mut from: impl Read, name: &Path) -> Result<String, CommandError> {
    let unreadable = |error: std::io::Error| CommandError::unreadable(name, &error);
    let head = text_file::read_limited(&mut from, HEAD).map_err(unreadable)?;
    let begins = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&head);
    match begins.trim_ascii_start().first() {
        Some(b'{') => text_file::text(head.as_slice().chain(from), MAX_BYTES).map_err(unreadable),
        _ => Err(CommandError::new(format!(
            "`{}` is not an exported run: it does not begin with an object",
            name.display()
        ))
        .hint(NO_RUN)),
    }
}

/// `planwright prune`
pub(crate) fn prune(arguments: &PruneArguments, printer: Printer) -> Result<Exit, CommandError> {
    const DAY: std::time::Duration = std::time::Duration::from_hours(24);
    let now = store::now();
    let age = match (arguments.older_than, arguments.keep) {
        (Some(age), _) => Some(age),
        // `--keep` alone deletes all others, of any age.
        (None, Some(_)) => None,
        (None, None) => u32::try_from(DEFAULT_DAYS).ok().map(|days| DAY * days),
    };
    let prune = Prune {
        before: age.map_or(now, |age| {
            now.checked_sub(age).unwrap_or(std::time::UNIX_EPOCH)
        }),
        newest: arguments.keep.unwrap_or(0),
        unfinished: arguments.unfinished,
        dry_run: arguments.dry_run,
    };
    let store = store::open(&arguments.store, printer)?;
    let pruned = store
        .prune(&prune, &store::this_process())
        .map_err(store::explain)?;
    for run in &pruned.runs {
        printer.data_line(run.as_str());
    }
    for run in &pruned.in_use {
        let run = store::short_id(run);
        printer.status(&format!(
            "the run {run} was not deleted: a process is using it"
        ));
    }
    let runs = counted(pruned.runs.len(), "run");
    let would = if arguments.dry_run { "would be " } else { "" };
    if pruned.calls > 0 {
        let calls = counted(pruned.calls, "call");
        printer.status(&format!("{calls} without a plan {would}deleted"));
    }
    printer.status(&if pruned.runs.is_empty() {
        format!("no run {would}deleted")
    } else {
        format!("{runs} {would}deleted, {} freed", size(pruned.bytes))
    });
    Ok(Exit::Success)
}

/// `512 bytes`, `3.4 KiB`, `1.2 MiB`.
fn size(bytes: u64) -> String {
    const STEP: u64 = 1024;
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..STEP => counted(bytes, "byte"),
        _ if bytes < STEP * STEP => format!("{} KiB", tenths(STEP)),
        _ => format!("{} MiB", tenths(STEP * STEP)),
    }
}

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
    let version = save_plan(&store, name, text, (result.dialect, &plan), printer)?;
    printer.data_line(&version);
    Ok(Exit::Success)
}

/// Saves a plan as the newest version of `name`. Returns `NAME@VERSION`.
pub(crate) fn save_plan(
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
        inputs: declared_inputs(plan),
        saved: store::now(),
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

/// Returns the name to save a plan under: `--name`, its own name, or the name of its file.
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
            let width = plans.iter().map(|plan| version_name(plan).len()).max();
            for plan in &plans {
                let called = format!("{:width$}", version_name(plan), width = width.unwrap_or(0));
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
        printer.quote(&format!("`{}` is deleted", version_name(plan)));
    }
    Ok(Exit::Success)
}

fn short(id: &str) -> &str {
    id.get(..SHORT).unwrap_or(id)
}
