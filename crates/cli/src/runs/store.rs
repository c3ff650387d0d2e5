//! The program's store of runs and plans; reports about stored runs to the terminal; the file of durations.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use planwright::call_view::arguments;
use planwright::core::Value;
use planwright::engine::RunId;
use planwright::engine::approval::SealKey;
use planwright::engine::event::Address;
use planwright::engine::run::StepSummary;
use planwright::engine::{Durations, ErrorKind, RunStatus, RunSummary, StepStatus};
use planwright::format::{DURATIONS_SCHEMA, DurationsV1, ToolSourcesV1};
use planwright::stored::StoredRunError;
use planwright_postgres::PostgresOptions;
use planwright_store::{FileProblem, LeaseHolder, Store, StoreError};

use crate::args::{RunFormat, StoreArguments, ToolArguments};
use crate::error::{CommandError, Exit, reason};
use crate::system::{environment, text_file};
use crate::view::printer::Printer;

/// Opens the store that the arguments name, else the user's own. Warns if others can write to it.
pub(crate) fn open(arguments: &StoreArguments, printer: Printer) -> Result<Store, CommandError> {
    static IS_WARNED: AtomicBool = AtomicBool::new(false);
    let path = match &arguments.store {
        Some(path) => path.clone(),
        None => default_path()?,
    };
    let store = open_at(&path).map_err(explain)?;
    let writable = store.writable_by_others();
    if !writable.is_empty() && !IS_WARNED.swap(true, Ordering::Relaxed) {
        for path in writable {
            let path = path.display();
            printer.message(&format!(
                "warning: others can write to `{path}`, and so change what is stored, decisions included"
            ));
            printer.hint(format!("`chmod go-w {}`", shell_word(&path)));
        }
    }
    Ok(store)
}

/// Returns the key that seals consent to calls with secrets; `None` without a store.
pub(crate) fn seal_key(store: Option<&Store>) -> Result<Option<SealKey>, CommandError> {
    let key = store.map(Store::seal_key).transpose();
    key.map_err(explain)
}

/// Opens the store that the arguments name, else the user's own; `None` if it does not exist yet.
pub(crate) fn open_existing(arguments: &StoreArguments) -> Result<Option<Store>, CommandError> {
    let path = arguments.store.clone().or_else(|| default_path().ok());
    match path.filter(|path| path.exists() || server_address(path).is_some()) {
        Some(path) => open_at(&path).map(Some).map_err(explain),
        None => Ok(None),
    }
}

/// Opens the store in a file or, if `path` is the address of one, in a PostgreSQL server.
fn open_at(path: &Path) -> Result<Store, StoreError> {
    let Some(url) = server_address(path) else {
        return Store::open(path);
    };
    // Server processes belong to this machine, whatever store their runs are in.
    let folder = match environment::data_folder() {
        Some(folder) => folder.join("servers"),
        None => std::env::temp_dir().join("planwright-servers"),
    };
    planwright_postgres::open(url, PostgresOptions::new(folder))
}

/// Returns the address of a PostgreSQL server, if `path` is one.
fn server_address(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let schemes = ["postgres://", "postgresql://"];
    // Schemes have no case.
    let is_of = |scheme: &&str| {
        let start = text.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    schemes.iter().any(is_of).then_some(text)
}

fn default_path() -> Result<PathBuf, CommandError> {
    if let Some(path) = environment::variable("PLANWRIGHT_STORE").filter(|path| !path.is_empty()) {
        return Ok(PathBuf::from(path));
    }
    environment::data_folder()
        .map(|folder| folder.join("planwright.db"))
        .ok_or_else(|| {
            CommandError::new(
                "there is no folder for runs: neither `XDG_DATA_HOME` nor `HOME` is set",
            )
            .hint("name a file with `--store FILE`, or store nothing with `--no-store`")
        })
}

/// Returns the name of this process, for other processes.
#[expect(
    clippy::disallowed_methods,
    reason = "the command line knows what time it is"
)]
pub(crate) fn this_process() -> LeaseHolder {
    LeaseHolder::this_process(environment::host(), SystemTime::now())
}

