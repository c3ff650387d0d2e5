//! Finds the `planwright.toml` files that hold here.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use planwright::config::{Config, ConfigSource, Origin};

use super::environment;
use super::error::{CommandError, reason};
use super::text_file;

const NAME: &str = "planwright.toml";

/// The effective configuration, and its files.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) config: Config,
    pub(crate) files: Vec<(Origin, PathBuf)>,
}

/// Reads the user's file and that of the project around `folder`, where there are any.
pub(crate) fn load(folder: &Path) -> Result<Settings, CommandError> {
    let user = environment::settings_folder().map(|folder| folder.join(NAME));
    let project = project_file(folder)?.filter(|path| !is_same(path, user.as_deref()));
    let places = user
        .map(|path| (Origin::User, path))
        .into_iter()
        .chain(project.map(|path| (Origin::Project, path)));
    let mut sources = Vec::new();
    let mut files = Vec::new();
    for (origin, path) in places {
        if let Some(source) = read(origin, &path)? {
            sources.push(source);
            files.push((origin, path));
        }
    }
    Ok(Settings {
        config: Config::of(&sources),
        files,
    })
}

/// Reads the user's own file alone.
pub(crate) fn own() -> Result<Config, CommandError> {
    let path = environment::settings_folder().map(|folder| folder.join(NAME));
    let source = path.map(|path| read(Origin::User, &path)).transpose()?;
    Ok(Config::of(source.flatten().iter()))
}

/// The nearest file from a folder upwards, no further than the folder of a repository.
fn project_file(from: &Path) -> Result<Option<PathBuf>, CommandError> {
    let here = std::path::absolute(from).map_err(|error| {
        CommandError::new(format!(
            "cannot tell the working folder: {}",
            reason(&error)
        ))
    })?;
    let is_working = std::env::current_dir().is_ok_and(|working| working == here);
    for folder in here.ancestors() {
        let path = folder.join(NAME);
        if path.is_file() {
            // The short name is the one that people know it by.
            let is_here = is_working && folder == here;
            return Ok(Some(if is_here { PathBuf::from(NAME) } else { path }));
        }
        if folder.join(".git").exists() {
            break;
        }
    }
    Ok(None)
}

fn is_same(path: &Path, other: Option<&Path>) -> bool {
    match (path.canonicalize(), other.map(Path::canonicalize)) {
        (Ok(path), Some(Ok(other))) => path == other,
        _ => false,
    }
}

fn read(origin: Origin, path: &Path) -> Result<Option<ConfigSource>, CommandError> {
    let text = match text_file::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CommandError::unreadable(path, &error)),
    };
    let name = path.display().to_string();
    ConfigSource::read(origin, &name, &text)
        .map(Some)
        .map_err(|faults| {
            let mut error = CommandError::new(format!("`{name}` cannot be used"));
            for fault in faults {
                let line = fault.line;
                error = error.hint(format!("line {line}: {}; {}", fault.message, fault.help));
            }
            error
        })
}
