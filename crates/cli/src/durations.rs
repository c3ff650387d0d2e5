//! The file of durations: read before a run, written after it.

use std::io::Write;
use std::path::Path;

use planwright::engine::Durations;
use planwright::format::{DURATIONS_SCHEMA, DurationsV1};

use super::error::{CommandError, reason};
use super::text_file;

/// Reads what is known; nothing where there is no file yet.
pub(crate) fn load(path: &Path) -> Result<Durations, CommandError> {
    let text = match text_file::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Durations::new()),
        Err(error) => return Err(CommandError::unreadable(path, &error)),
    };
    let refused = |what: String| {
        CommandError::new(format!("`{}` {what}", path.display()))
            .hint("name another file, or delete it to learn anew")
    };
    let version = serde_json::from_str::<serde_json::Value>(&text)
        .map_err(|error| refused(format!("is not JSON: {error}")))?;
    match version["schema"].as_str() {
        Some(DURATIONS_SCHEMA) => {}
        Some(other) => return Err(refused(format!("has the unknown version `{other}`"))),
        None => return Err(refused("is no file of durations".to_owned())),
    }
    let written: DurationsV1 = serde_json::from_str(&text)
        .map_err(|error| refused(format!("cannot be understood: {error}")))?;
    Ok(Durations::from(&written))
}

/// Writes what is known now. The new file takes the old one's place in one go, and only its owner can read it.
pub(crate) fn save(path: &Path, durations: &Durations) -> Result<(), CommandError> {
    let failed = |error: std::io::Error| {
        CommandError::new(format!(
            "cannot write `{}`: {}",
            path.display(),
            reason(&error)
        ))
    };
    let text = serde_json::to_string_pretty(&DurationsV1::from(durations))
        .map_err(|error| CommandError::new(format!("the durations cannot be written: {error}")))?;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut file =
        tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.write_all(b"\n").map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
