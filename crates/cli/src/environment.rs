//! The only room that reads environment variables.

use std::path::PathBuf;

use jiff::tz::TimeZone;
use planwright::planner::dates::Zone;

use super::error::CommandError;

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
    let said = variable("TZ");
    match (TimeZone::try_system(), said) {
        (Ok(zone), _) => Ok(Zone::from(zone)),
        (Err(_), None) => Ok(Zone::utc()),
        (Err(_), Some(said)) => Err(CommandError::new(format!(
            "`TZ` is `{said}`, which is no time zone that is known"
        ))
        .hint("name one: `--tz Europe/Berlin`")),
    }
}
