//! Completion of a command line in a shell: commands, flags, and stored items: plans, runs, their steps, tools. The script of
//! `planwright completions SHELL` runs the program itself at each completion. The program reads files and the store, and starts
//! no server. It ignores what it cannot read, because an error would disturb the prompt.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use clap::{Arg, Command, CommandFactory};
use clap_complete::CompleteEnv;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::Shells;
use planwright::core::{Code, Value};
use planwright::dialects::{ReadOptions, parse};
use planwright::stored::StoredRun;
use planwright_store::{RunFilter, Store};

use super::wrap::client::CLIENTS;
use crate::args::{Arguments, MAX_SIZE, StoreArguments};
use crate::error::{CommandError, Exit};
use crate::run::plan_file;
use crate::runs::selector::find_run;
use crate::runs::store;
use crate::system::{environment, text_file};
use crate::view::printer::Printer;

/// The variable that makes the program complete a command line rather than run it: the name of the shell.
const VARIABLE: &str = "COMPLETE";

/// The program, as shells know it.
const PROGRAM: &str = "planwright";

/// The maximum number of runs that are offered.
const MAX_RUNS: usize = 50;

/// Completes the command line that a shell passes on, if one does. Returns true if it did.
pub(crate) fn complete() -> Result<bool, clap::Error> {
    let here = std::env::current_dir().ok();
    CompleteEnv::with_factory(command)
        .var(VARIABLE)
        .bin(PROGRAM)
        .try_complete(std::env::args_os(), here.as_deref())
}

/// `planwright completions SHELL`
pub(crate) fn completions(
    shell: clap_complete::Shell,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let failed = || CommandError::new(format!("there is no completion for `{shell}`"));
    let shells = Shells::builtins();
    let completer = shells.completer(&shell.to_string()).ok_or_else(failed)?;
    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .map_err(|error| failed().internal(error))?;
    printer.data(&String::from_utf8_lossy(&script));
    Ok(Exit::Success)
}

/// The command line, each argument with the values that it may have.
fn command() -> Command {
    let is_flag = current_word().is_some_and(|word| word.starts_with('-'));
    with_values(Arguments::command(), is_flag)
}

/// Adds the values. Flags are hidden unless the word begins with `-`, so that they are offered only where nothing else is.
fn with_values(command: Command, shows_flags: bool) -> Command {
    let shows_runs = command.get_name() == "show";
    let command = command.mut_args(|argument| {
        let is_hidden = argument.is_hide_set() || !(shows_flags || argument.is_positional());
        let argument = argument.hide(is_hidden);
        let values: fn(&OsStr) -> Vec<CompletionCandidate> = match kind(&argument) {
            Some("PLAN") if shows_runs => plans_and_runs,
            Some("PLAN") => plans_and_files,
            Some("RUN") => |current| matching(runs(), current),
            Some("STEP") => |current| matching(steps(), current),
            Some("TOOL" | "SERVER.TOOL") => |current| matching(tools(), current),
            Some("CLIENT|FILE") => clients_and_files,
            Some("CODE") => |current| matching(codes(), current),
            // The names of saved plans.
            Some("NAME") if argument.is_positional() => |current| matching(plans(), current),
            _ => return argument,
        };
        argument.add(ArgValueCompleter::new(values))
    });
    command
        .disable_help_flag(!shows_flags)
        .disable_version_flag(!shows_flags)
        .mut_subcommands(|command| with_values(command, shows_flags))
}

/// The name of the value of an argument.
fn kind(argument: &Arg) -> Option<&str> {
    argument.get_value_names()?.first().map(|name| &**name)
}

/// A value and its description.
type NamedCandidate = (String, Option<String>);

/// The values of `known` that begin with `current`.
fn matching(
    known: impl IntoIterator<Item = NamedCandidate>,
    current: &OsStr,
) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let known = known.into_iter();
    let known = known.filter(|(value, _)| value.starts_with(&*current));
    known
        .map(|(value, what)| CompletionCandidate::new(value).help(what.map(Into::into)))
        .collect()
}

fn plans_and_files(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut found = matching(plans(), current);
    found.extend(PathCompleter::file().complete(current));
    found
}

