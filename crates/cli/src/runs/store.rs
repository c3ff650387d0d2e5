//! The program's store of runs and plans.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use planwright::engine::approval::SealKey;
use planwright::stored::StoredRunError;
use planwright_store::{FileProblem, LeaseHolder, Store, StoreError};

use super::run_storage;
use crate::args::StoreArguments;
use crate::error::CommandError;
use crate::system::environment;
use crate::view::printer::Printer;

/// Opens the store that the arguments name, else the user's own. Warns if others can write to it.
pub(crate) fn open(arguments: &StoreArguments, printer: Printer) -> Result<Store, CommandError> {
    static IS_WARNED: AtomicBool = AtomicBool::new(false);
    let path = match &arguments.store {
        Some(path) => path.clone(),
        None => usual_place()?,
    };
    let store = Store::open(path).map_err(explain)?;
    let writable = store.writable_by_others();
    if !writable.is_empty() && !IS_WARNED.swap(true, Ordering::Relaxed) {
        for path in writable {
            let path = path.display();
            printer.quote(&format!(
                "warning: others can write to `{path}`, and so change what is stored, decisions included"
            ));
            printer.quote(&format!("  hint: `chmod go-w {path}`"));
        }
    }
    Ok(store)
}

/// The key that consent to calls with secrets is sealed with; `None` without a store.
pub(crate) fn seal_key(store: Option<&Store>) -> Result<Option<SealKey>, CommandError> {
    let key = store.map(Store::seal_key).transpose();
    key.map_err(explain)
}

/// Opens the store that the arguments name, else the user's own, unless it does not exist yet.
pub(crate) fn open_if_there(arguments: &StoreArguments) -> Result<Option<Store>, CommandError> {
    let path = arguments.store.clone().or_else(|| usual_place().ok());
    match path.filter(|path| path.exists()) {
        Some(path) => Store::open(path).map(Some).map_err(explain),
        None => Ok(None),
    }
}

fn usual_place() -> Result<PathBuf, CommandError> {
    if let Some(path) = environment::variable("PLANWRIGHT_STORE").filter(|path| !path.is_empty()) {
        return Ok(PathBuf::from(path));
    }
    environment::data_folder()
        .map(|folder| folder.join("planwright.db"))
        .ok_or_else(|| {
            CommandError::new(
                "there is no folder to keep runs in: neither `XDG_DATA_HOME` nor `HOME` is set",
            )
            .hint("name a file with `--store FILE`, or keep nothing with `--no-store`")
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

/// An error of the store, with the way out.
pub(crate) fn explain(error: StoreError) -> CommandError {
    let hint = match &error {
        StoreError::Missing { what: "run", .. } => Some("`planwright runs` lists them"),
        StoreError::Missing { what: "plan", .. } => Some("`planwright list` lists them"),
        StoreError::Ambiguous { .. } => Some("write more of it"),
        StoreError::Held { .. } => Some("wait until it is done, or end that process"),
        StoreError::File { trouble, .. } => match trouble {
            FileProblem::Full => Some("make room, or name a file elsewhere with `--store FILE`"),
            FileProblem::Newer { .. } => {
                Some("use the newer version, or another file with `--store FILE`")
            }
            FileProblem::Busy => Some("try again"),
            FileProblem::Linked => Some(
                "use the name that it is used by, remove its other names, or make a copy of it while nothing uses it",
            ),
            _ => Some("name another file with `--store FILE`; `run --no-store` stores nothing"),
        },
        _ => None,
    };
    let internal = matches!(
        &error,
        StoreError::File {
            trouble: FileProblem::Full
                | FileProblem::Damaged(_)
                | FileProblem::Gone
                | FileProblem::Busy
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
            StoredRunError::Unreadable(_) => {
                explained.hint("use the version of the program that wrote it")
            }
            StoredRunError::Hidden(name) => {
                explained.hint(format!("give it again: --var {name}=VALUE"))
            }
            StoredRunError::Doubt { at, .. } => explained.hint(format!(
                "look, then use `--retry {at}`, `--skip {at}` or `--set {at}=VALUE`",
                at = run_storage::shell_word(&at)
            )),
            StoredRunError::ServerRuns { .. } => {
                explained.hint("wait until it has ended, or kill it: `--kill-servers`")
            }
            StoredRunError::Unfinished => {
                explained.hint("ask again, or give it a plan: `--plan FILE`")
            }
            StoredRunError::Done(_) => {
                explained.hint("a plan that changes the step runs it again: `--plan FILE`")
            }
            StoredRunError::UnknownStep {
                near: Some(near), ..
            } => explained.hint(format!("did you mean `{near}`?")),
            StoredRunError::NoDialect
            | StoredRunError::Outdated
            | StoredRunError::Unsound
            | StoredRunError::OtherPlan
            | StoredRunError::UnknownDialect(_)
            | StoredRunError::Unwritable(_)
            | StoredRunError::NotStale(_)
            | StoredRunError::UnknownStep { near: None, .. }
            | StoredRunError::AmbiguousStep { .. }
            | StoredRunError::Twice(_) => explained,
        }
    }
}
