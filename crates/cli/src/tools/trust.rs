//! Trust in `mcp.json` files that may start servers without being named: stored by content.

use std::fs;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use planwright::mcp::{ServerTransport, ServersConfig};
use planwright::terminal_text;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{CommandError, reason};
use crate::system::environment;
use crate::view::printer::Printer;

const SCHEMA: &str = "planwright.trust/1";

/// The files that are trusted, as they were.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Trusted {
    schema: String,
    files: Vec<TrustedFile>,
}

#[derive(Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct TrustedFile {
    path: PathBuf,
    sha256: String,
}

/// Returns true if a named file is trusted in its current state. The file is used either way, so if the list cannot be read, the file is
/// just not trusted.
pub(crate) fn is_trusted(path: &Path, text: &str) -> bool {
    load().is_ok_and(|trusted| trusted.files.contains(&entry(path, text)))
}

/// Returns true if the servers of a found file may be started. Asks on a terminal. If the file is `optional`, one that is not
/// trusted is skipped.
pub(crate) fn allows(
    path: &Path,
    text: &str,
    optional: bool,
    printer: Printer,
) -> Result<bool, CommandError> {
    let entry = entry(path, text);
    if load()?.files.contains(&entry) {
        return Ok(true);
    }
    let file = path.display();
    if optional {
        printer.quote(&format!(
            "note: `{file}` is not trusted, so its servers are not started (`planwright trust {file}`)"
        ));
        return Ok(false);
    }
    if Printer::is_watched()
        && let Some(yes) = ask(path, text, printer)?
    {
        if yes {
            remember(path, text)?;
            return Ok(true);
        }
        return Err(CommandError::new(format!("`{file}` is not trusted")).hint(
            "name another with `--servers FILE`, or simulate the tools with `--simulate FILE`",
        ));
    }
    Err(CommandError::new(format!(
        "`{file}` was found but is not trusted, so its servers are not started"
    ))
    .hint(format!("look at it, then run `planwright trust {file}`"))
    .hint(format!("or name it: `--servers {file}`")))
}

/// Shows the commands of the file and asks; `None` without a terminal.
fn ask(path: &Path, text: &str, printer: Printer) -> Result<Option<bool>, CommandError> {
    let file = path.display().to_string();
    let Ok(terminal) = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/tty")
    else {
        return Ok(None);
    };
    printer.quote(&format!("`{file}` was found here; it would start:"));
    for line in commands(text, &file)? {
        printer.quote(&line);
    }
    let _ = write!(&terminal, "trust it as it is now? [y/N] ");
    let mut answer = String::new();
    std::io::BufReader::new(&terminal)
        .read_line(&mut answer)
        .map_err(|error| CommandError::new(format!("no answer: {}", reason(&error))))?;
    Ok(Some(matches!(
        answer.trim().to_lowercase().as_str(),
        "y" | "yes"
    )))
}

/// Returns the commands of a file, a line for each server, without values of the environment.
pub(super) fn commands(text: &str, file: &str) -> Result<Vec<String>, CommandError> {
    let (config, _) = ServersConfig::parse(text, file, &|name| Some(format!("${{{name}}}")))
        .map_err(|error| {
            let help = error.help.clone();
            CommandError::new(error.to_string()).hint(help)
        })?;
    Ok(config
        .servers
        .iter()
        .map(|server| {
            let line = match &server.reach {
                ServerTransport::Program(program) => {
                    let args = program.args.join(" ");
                    format!("{}: {} {args}", server.name, program.command)
                }
                ServerTransport::Http(http) => format!("{}: talk to {}", server.name, http.url),
            };
            format!("  {}", terminal_text::one_line(&line))
        })
        .collect())
}

fn entry(path: &Path, text: &str) -> TrustedFile {
    let sha256 = Sha256::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<Vec<String>>()
        .concat();
    TrustedFile {
        path: absolute(path),
        sha256,
    }
}

fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

pub(super) fn remember(path: &Path, text: &str) -> Result<(), CommandError> {
    let entry = entry(path, text);
    change(|trusted| {
        trusted.files.retain(|file| file.path != entry.path);
        trusted.files.push(entry);
    })
}

fn trust_file() -> Result<PathBuf, CommandError> {
    let folder = environment::settings_folder().ok_or_else(|| {
        CommandError::new("there is no folder for settings").hint("set HOME or XDG_CONFIG_HOME")
    })?;
    Ok(folder.join("trusted.json"))
}

fn load() -> Result<Trusted, CommandError> {
    let path = trust_file()?;
    let nothing = Trusted {
        schema: SCHEMA.to_owned(),
        files: Vec::new(),
    };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(nothing),
        Err(error) => return Err(CommandError::unreadable(&path, &error)),
    };
    let unreadable = |what: String| {
        CommandError::new(format!("`{}` {what}", path.display()))
            .hint("delete it to trust nothing, then trust what you need again")
    };
    let trusted: Trusted = serde_json::from_str(&text)
        .map_err(|error| unreadable(format!("cannot be understood: {error}")))?;
    if trusted.schema != SCHEMA {
        return Err(unreadable(format!(
            "has the unknown version `{}`",
            trusted.schema
        )));
    }
    Ok(trusted)
}

fn change<T>(change: impl FnOnce(&mut Trusted) -> T) -> Result<T, CommandError> {
    let mut trusted = load()?;
    let result = change(&mut trusted);
    let path = trust_file()?;
    let failed = |error: std::io::Error| {
        CommandError::new(format!(
            "cannot write `{}`: {}",
            path.display(),
            reason(&error)
        ))
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let text = serde_json::to_string_pretty(&trusted)
        .map_err(|error| CommandError::new(format!("cannot write the trusted files: {error}")))?;
    // A temporary file is readable by its owner alone, and takes the old one's place in one go.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok(result)
}

/// Removes a file from the trusted ones; false if it was not among them.
pub(super) fn forget(path: &Path) -> Result<bool, CommandError> {
    change(|trusted| {
        let absolute = absolute(path);
        let before = trusted.files.len();
        trusted.files.retain(|file| file.path != absolute);
        before != trusted.files.len()
    })
}
