//! Reads the plan, the plans that it runs by name, and its inputs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use planwright::core::check::{CheckContext, check};
use planwright::core::{Catalog, Code, Diagnostic, Diagnostics, Object, Plan, Value};
use planwright::dialects::{ParseResult, ReadOptions, document};
use planwright::loaded_plan::LoadedPlan;
use planwright_store::{StoreError, StoredPlan};

use crate::args::{PlanArguments, TextArguments};
use crate::error::CommandError;
use crate::runs::store;
use crate::system::text_file;
use crate::view::printer::Printer;

/// A parsed plan and the name of its text.
#[derive(Debug)]
pub(crate) struct ParsedPlanText {
    /// The name of the text in diagnostics.
    pub(crate) name: String,
    pub(crate) result: ParseResult,
}

/// Reads the plan without its inputs, and adds the errors that can be found without tools.
pub(crate) fn parse_without_tools(
    arguments: &TextArguments,
) -> Result<ParsedPlanText, CommandError> {
    let mut text = parse(arguments)?;
    if let Some(plan) = &text.result.plan {
        text.result.diagnostics.extend(problems(plan));
    }
    Ok(text)
}

/// Reads the plan alone.
fn parse(arguments: &TextArguments) -> Result<ParsedPlanText, CommandError> {
    Ok(match find_stored(arguments)? {
        Some(plan) => parse_stored(arguments, plan),
        None => {
            let (name, text) = read_text(&arguments.plan, arguments.max_size)?;
            parse_text(arguments, name, &text, None)
        }
    })
}

fn parse_stored(arguments: &TextArguments, plan: StoredPlan) -> ParsedPlanText {
    let dialect = plan.dialect.as_deref();
    parse_text(
        arguments,
        version_name(&plan),
        plan.text.as_bytes(),
        dialect,
    )
}

/// Parses a text. The dialect of the arguments comes before `dialect`.
pub(crate) fn parse_text(
    arguments: &TextArguments,
    name: String,
    text: &[u8],
    dialect: Option<&str>,
) -> ParsedPlanText {
    let options = ReadOptions {
        dialect: arguments.dialect.as_deref().or(dialect),
        limits: limits(arguments),
        ..ReadOptions::new(&name)
    };
    let result = planwright::dialects::parse(text, &options);
    ParsedPlanText { name, result }
}

fn limits(arguments: &TextArguments) -> document::ReadLimits {
    document::ReadLimits {
        bytes: arguments.max_size,
        depth: arguments.max_depth,
        ..document::ReadLimits::default()
    }
}

/// Reads the plan, its inputs and its library.
pub(crate) fn read(arguments: &PlanArguments) -> Result<LoadedPlan, CommandError> {
    let text = in_library(arguments).unwrap_or_else(|| arguments.text.clone());
    load(arguments, parse(&text)?)
}

/// Returns the arguments for a plan in the folder `--library`; `None` if a file has the name of the plan, or the folder has no such plan.
fn in_library(arguments: &PlanArguments) -> Option<TextArguments> {
    let folder = arguments.library.as_ref()?;
    let name = arguments.text.plan.to_str().filter(|name| *name != "-")?;
    let file = folder.join(format!("{name}.json"));
    (!arguments.text.plan.exists() && file.is_file()).then(|| TextArguments {
        plan: file,
        ..arguments.text.clone()
    })
}

/// Reads a stored plan with the inputs and options of `arguments`.
pub(crate) fn read_stored(
    arguments: &PlanArguments,
    plan: StoredPlan,
) -> Result<LoadedPlan, CommandError> {
    load(arguments, parse_stored(&arguments.text, plan))
}

/// Loads a parsed plan with its inputs and its library.
pub(crate) fn load(
    arguments: &PlanArguments,
    parsed: ParsedPlanText,
) -> Result<LoadedPlan, CommandError> {
    let ParsedPlanText { name, result } = parsed;
    let mut loaded = LoadedPlan::new(name, result)
        .with_inputs(inputs(arguments)?)
        .with_max_steps(arguments.max_steps);
    if arguments.reorder {
        loaded = loaded.reordered();
    }
    if let Some(folder) = &arguments.library {
        loaded =
            with_known_plans(loaded, folder)?.with_library(limits(&arguments.text), |name| {
                let path = folder.join(format!("{name}.json"));
                match read_file(&path, arguments.text.max_size) {
                    Ok(text) => Ok(Some(text)),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                    Err(error) => Err(CommandError::unreadable(&path, &error)),
                }
            })?;
    }
    Ok(loaded)
}

/// Reads the plan and the names of the plans in a folder.
fn with_known_plans(mut loaded: LoadedPlan, folder: &Path) -> Result<LoadedPlan, CommandError> {
    let unreadable = |error| CommandError::unreadable(folder, &error);
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let file = PathBuf::from(entry.map_err(unreadable)?.file_name());
        let name = file.file_stem().and_then(|name| name.to_str());
        if let (Some(name), Some("json")) = (name, file.extension().and_then(|all| all.to_str())) {
            loaded = loaded.with_known_plan(name);
        }
    }
    Ok(loaded)
}

