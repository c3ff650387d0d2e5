//! Logging for debugging, to standard error.

use std::str::FromStr;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::environment;
use super::error::CommandError;

/// The variable that says what is logged, where the flag does not.
const VARIABLE: &str = "PLANWRIGHT_LOG";

/// Logs what `wanted` says, else what the environment says, else what is `usual`; nothing where none of them says anything.
pub(crate) fn start(wanted: Option<&str>, usual: Option<&str>) -> Result<(), CommandError> {
    let variable = environment::variable(VARIABLE).filter(|text| !text.is_empty());
    let Some(text) = wanted.or(variable.as_deref()).or(usual) else {
        return Ok(());
    };
    let targets = Targets::from_str(text).map_err(|_| {
        CommandError::new(format!("`{text}` does not say what to log"))
            .hint("write a level (error, warn, info, debug, trace), or parts with levels: `warn,planwright=debug`")
    })?;
    let lines = layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(true);
    // A program that embeds this as a library may have set a logger already.
    let _ = tracing_subscriber::registry()
        .with(lines)
        .with(targets)
        .try_init();
    Ok(())
}
