//! The only room that reads environment variables.

use std::path::PathBuf;

/// The environment variable `name`, if it is set to text.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the room that owns the environment"
)]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The folder of the user's settings: `$XDG_CONFIG_HOME/planwright`, else `~/.config/planwright`.
pub(crate) fn settings_folder() -> Option<PathBuf> {
    let base = variable("XDG_CONFIG_HOME")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(variable("HOME")?).join(".config")))?;
    Some(base.join("planwright"))
}