/// Converts an error of the store, with a hint how to recover.
pub(crate) fn explain(error: StoreError) -> CommandError {
    let hint = match &error {
        StoreError::Missing { what: "run", .. } => Some("`planwright runs` lists them"),
        StoreError::Missing {
            what: "session", ..
        } => Some("`planwright runs --sessions` lists them"),
        StoreError::Missing { what: "plan", .. } => Some("`planwright list` lists them"),
        StoreError::Ambiguous { .. } => Some("write more characters of the id"),
        StoreError::Leased { .. } => Some("wait until it ends, or stop that process"),
        StoreError::ClientBusy { .. } => Some("wait until one of them ends"),
        StoreError::File { path, trouble, .. } => match trouble {
            FileProblem::Full => {
                Some("free disk space; a new run may use another file with `--store FILE`")
            }
            FileProblem::ReadOnly => Some(
                "copy it to a folder that you may write to, and name the copy with `--store FILE`; `run --no-store` stores nothing",
            ),
            FileProblem::Newer { .. } => {
                Some("use the newer version, or another file with `--store FILE`")
            }
            FileProblem::Busy => Some("try again"),
            FileProblem::Linked => Some(
                "open it by its first name, remove its other hard links, or copy it while no process uses it",
            ),
            FileProblem::Unreachable(reason) | FileProblem::Failed(reason)
                if reason.contains("peer certificate") =>
            {
                Some(
                    "name the certificate of its authority with `?sslmode=verify-full&sslrootcert=FILE`",
                )
            }
            FileProblem::Unreachable(_) | FileProblem::Failed(_)
                if server_address(path).is_some() =>
            {
                Some(
                    "check that the server runs and that its address is right; `run --no-store` stores nothing",
                )
            }
            FileProblem::Foreign
            | FileProblem::Damaged(_)
            | FileProblem::NotAFile
            | FileProblem::Gone
            | FileProblem::Unreachable(_)
            | FileProblem::Failed(_) => {
                Some("name another file with `--store FILE`; `run --no-store` stores nothing")
            }
        },
        StoreError::Missing { .. }
        | StoreError::Exists { .. }
        | StoreError::BadName { .. }
        | StoreError::Removed { .. }
        | StoreError::Superseded { .. }
        | StoreError::Decided { .. }
        | StoreError::PlanApproved { .. }
        | StoreError::Idle { .. }
        | StoreError::ChangedSecret { .. }
        | StoreError::ToolChanged { .. }
        | StoreError::Format(_) => None,
    };
    let internal = matches!(
        &error,
        StoreError::File {
            trouble: FileProblem::Full
                | FileProblem::Damaged(_)
                | FileProblem::Gone
                | FileProblem::Busy
                | FileProblem::Unreachable(_)
                | FileProblem::Failed(_),
            ..
        }
    );
    let mut explained = CommandError::new(error.to_string());
    if internal {
        explained = explained.internal(error);
    }
    if let Some(hint) = hint {
        explained = explained.hint(hint);
    }
    explained
}

