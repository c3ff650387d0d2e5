//! The run that a person names: by its id, by the beginning of it, or by its position among the newest runs of the project.

use std::path::PathBuf;

use planwright::format::RunV1;
use planwright_store::{RunFilter, RunInfo, Store};

use super::store::explain;
use crate::error::{CommandError, reason};
use crate::view::printer::counted;

/// The selector of the newest run of the project.
pub(crate) const NEWEST: &str = "@1";

/// Returns the run that `selector` names: an id, or the beginning of the only id that begins with it; `last` or `@1` for the newest run of
/// the project, `@2` for the one before, and so on. Without a selector, it is the newest.
pub(crate) fn find_run(store: &Store, selector: Option<&str>) -> Result<RunInfo, CommandError> {
    let selector = selector.unwrap_or(NEWEST);
    let Some(position) = position(selector) else {
        return store.run(selector).map_err(explain);
    };
    // An id that a program chose may look like a position.
    match store.run(selector) {
        Ok(run) if run.id == selector => Ok(run),
        Ok(_) | Err(_) => newest(store, position),
    }
}

/// Parses a position among the newest runs, from 1; `None` if the text is not one.
pub(crate) fn position(text: &str) -> Option<usize> {
    if text == "last" {
        return Some(1);
    }
    let position = text.strip_prefix('@')?.parse().ok()?;
    (0 < position).then_some(position)
}

/// Returns the run at a position among the newest of the project. Runs that were imported or begun elsewhere do not count, because a short
/// name must not select a run about other files.
fn newest(store: &Store, position: usize) -> Result<RunInfo, CommandError> {
    let project = project_folder()?;
    let mut count = 0;
    for run in store.runs(&RunFilter::default()).map_err(explain)? {
        let header = store.header(run.id.as_str()).map_err(explain)?;
        // A run of another version of the program can still be named by its id.
        let Ok(header) = RunV1::from_value(&header) else {
            continue;
        };
        let is_here = PathBuf::from(header.tools.folder).starts_with(&project);
        if is_here && run.imported.is_none() {
            count += 1;
            if count == position {
                return Ok(run);
            }
        }
    }
    let project = project.display();
    let error = CommandError::new(match count {
        0 => format!("no run of `{project}` is stored"),
        _ => format!(
            "there is no `@{position}`: `{project}` has {}",
            counted(count, "stored run")
        ),
    });
    Err(error.hint("`planwright runs` lists the runs of all folders"))
}

/// The folder of the repository around the working folder; without one, the working folder.
fn project_folder() -> Result<PathBuf, CommandError> {
    let here = std::env::current_dir().map_err(|error| {
        CommandError::new(format!(
            "cannot determine the working folder: {}",
            reason(&error)
        ))
    })?;
    let mut folders = here.ancestors();
    let repository = folders.find(|folder| folder.join(".git").exists());
    Ok(repository.unwrap_or(&here).to_owned())
}

#[cfg(test)]
mod tests {
    use super::position;

    #[test]
    fn positions_are_read() {
        for (text, expected) in [
            ("last", Some(1)),
            ("@1", Some(1)),
            ("@12", Some(12)),
            ("@0", None),
            ("@", None),
            ("@x", None),
            ("@-1", None),
            ("1", None),
            ("lasting", None),
            ("", None),
        ] {
            assert_eq!(position(text), expected, "{text}");
        }
    }
}
