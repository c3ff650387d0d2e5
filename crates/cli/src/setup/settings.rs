//! The configuration files of a command; `planwright config`; and `planwright init`, which writes the first files.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use planwright::config::{Config, ConfigSource, Origin};
use planwright::core::Value;
use planwright::format::{ConfigFileV1, ConfigV1, InitV1};
use planwright::terminal_text;

use crate::args::{ConfigArguments, Format, InitArguments, RunFormat};
use crate::error::{CommandError, Exit, reason};
use crate::system::environment;
use crate::system::text_file::{self, may_write, write};
use crate::tools::trust;
use crate::view::output;
use crate::view::printer::Printer;

const NAME: &str = "planwright.toml";

/// The names of files with servers.
pub(crate) const SERVER_FILES: [&str; 2] = ["mcp.json", ".mcp.json"];

/// The maximum number of problems of a file that are shown.
const MAX_PROBLEMS: usize = 5;

/// The effective configuration, and its files.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) config: Config,
    pub(crate) files: Vec<(Origin, PathBuf)>,
}

/// The paths at which [`load`] looks for files of settings.
pub(crate) fn candidates(folder: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let folders = project_folders(folder)?.into_iter();
    let folders = folders.chain(environment::settings_folder());
    Ok(folders.map(|folder| folder.join(NAME)).collect())
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

/// The nearest file from a folder upwards. The search ends at the folder of a repository. A link that leads nowhere counts, so that it is
/// reported instead of another file being used in its place.
fn project_file(from: &Path) -> Result<Option<PathBuf>, CommandError> {
    let folders = project_folders(from)?;
    let files = folders.into_iter().map(|folder| folder.join(NAME));
    Ok(files
        .into_iter()
        .find(|path| path.symlink_metadata().is_ok()))
}

/// The folders that a project's files may be in: a folder and those above it, up to that of a repository. The first one is an empty path if
/// it is the working folder, so that messages have short paths.
pub(crate) fn project_folders(from: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let from = if from.as_os_str().is_empty() {
        Path::new(".")
    } else {
        from
    };
    let here = std::path::absolute(from).map_err(|error| {
        CommandError::new(format!(
            "cannot determine the working folder: {}",
            reason(&error)
        ))
    })?;
    let is_working = std::env::current_dir().is_ok_and(|working| working == here);
    let mut folders = Vec::new();
    for folder in here.ancestors() {
        folders.push(folder.to_owned());
        if folder.join(".git").exists() {
            break;
        }
    }
    if let (true, Some(first)) = (is_working, folders.first_mut()) {
        *first = PathBuf::new();
    }
    Ok(folders)
}

fn is_same(path: &Path, other: Option<&Path>) -> bool {
    match (path.canonicalize(), other.map(Path::canonicalize)) {
        (Ok(path), Some(Ok(other))) => path == other,
        _ => false,
    }
}

fn read(origin: Origin, path: &Path) -> Result<Option<ConfigSource>, CommandError> {
    // A link that leads nowhere is an error and not a missing file: its rules would be lost.
    if let Err(error) = path.symlink_metadata()
        && error.kind() == ErrorKind::NotFound
    {
        return Ok(None);
    }
    let text =
        text_file::read_found(path).map_err(|error| CommandError::unreadable(path, &error))?;
    let name = path.display().to_string();
    ConfigSource::read(origin, &name, &text)
        .map(Some)
        .map_err(|problems| {
            let mut error = CommandError::new(format!("`{name}` cannot be used"));
            // Another kind of file has a problem in each line.
            let more = problems.len().saturating_sub(MAX_PROBLEMS);
            for problem in problems.into_iter().take(MAX_PROBLEMS) {
                let line = problem.line;
                error = error.hint(format!(
                    "line {line}: {}; {}",
                    problem.message, problem.help
                ));
            }
            match more {
                0 => error,
                1 => error.hint("1 more problem"),
                more => error.hint(format!("{more} more problems")),
            }
        })
}

/// `planwright config`
pub(crate) fn command(arguments: &ConfigArguments, printer: Printer) -> Result<Exit, CommandError> {
    let settings = load(Path::new("."))?;
    match arguments.format {
        Format::Json => output::json(&report(&settings), RunFormat::Json, printer)?,
        Format::Text => printer.pages(&text(&report(&settings))),
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
    let in_force = settings.config.settings();
    ConfigV1::new(files, in_force)
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

/// A configuration without settings, which shows all settings in comments.
const SETTINGS: &str = include_str!("init/planwright.toml");

/// A list of no servers.
const SERVERS: &str = include_str!("init/mcp.json");

/// `planwright init`
pub(crate) fn init(arguments: &InitArguments, printer: Printer) -> Result<Exit, CommandError> {
    let folder = &arguments.folder;
    let at = |name: &str| {
        if folder == Path::new(".") {
            name.into()
        } else {
            folder.join(name)
        }
    };
    let shown = |name: &str| at(name).display().to_string();
    let settings = at("planwright.toml");
    // The command takes a folder, so the advice about files would lead astray.
    if !arguments.force && settings.is_file() {
        let error = format!("`{}` already exists", settings.display());
        return Err(
            CommandError::new(error).hint("name another folder, or replace the file with --force")
        );
    }
    may_write(&settings, arguments.force)?;
    text_file::create_folder(folder)?;
    write(SETTINGS, &settings, arguments.force)?;
    let mut written = vec![shown("planwright.toml")];
    let mut existing = Vec::new();
    let there = SERVER_FILES
        .iter()
        .find(|name| at(name).symlink_metadata().is_ok());
    match there {
        Some(name) => existing.push(shown(name)),
        None => {
            write(SERVERS, &at("mcp.json"), false)?;
            // The new file starts nothing, so the person who writes it may trust it.
            trust::remember(&at("mcp.json"), SERVERS)?;
            written.push(shown("mcp.json"));
        }
    }
    let report = InitV1::new(written, existing);
    match arguments.format {
        Format::Json => output::json(&report, RunFormat::Json, printer)?,
        Format::Text => {
            for file in &report.written {
                printer.data_line(&terminal_text::one_line(file));
            }
            for file in &report.existing {
                printer.quote(&format!("`{file}` already exists and was not changed"));
            }
            printer.quote(if report.existing.is_empty() {
                "  hint: `planwright servers add NAME -- COMMAND` adds a server, `planwright tools` lists its tools"
            } else {
                "  hint: `planwright servers` lists the servers, `planwright tools` their tools"
            });
        }
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use planwright::config::{Config, ConfigSource, Origin};
    use planwright::mcp::ServersConfig;

    use super::{SERVERS, SETTINGS};

    /// Uncomments the examples of a file.
    fn awake(text: &str, mark: &str) -> String {
        let lines = text.lines().map(|line| {
            let (blanks, rest) = line.split_at(line.len() - line.trim_start().len());
            let shown = rest
                .strip_prefix(mark)
                .filter(|shown| !shown.starts_with(' '));
            format!("{blanks}{}\n", shown.unwrap_or(rest))
        });
        lines.collect()
    }

    /// Returns the keys of all settings in a file.
    fn keys(origin: Origin, text: &str) -> Vec<String> {
        let source = ConfigSource::read(origin, "planwright.toml", text).unwrap();
        let settings = Config::of([&source]).settings();
        let keys = settings
            .into_iter()
            .filter(|setting| &*setting.set_in != "default");
        keys.map(|setting| setting.key).collect()
    }

    #[test]
    fn the_first_configuration_says_nothing_and_shows_what_may_be_said() {
        assert!(keys(Origin::Project, SETTINGS).is_empty());
        assert!(keys(Origin::Project, &awake(SETTINGS, "#")).len() > 15);
    }

    /// The settings that only the user's own file can have.
    const OWN: [&str; 11] = [
        "serve.oauth",
        "flow.enabled",
        "flow.trusted",
        "flow.effects",
        "approvals.passphrase",
        "tools.no_ask",
        "tools.read_only",
        "tools.idempotent",
        "tools.sharable",
        "serve.hosts",
        "serve.origins",
    ];

    #[test]
    fn the_first_configuration_shows_all_that_a_project_may_say() {
        let schema = include_str!("../../../../docs/schema/config.schema.json");
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
        let shown = keys(Origin::Project, &awake(SETTINGS, "#"));
        let mut missing = Vec::new();
        for (table, of) in schema["properties"].as_object().unwrap() {
            let Some(name) = of["$ref"].as_str().and_then(|path| path.rsplit('/').next()) else {
                continue;
            };
            // Neither the store nor telemetry nor the model is a project's affair.
            let fields = &schema["$defs"][name]["properties"];
            let fields = fields.as_object().unwrap().keys();
            for field in fields.filter(|_| !matches!(&**table, "store" | "telemetry" | "model")) {
                let key = format!("{table}.{field}");
                let inner = format!("{key}.");
                let mut shown = shown.iter();
                let is_shown = shown.any(|shown| *shown == key || shown.starts_with(&inner));
                if is_shown == OWN.contains(&&*key) {
                    missing.push(key);
                }
            }
        }
        assert_eq!(missing, <[&str; 0]>::default());
    }

    #[test]
    fn the_first_list_of_servers_is_empty_and_shows_how_they_are_written() {
        let servers = |text: &str| {
            let (config, warnings) =
                ServersConfig::parse(text, "mcp.json", &|_| Some("x".to_owned())).unwrap();
            assert!(
                warnings.is_empty() && config.unusable.is_empty(),
                "{warnings:?} {:?}",
                config.unusable
            );
            config.servers.len()
        };
        assert_eq!(servers(SERVERS), 0);
        assert_eq!(servers(&awake(SERVERS, "//")), 1);
    }
}