impl From<StoredRunError> for CommandError {
    /// An error about a stored run, with a way to recover.
    fn from(error: StoredRunError) -> Self {
        let explained = Self::new(error.to_string());
        match error {
            StoredRunError::Store(error) => explain(error),
            StoredRunError::Passphrase(error) => error.into(),
            StoredRunError::Unreadable(_) => {
                explained.hint("use the version of the program that wrote it")
            }
            StoredRunError::Hidden(name) => {
                explained.hint(format!("provide it again: `--var {name}=VALUE`"))
            }
            StoredRunError::Doubt { at, .. } => explained.hint(format!(
                "check whether the call happened, then use `{}`, `{}` or `{}=VALUE`",
                option("--retry", &at),
                option("--skip", &at),
                option("--set", &at)
            )),
            StoredRunError::ServerRuns { .. } => {
                explained.hint("wait until it has ended, or kill it: `--kill-servers`")
            }
            StoredRunError::Unfinished => {
                explained.hint("ask again, or give it a plan: `--plan FILE`")
            }
            StoredRunError::DrivenBy(_) => {
                explained.hint("`planwright attach RUN` shows it, `planwright cancel RUN` cancels it")
            }
            StoredRunError::Reverted(by) | StoredRunError::Superseded(by) => {
                explained.hint(format!("`planwright show {}` shows that run", short_id(&by)))
            }
            StoredRunError::RevertWaits(by) => explained.hint(format!(
                "`planwright resume {}` asks about its calls; once they are rejected, the run can be reverted again",
                short_id(&by)
            )),
            StoredRunError::IsRevert(_) => {
                explained.hint("run the plan again: `planwright run` with the plan of that run")
            }
            StoredRunError::NotStored => explained.hint("leave `--no-store` out"),
            StoredRunError::Done(_) => {
                explained.hint("a plan that changes the step runs it again: `--plan FILE`")
            }
            StoredRunError::WrongOutput { .. } => {
                explained.hint("`planwright show RUN --as source` shows the plan; `--skip STEP` leaves the step without an output")
            }
            StoredRunError::UnknownStep {
                near: Some(near), ..
            } => explained.hint(format!("did you mean `{near}`?")),
            StoredRunError::NoDialect
            | StoredRunError::Ended
            | StoredRunError::Outdated
            | StoredRunError::Unsound
            | StoredRunError::OtherPlan
            | StoredRunError::NotShown { .. }
            | StoredRunError::UnknownDialect(_)
            | StoredRunError::Unwritable(_)
            | StoredRunError::NotStale(_)
            | StoredRunError::NoCall(_)
            | StoredRunError::UnknownStep { near: None, .. }
            | StoredRunError::AmbiguousStep { .. }
            | StoredRunError::Twice(_) => explained,
        }
    }
}

/// Returns the sources of tools as absolute paths.
pub(crate) fn sources(tools: &ToolArguments) -> Result<ToolSourcesV1, CommandError> {
    let named = |path: &Option<PathBuf>| -> Result<Option<String>, CommandError> {
        path.as_deref().map(absolute).transpose()
    };
    Ok(ToolSourcesV1 {
        folder: absolute(tools.folder.as_deref().unwrap_or(Path::new(".")))?,
        servers: named(&tools.servers)?,
        simulate: named(&tools.simulate)?,
        workspace: named(&tools.workspace)?,
    })
}

fn absolute(path: &Path) -> Result<String, CommandError> {
    let whole = std::path::absolute(path).map_err(|error| {
        CommandError::new(format!(
            "cannot resolve `{}`: {}",
            path.display(),
            reason(&error)
        ))
    })?;
    whole.into_os_string().into_string().map_err(|path| {
        CommandError::new(format!(
            "the path `{}` is not UTF-8 text, so it cannot be stored",
            path.display()
        ))
        .hint("rename the folder, or store nothing with `--no-store`")
    })
}

/// Reports how a run ended that has not succeeded, with the commands to continue it. Returns the exit status of any run.
pub(crate) fn report_end(
    summary: &RunSummary,
    is_stored: bool,
    format: RunFormat,
    printer: Printer,
) -> Exit {
    if let Some(error) = &summary.journal_error {
        printer.quote(&format!(
            "error: the run was ended, since it cannot be stored: {error}"
        ));
        printer.hint(format!(
            "fix that, then run `planwright resume {}`",
            short_id(&summary.run)
        ));
        return Exit::Failed;
    }
    let exit = Exit::of_run(summary.status);
    if is_stored && format == RunFormat::Text && exit != Exit::Success {
        let unknown = find_steps(&summary.steps, &|step| {
            step.status == StepStatus::Unknown || step.is_in_doubt
        });
        for step in &unknown {
            let end = if step.status == StepStatus::Cancelled {
                "cancelled"
            } else {
                "not answered"
            };
            printer.message(&format!(
                "a call of `{}` was {end}, and may or may not have happened",
                step.at
            ));
        }
        match unknown.first() {
            // Without a choice about it, a resumed run stops at the same place.
            Some(step) => print_unknown_hint(&summary.run, &step.at, printer),
            None if needs_other_plan(summary) => printer.message(&format!(
                "resume with a corrected plan: `planwright resume {} --plan FILE`",
                short_id(&summary.run)
            )),
            None => print_way_on(summary, printer),
        }
    }
    exit
}

