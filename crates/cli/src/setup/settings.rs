//! The configuration files of a command, and `planwright config`.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use planwright::config::{Config, ConfigSource, Origin};
use planwright::core::Value;
use planwright::format::{ConfigFileV1, ConfigV1};
use planwright::terminal_text;

use crate::args::{ConfigArguments, Format, RunFormat};
use crate::error::{CommandError, Exit, reason};
use crate::system::{environment, text_file};
use crate::view::output;
use crate::view::printer::Printer;

const NAME: &str = "planwright.toml";

/// The effective configuration, and its files.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) config: Config,
    pub(crate) files: Vec<(Origin, PathBuf)>,
}

/// Reads the user's file and that of the project around `folder`, if they exist.
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

/// `planwright config`
pub(crate) fn command(arguments: &ConfigArguments, printer: Printer) -> Result<Exit, CommandError> {
    let settings = load(Path::new("."))?;
    match arguments.format {
        Format::Json => output::json(&report(&settings), RunFormat::Json, printer)?,
        Format::Text => printer.data(&text(&report(&settings))),
    }
    Ok(Exit::Success)
}

fn report(settings: &Settings) -> ConfigV1 {
    let files = settings.files.iter().map(|(origin, path)| ConfigFileV1 {
        origin: match origin {
            Origin::User => "user",
            Origin::Project => "project",
        },
        path: path.display().to_string(),
    });
    let holding = settings.config.settings();
    ConfigV1::new(files, holding)
}

/// Formats the files, then a line for each setting: key, value, origin.
fn text(report: &ConfigV1) -> String {
    let mut text = String::new();
    for file in &report.files {
        let _ = writeln!(
            text,
            "{:8} {}",
            file.origin,
            terminal_text::one_line(&file.path)
        );
    }
    if report.files.is_empty() {
        text += "no planwright.toml here, nor in the folder of your settings\n";
    }
    text.push('\n');
    let lines: Vec<[String; 3]> = report
        .settings
        .iter()
        .map(|setting| {
            [&*setting.key, &shown(&setting.value), &*setting.set_in]
                .map(|part| terminal_text::one_line(part).into_owned())
        })
        .collect();
    let width = |column: usize| {
        let widths = lines.iter().map(|line| terminal_text::width(&line[column]));
        widths.max().unwrap_or(0)
    };
    let (keys, values) = (width(0), width(1));
    for [key, value, place] in &lines {
        let key = terminal_text::padded(key, keys);
        let _ = writeln!(
            text,
            "{key}  {}  {place}",
            terminal_text::padded(value, values)
        );
    }
    text
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Text(text) => text.to_string(),
        Value::List(items) if items.is_empty() => "nothing".to_owned(),
        other => other.to_json(),
    }
}