/// Reads a plan's text: a file, or standard input for `-`.
fn read_text(path: &Path, limit: usize) -> Result<(String, Vec<u8>), CommandError> {
    if path == Path::new("-") {
        let text = text_file::read_limited(std::io::stdin(), limit as u64)
            .map_err(|error| CommandError::unreadable(Path::new("standard input"), &error))?;
        return Ok(("stdin".to_owned(), text));
    }
    let text = read_file(path, limit).map_err(|error| {
        CommandError::unreadable(path, &error).hint(
            "a plan is a JSON file, `-` for standard input, or one that `planwright list` lists",
        )
    })?;
    Ok((path.display().to_string(), text))
}

/// Reads a file up to one byte more than `limit`, so that the parser reports a longer one.
pub(crate) fn read_file(path: &Path, limit: usize) -> std::io::Result<Vec<u8>> {
    text_file::read_limited(std::fs::File::open(path)?, limit as u64)
}

/// Returns the inputs of the plan: those of the file, overridden by single values.
fn inputs(arguments: &PlanArguments) -> Result<Object, CommandError> {
    let mut inputs = Object::default();
    if let Some(path) = &arguments.vars_file {
        let form = "write it as {\"NAME\": VALUE, …}";
        let value = text_file::json(path, form)?;
        let Value::Object(fields) = value else {
            return Err(CommandError::new(format!(
                "`{}` holds a {}, not an object",
                path.display(),
                value.kind()
            ))
            .hint(form));
        };
        inputs.extend(
            fields
                .iter()
                .map(|(key, value)| (key.clone(), value.clone())),
        );
    }
    add_vars(&mut inputs, &arguments.vars)?;
    Ok(inputs)
}

/// Adds the values of `--var`.
pub(crate) fn add_vars(inputs: &mut Object, vars: &[String]) -> Result<(), CommandError> {
    let mut given = HashSet::new();
    for pair in vars {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(CommandError::new(format!("`--var {pair}` has no `=`"))
                .hint("write it as --var NAME=VALUE"));
        };
        let name = name.trim();
        if name.is_empty() {
            return Err(CommandError::new("a `--var` has no name before its `=`")
                .hint("write it as --var NAME=VALUE"));
        }
        if !given.insert(name) {
            return Err(CommandError::new(format!(
                "the input `{name}` is given twice by `--var`"
            )));
        }
        inputs.insert(name.into(), value_or_text(name, value)?);
    }
    Ok(())
}

/// Parses the value of `name` on a command line: as JSON, else as text.
pub(crate) fn value_or_text(name: &str, text: &str) -> Result<Value, CommandError> {
    if Value::from_json(text).is_err() {
        return Ok(Value::from(text));
    }
    Value::from_written_json(text)
        .map_err(|error| CommandError::new(format!("the value of `{name}` is ambiguous: {error}")))
}

/// Finds the problems of a plan that do not depend on tools and inputs: references to missing steps, cycles, and names that are used
/// twice or out of scope.
fn problems(plan: &Plan) -> Diagnostics {
    let tools = Catalog::new();
    let (_, found) = check(plan.clone(), &CheckContext::new(&tools));
    let of_the_plan_alone = |diagnostic: &Diagnostic| {
        matches!(
            diagnostic.code,
            Code::DuplicateStep
                | Code::UnknownStep
                | Code::Cycle
                | Code::LaterStep
                | Code::OutOfScope
                | Code::RecursivePlan
        )
    };
    found
        .into_iter()
        .filter(|diagnostic| diagnostic.is_error() && of_the_plan_alone(diagnostic))
        .collect()
}

/// Returns the saved plan with this name; `None` if there is a file of that name, or no such plan.
pub(crate) fn find_stored(arguments: &TextArguments) -> Result<Option<StoredPlan>, CommandError> {
    let path: &Path = &arguments.plan;
    let Some(text) = path.to_str().filter(|_| !path.exists()) else {
        return Ok(None);
    };
    let (name, version) = selector(text);
    let Some(store) = store::open_existing(&arguments.store)? else {
        return Ok(None);
    };
    match store.plan(name, version) {
        Ok(plan) => Ok(Some(plan)),
        // Without a version, the name may be a path of a file.
        Err(StoreError::Missing { .. }) if version.is_none() => Ok(None),
        Err(error) => Err(store::explain(error)),
    }
}

/// Prints a note if the plan is a file of the working folder that has the name of a stored plan.
pub(crate) fn note_shadowed_plan(arguments: &TextArguments, printer: Printer) {
    let path: &Path = &arguments.plan;
    let Some(text) = path.to_str().filter(|_| path.exists()) else {
        return;
    };
    let (name, version) = selector(text);
    // A store that cannot be used is reported by the run, if it needs the store.
    let store = store::open_existing(&arguments.store).ok().flatten();
    let plan = store.and_then(|store| store.plan(name, version).ok());
    // A store also finds plans by the beginning of their ids.
    if let Some(plan) = plan.filter(|plan| *plan.name == *name) {
        printer.quote(&format!(
            "note: the file `{text}` is run, not the stored plan `{}`",
            version_name(&plan)
        ));
    }
}

/// `NAME@VERSION`, or just a name or the beginning of an id.
pub(crate) fn selector(text: &str) -> (&str, Option<u32>) {
    text.rsplit_once('@')
        .and_then(|(name, version)| Some((name, Some(version.parse().ok()?))))
        .unwrap_or((text, None))
}

/// Returns the name of a version of a plan.
pub(crate) fn version_name(plan: &StoredPlan) -> String {
    format!("{}@{}", plan.name, plan.version)
}