/// Prints how a run without calls in doubt continues: always a command that changes something.
fn print_way_on(summary: &RunSummary, printer: Printer) {
    let run = short_id(&summary.run);
    if summary.status == RunStatus::Waiting {
        printer.message(&format!(
            "once these calls are decided, resume with `planwright resume {run}`"
        ));
        return;
    }
    let rejected = unhandled_failures(summary);
    let is_rejected = |step: &&StepSummary| {
        let kind = step.error.as_ref().map(|error| error.kind);
        kind == Some(ErrorKind::Approval)
    };
    match rejected.first() {
        // A rejection is stored: only a choice to make the call after all asks about it again.
        Some(step) if rejected.iter().all(is_rejected) => {
            let named = if rejected.len() > MAX_RETRIES {
                vec![option("--retry", &step.at)]
            } else {
                let each = rejected.iter().map(|step| option("--retry", &step.at));
                each.collect()
            };
            let retry = named.join(" ");
            printer.message(&format!(
                "to be asked again, resume with `planwright resume {run} {retry}`"
            ));
        }
        _ => print_resume_hint(&summary.run, true, printer),
    }
}

/// Maximum number of steps that one printed command names.
const MAX_RETRIES: usize = 5;

/// Returns true if a resumed run would fail again in the same way: only expressions of its plan have failed.
fn needs_other_plan(summary: &RunSummary) -> bool {
    let failures = unhandled_failures(summary);
    let is_of_plan = |step: &&StepSummary| {
        let kind = step.error.as_ref().map(|error| error.kind);
        kind == Some(ErrorKind::Reference)
    };
    !failures.is_empty() && failures.iter().all(is_of_plan)
}

/// The steps, items and rounds that failed without a handler.
fn unhandled_failures(summary: &RunSummary) -> Vec<&StepSummary> {
    find_steps(&summary.steps, &|step| {
        step.status == StepStatus::Failed && !step.handled
    })
}

/// Prints how to resume a run with calls whose outcome is unknown; `at` is the address of one of them.
fn print_unknown_hint(run: &RunId, at: &Address, printer: Printer) {
    let run = short_id(run);
    let (set, skip, retry) = (
        option("--set", at),
        option("--skip", at),
        option("--retry", at),
    );
    printer.hint(format!(
        "check whether the call happened: if so, add `{set}=VALUE` or `{skip}`; if not, `{retry}`"
    ));
    printer.message(&format!(
        "if none of these calls happened, resume with\n`planwright resume {run} --retry-unknown`"
    ));
}

/// The commands that decide about the call of `step`.
fn decision_commands(run: &RunId, step: &str) -> String {
    let (run, word) = (short_id(run), argument(&step));
    format!("`planwright approve {run} {word}`, or `planwright reject {run} {word}`")
}

/// A line about a call of a run in progress that waits for a decision.
pub(crate) fn waiting_line(run: &RunId, step: &str) -> String {
    format!("`{step}` waits: {}", decision_commands(run, step))
}

/// Prints the calls that wait for a decision, with all their arguments, and the commands to decide.
pub(crate) fn print_waiting(summary: &RunSummary, is_stored: bool, printer: Printer) {
    for step in find_steps(&summary.steps, &|step| step.status == StepStatus::Waiting) {
        let at = step.at.to_string();
        let tool = step.tool.as_deref().unwrap_or_default();
        printer.quote(&format!("{at} wants to call {tool}"));
        for line in step.args.iter().flat_map(arguments) {
            printer.quote(&format!("  {line}"));
        }
        if is_stored {
            printer.hint(decision_commands(&summary.run, &at));
        } else {
            printer.hint(
                "this run is not stored; ask again without `--no-store`, or with `--approvals FILE`",
            );
        }
    }
}

