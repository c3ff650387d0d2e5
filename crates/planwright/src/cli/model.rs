//! Opens the model that a command asks.

use std::path::Path;
use std::sync::Arc;

use planwright::config::Config;
use planwright::planner::model::{Model, Replay};

use super::args::ModelArguments;
use super::error::CommandError;

/// The name of the model, where one is named.
pub(crate) fn name(arguments: &ModelArguments, _config: &Config) -> Option<String> {
    arguments.model.clone()
}

/// The model that the arguments name.
pub(crate) fn open(
    arguments: &ModelArguments,
    _config: &Config,
) -> Result<Arc<dyn Model>, CommandError> {
    let Some(name) = &arguments.model else {
        return Err(
            CommandError::new("no model was named").hint("name one with --model PROVIDER:NAME")
        );
    };
    let Some(path) = name.strip_prefix("replay:") else {
        return Err(
            CommandError::new(format!("there is no provider for `{name}`"))
                .hint("write it as --model replay:FILE"),
        );
    };
    let path = Path::new(path);
    let text =
        std::fs::read_to_string(path).map_err(|error| CommandError::unreadable(path, &error))?;
    let replay = Replay::read(name, &text).map_err(|error| {
        CommandError::new(format!(
            "`{}` is no script of answers: {error}",
            path.display()
        ))
        .hint(
            "write it as a JSON list: a text for each answer, or {\"text\", \"calls\", \"usage\"}",
        )
    })?;
    Ok(Arc::new(replay))
}
