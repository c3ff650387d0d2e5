//! `planwright call SERVER.TOOL KEY=VALUE`: one call, as a plan of one step. It is checked, approved and stored like any other run.

use std::collections::{BTreeSet, HashSet};

use planwright::core::{Catalog, Lookup, Object, Tool, Value};
use planwright::dialects::native::Native;
use planwright::dialects::{Dialect, ReadOptions, parse};
use planwright::loaded_plan::{LoadedPlan, named_call, single_call};

use super::plan_file::value_or_text;
use super::session::PlanCommand;
use crate::args::SingleCallArguments;
use crate::error::{CommandError, Exit};
use crate::view::printer::Printer;

/// `planwright call SERVER.TOOL`
pub(crate) async fn call(
    arguments: &SingleCallArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let run = arguments.run().map_err(|error| {
        CommandError::new("the call cannot be turned into a run").internal(error)
    })?;
    let command = PlanCommand::open(&run, printer)?;
    let needed = command.with_undo_tools(BTreeSet::from([arguments.tool.clone()]));
    Box::pin(command.run(&needed, |catalog| plan(arguments, catalog))).await
}

/// The plan of the call. The check reports a tool that does not exist.
fn plan(arguments: &SingleCallArguments, catalog: &Catalog) -> Result<LoadedPlan, CommandError> {
    let found = match catalog.find(&arguments.tool) {
        Lookup::Found(tool) => Some(tool),
        Lookup::Ambiguous(_) | Lookup::Unknown => None,
    };
    let args = values(arguments, found.as_deref())?;
    let plan = match &found {
        Some(tool) => single_call(catalog, tool, &args),
        None => named_call(&arguments.tool, &args),
    };
    let (text, _) = Native.print(&plan);
    let text =
        text.ok_or_else(|| CommandError::new("these arguments cannot be written as a plan"))?;
    Ok(loaded(&text))
}

fn loaded(text: &str) -> LoadedPlan {
    let options = ReadOptions {
        dialect: Some(Native.name()),
        ..ReadOptions::new("call")
    };
    LoadedPlan::new("call".to_owned(), parse(text.as_bytes(), &options))
}

/// Returns the arguments of the call: those of `--args`, overridden by single values.
fn values(arguments: &SingleCallArguments, tool: Option<&Tool>) -> Result<Value, CommandError> {
    let mut values = match &arguments.args {
        None => Object::default(),
        Some(text) => {
            let form = "write it as --args '{\"NAME\": VALUE}'";
            let value = Value::from_written_json(text).map_err(|error| {
                CommandError::new(format!("`--args` is not JSON: {error}")).hint(form)
            })?;
            value.as_object().cloned().ok_or_else(|| {
                CommandError::new(format!("`--args` is a {}, not an object", value.kind()))
                    .hint(form)
            })?
        }
    };
    let mut given = HashSet::new();
    for pair in &arguments.values {
        let Some((name, text)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(CommandError::new(format!(
                "the argument `{pair}` has no name before a `=`"
            ))
            .hint("write it as NAME=VALUE"));
        };
        if !given.insert(name) {
            return Err(CommandError::new(format!(
                "the argument `{name}` is given twice"
            )));
        }
        values.insert(name.into(), value(name, text, tool)?);
    }
    Ok(values.into())
}

/// Parses a value for the tool: as text if the parameter is a text, else as JSON, else as text.
fn value(name: &str, text: &str, tool: Option<&Tool>) -> Result<Value, CommandError> {
    let schema = tool
        .and_then(|tool| {
            tool.input
                .as_value()
                .get("properties")?
                .get(name)?
                .get("type")
        })
        .and_then(Value::as_text);
    if schema == Some("string") {
        return Ok(Value::from(text));
    }
    value_or_text(name, text)
}
