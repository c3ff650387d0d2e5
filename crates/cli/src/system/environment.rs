//! Values of the environment: folders, variables, secrets, tokens of upstream servers.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use planwright::config::{Config, ConfigPlace};
use planwright::core::check::CheckedPlan;
use planwright::engine::SecretValues;
use planwright::engine::run::MIN_SECRET_BYTES;
use planwright::mcp::Tokens;
use planwright::planner::dates::Zone;

use crate::error::{CommandError, reason};

/// The environment variable `name`, if it is set to text.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the room that owns the environment"
)]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The folder of the user's data: `$XDG_DATA_HOME/planwright`, else `~/.local/share/planwright`.
pub(crate) fn data_folder() -> Option<PathBuf> {
    let base = variable("XDG_DATA_HOME")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .or_else(|| {
            let home = variable("HOME").filter(|path| !path.is_empty())?;
            Some(PathBuf::from(home).join(".local/share"))
        })?;
    Some(base.join("planwright"))
}

/// Returns the name of this machine, as far as it is known.
pub(crate) fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| variable("HOSTNAME").or_else(|| variable("COMPUTERNAME")));
    name.unwrap_or_default().trim().to_owned()
}

/// The folder of the user's settings: `$XDG_CONFIG_HOME/planwright`, else `~/.config/planwright`.
pub(crate) fn settings_folder() -> Option<PathBuf> {
    let base = variable("XDG_CONFIG_HOME")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(variable("HOME")?).join(".config")))?;
    Some(base.join("planwright"))
}

/// Returns the local time zone: from `TZ`, else from the system, else UTC.
pub(crate) fn zone() -> Result<Zone, CommandError> {
    let zone = variable("TZ");
    match (TimeZone::try_system(), zone) {
        (Ok(zone), _) => Ok(Zone::from(zone)),
        (Err(_), None) => Ok(Zone::utc()),
        (Err(_), Some(zone)) => Err(CommandError::new(format!(
            "`TZ` is `{zone}`, which is not a known time zone"
        ))
        .hint("name one: `--tz Europe/Berlin`")),
    }
}

/// Formats a timestamp of a document, which is in UTC, in the local time zone.
pub(crate) fn local_time(timestamp: &str, format: &str) -> String {
    let zone = TimeZone::try_system().unwrap_or(TimeZone::UTC);
    match timestamp.parse::<Timestamp>() {
        Ok(moment) => moment.to_zoned(zone).strftime(format).to_string(),
        Err(_) => timestamp.to_owned(),
    }
}

/// Opens the user's file of tokens. Without a folder for it, tokens are lost when the process ends.
pub(crate) fn user_tokens() -> Tokens {
    match data_folder() {
        Some(folder) => Tokens::in_file(folder.join("server-tokens.json")),
        None => Tokens::in_memory(),
    }
}

/// Reads all external values of the plan. All missing ones are reported at once, before anything is called.
pub(crate) fn get(plan: &CheckedPlan, config: &Config) -> Result<SecretValues, CommandError> {
    let mut found = SecretValues::new();
    let mut problems = Vec::new();
    for (what, name) in plan.outside() {
        let text = config
            .place_of(what, &name)
            .ok_or_else(|| "its source is not configured".to_owned())
            .and_then(|place| read(&place));
        match text {
            Ok(text) => found = found.with(what, name, text),
            Err(problem) => problems.push(format!("`{what}.{name}`: {problem}")),
        }
    }
    if problems.is_empty() {
        return Ok(found);
    }
    let error = CommandError::new("external values of the plan are missing");
    Err(problems.into_iter().fold(error, CommandError::hint))
}

/// Reads the external values that exist, for a plan that is not written yet.
pub(crate) fn all(config: &Config) -> SecretValues {
    let mut found = SecretValues::new();
    for (what, name) in config.released_values() {
        let text = config.place_of(what, &name).map(|place| read(&place));
        if let Some(Ok(text)) = text {
            found = found.with(what, name, text);
        }
    }
    found
}

/// Reads the text at a place. An error is one clause.
pub(crate) fn read(place: &ConfigPlace) -> Result<String, String> {
    let (text, place) = match place {
        ConfigPlace::Variable(name) => {
            let place = format!("the variable `{name}`");
            let text = variable(name).ok_or_else(|| format!("{place} is not set to text"))?;
            (text, place)
        }
        ConfigPlace::File(path) => {
            let path = match settings_folder() {
                Some(folder) => folder.join(&**path),
                None => Path::new(&**path).to_owned(),
            };
            let place = format!("the file `{}`", path.display());
            let text = std::fs::read_to_string(&path)
                .map_err(|error| format!("cannot read {place}: {}", reason(&error)))?;
            (without_line_break(text), place)
        }
    };
    if text.len() < MIN_SECRET_BYTES {
        return Err(format!(
            "{place} holds fewer than {MIN_SECRET_BYTES} bytes, too few to be distinguished from other text and redacted"
        ));
    }
    Ok(text)
}

fn without_line_break(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}