/// Returns the steps, items and rounds without parts that `is_wanted` accepts.
fn find_steps<'a>(
    steps: &'a [StepSummary],
    is_wanted: &impl Fn(&StepSummary) -> bool,
) -> Vec<&'a StepSummary> {
    let mut found = Vec::new();
    for step in steps {
        if step.parts.is_empty() && is_wanted(step) {
            found.push(step);
        }
        found.extend(find_steps(&step.parts, is_wanted));
    }
    found
}

/// Prints how to resume an interrupted run. A run that is not stored cannot be resumed, so that nothing is printed.
pub(crate) fn print_resume_hint(id: &RunId, is_stored: bool, printer: Printer) {
    if is_stored {
        printer.quote(&format!("resume with `planwright resume {}`", short_id(id)));
    }
}

/// Quotes `name` as one word of a shell's command line. Models may choose the ids of steps: a command copied from a hint must not
/// have other effects.
pub(crate) fn shell_word(name: &impl ToString) -> String {
    let name = name.to_string();
    let name: String = name
        .chars()
        .filter(|character| !character.is_control())
        .collect();
    match shlex::try_quote(&name) {
        Ok(word) => word.into_owned(),
        // NUL, the only character that cannot be quoted, was removed before.
        Err(_) => String::new(),
    }
}

/// An argument that a shell reads as one word. After `--`, a word that begins with a dash is no option.
pub(crate) fn argument(value: &impl ToString) -> String {
    let word = shell_word(value);
    if word.starts_with('-') {
        format!("-- {word}")
    } else {
        word
    }
}

/// An option with a value that a shell reads as one word, also if the value begins with a dash.
pub(crate) fn option(name: &str, value: &impl ToString) -> String {
    let word = shell_word(value);
    let between = if word.starts_with('-') { '=' } else { ' ' };
    format!("{name}{between}{word}")
}

/// Returns the first 16 characters of a plan's digest.
pub(crate) fn short_digest(digest: &str) -> &str {
    digest.get(..16).unwrap_or(digest)
}

/// Returns the first 8 characters of a run's id, for typing. They are nearly always unique; if not, the program reports it.
pub(crate) fn short_id(id: &(impl AsRef<str> + ?Sized)) -> &str {
    let id = id.as_ref();
    id.get(..8).unwrap_or(id)
}

/// Returns the tool arguments of a stored run.
pub(crate) fn tool_arguments(stored: &ToolSourcesV1) -> ToolArguments {
    let path = |text: &Option<String>| text.as_ref().map(PathBuf::from);
    ToolArguments {
        servers: path(&stored.servers),
        simulate: path(&stored.simulate),
        workspace: path(&stored.workspace),
        folder: Some(PathBuf::from(&stored.folder)),
    }
}

/// Returns the time since 1970.
pub(crate) fn since_1970() -> Duration {
    now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the command line knows what time it is"
)]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}

/// Reads the recorded durations; none if the file does not exist yet.
pub(crate) fn load_durations(path: &Path) -> Result<Durations, CommandError> {
    let text = match text_file::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Durations::new()),
        Err(error) => return Err(CommandError::unreadable(path, &error)),
    };
    let refused = |problem: String| {
        CommandError::new(format!("`{}` {problem}", path.display()))
            .hint("name another file, or delete it to learn anew")
    };
    let version = Value::from_written_json(&text)
        .map_err(|error| refused(format!("is not JSON: {error}")))?;
    match version.get("schema").and_then(Value::as_text) {
        Some(DURATIONS_SCHEMA) => {}
        Some(other) => return Err(refused(format!("has the unknown version `{other}`"))),
        None => return Err(refused("is not a file of durations".to_owned())),
    }
    let written: DurationsV1 = serde_json::from_str(&text)
        .map_err(|error| refused(format!("has an invalid format: {error}")))?;
    Ok(Durations::from(&written))
}

/// Writes the durations. The new file replaces the old one atomically, and only its owner can read it.
pub(crate) fn save_durations(path: &Path, durations: &Durations) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(&DurationsV1::from(durations))
        .map_err(|error| CommandError::new(format!("the durations cannot be written: {error}")))?;
    text_file::write(&format!("{text}\n"), path, true)
}