fn plans_and_runs(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut found = plans_and_files(current);
    found.extend(matching(runs(), current));
    found
}

fn clients_and_files(current: &OsStr) -> Vec<CompletionCandidate> {
    let clients = CLIENTS.iter();
    let clients = clients.map(|client| (client.name.to_owned(), None));
    let mut found = matching(clients, current);
    found.extend(PathCompleter::file().complete(current));
    found
}

/// The store that the command line names, or the usual one.
fn stored() -> Option<Store> {
    let arguments = StoreArguments {
        store: option("--store").map(Into::into),
    };
    store::open_existing(&arguments).ok().flatten()
}

fn plans() -> Vec<NamedCandidate> {
    let plans = stored().and_then(|store| store.plans().ok());
    let plans = plans.unwrap_or_default().into_iter();
    plans
        .map(|plan| {
            let version = format!("version {}", plan.version);
            (plan.name, Some(version))
        })
        .collect()
}

fn runs() -> Vec<NamedCandidate> {
    let filter = RunFilter {
        limit: Some(MAX_RUNS),
        ..RunFilter::default()
    };
    let runs = stored().and_then(|store| store.runs(&filter).ok());
    let runs = runs.unwrap_or_default().into_iter();
    runs.map(|run| (store::short_id(run.id.as_str()).to_owned(), run.plan))
        .collect()
}

/// The steps of the plan or the run that the command line names, or of the newest run.
fn steps() -> Vec<NamedCandidate> {
    let of_file = |word: &String| {
        let path = Path::new(word);
        let text = path
            .is_file()
            .then(|| plan_file::read_file(path, MAX_SIZE))?;
        let plan = parse(&text.ok()?, &ReadOptions::new(word)).plan?;
        let ids = plan.steps.iter().map(|step| step.id.to_string());
        Some(ids.collect::<Vec<_>>())
    };
    let of_run = |word: Option<&String>| {
        let store = stored()?;
        let run = find_run(&store, word.map(String::as_str)).ok()?;
        let run = StoredRun::read(&store, run.id.as_str()).ok()?;
        Some(run.step_ids())
    };
    let words = words();
    let named = words.iter().skip(2).filter(|word| !word.is_empty());
    let mut found = named.filter_map(|word| of_file(word).or_else(|| of_run(Some(word))));
    let ids = found.next().or_else(|| of_run(None));
    let ids = ids.unwrap_or_default().into_iter();
    ids.map(|id| (id, None)).collect()
}

/// The simulated tools of the command line, or the tools of servers that were seen before.
fn tools() -> Vec<NamedCandidate> {
    let simulated = || {
        let text = text_file::read(Path::new(&option("--simulate")?)).ok()?;
        let tools = Value::from_json(&text).ok()?;
        let names = tools.get("tools")?.as_object()?.keys();
        Some(names.map(|name| (name.to_string(), None)).collect())
    };
    let seen = || {
        let tools = stored()?.tool_names().ok()?;
        let names: BTreeSet<String> = tools
            .into_iter()
            .map(|(server, tool)| format!("{server}.{tool}"))
            .collect();
        Some(names.into_iter().map(|name| (name, None)).collect())
    };
    simulated().or_else(seen).unwrap_or_default()
}

fn codes() -> Vec<NamedCandidate> {
    let codes = Code::ALL.iter();
    codes
        .map(|code| (code.as_str().to_owned(), Some(code.title().to_owned())))
        .collect()
}

/// The words of the command line to complete, starting with the program's name.
fn words() -> Vec<String> {
    let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// The word to complete: the last one, unless the shell names another.
fn current_word() -> Option<String> {
    let words = words();
    let index = environment::variable("_CLAP_COMPLETE_INDEX");
    let index = index.and_then(|index| index.parse().ok());
    words
        .get(index.unwrap_or(words.len().checked_sub(1)?))
        .cloned()
}

/// The value of an option on the command line that is completed.
fn option(name: &str) -> Option<String> {
    let mut words = words().into_iter();
    words.find(|word| word == name)?;
    words.next()
}
