//! Models of a command: those of a provider, of a script, and recorded ones.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planwright::config::{Config, ModelSettings};
use planwright::planner::model::providers::{self, Key, Prices, ProviderSettings};
use planwright::planner::model::{Model, ModelError, RecordingModel, ScriptSink, ScriptedModel};

use crate::args::ModelArguments;
use crate::error::{CommandError, reason};
use crate::runs::store;
use crate::system::{environment, text_file};

/// The variable that names the model if no argument does.
const VARIABLE: &str = "PLANWRIGHT_MODEL";

/// Returns the name of the model: from the arguments, the environment or the configuration, in this order.
pub(crate) fn name(arguments: &ModelArguments, config: &Config) -> Option<String> {
    let variable = || environment::variable(VARIABLE).filter(|name| !name.is_empty());
    let name = arguments.model.clone().or_else(variable);
    name.or_else(|| config.model().name.as_deref().map(str::to_owned))
}

/// The model of that name.
pub(crate) fn open(
    arguments: &ModelArguments,
    config: &Config,
) -> Result<Arc<dyn Model>, CommandError> {
    let settings = config.model();
    let name = name(arguments, config).ok_or_else(no_model_named)?;
    let model: Arc<dyn Model> = match name.strip_prefix("replay:") {
        Some(path) => Arc::new(script(&name, Path::new(path))?),
        None => {
            let settings = provider(&name, arguments, settings)?;
            Arc::new(providers::open(settings).map_err(refused)?)
        }
    };
    match &arguments.record {
        Some(path) => Ok(Arc::new(RecordingModel::new(
            model,
            ScriptFile::begin(path)?,
        ))),
        None => Ok(model),
    }
}

fn no_model_named() -> CommandError {
    CommandError::new("no model is named")
        .hint(format!(
            "name one with `--model PROVIDER:NAME`, in the variable {VARIABLE}, or as `name` below `[model]` in your own \
             planwright.toml"
        ))
        .hint("such as `ollama:llama3.2` for one on this machine, or `openai:gpt-4o` with its key in OPENAI_API_KEY")
}

fn script(name: &str, path: &Path) -> Result<ScriptedModel, CommandError> {
    let text = text_file::read(path).map_err(|error| CommandError::unreadable(path, &error))?;
    ScriptedModel::read(name, &text).map_err(|error| {
        CommandError::new(format!(
            "`{}` is not a script of answers: {error}",
            path.display()
        ))
        .hint(
            "write it as a JSON list: a text for each answer, or {\"text\", \"calls\", \"usage\"}",
        )
    })
}

/// Returns the settings of a provider. The configured address, key and prices apply to the configured model only.
fn provider(
    name: &str,
    arguments: &ModelArguments,
    settings: &ModelSettings,
) -> Result<ProviderSettings, CommandError> {
    let mut provider = ProviderSettings::new(name);
    let known = settings.name.as_deref().unwrap_or(name);
    let is_known_provider = of_provider(known) == of_provider(name);
    let base_url = settings.base_url.as_deref().filter(|_| is_known_provider);
    let base_url = arguments.model_base_url.as_deref().or(base_url);
    provider.base_url = base_url.map(str::to_owned);
    let place = settings.key.as_ref().filter(|_| is_known_provider);
    let key = match place {
        Some(place) => Some(environment::read(place).map_err(|problem| {
            CommandError::new(format!("there is no key for `{name}`: {problem}"))
                .hint("look at `[model]` in your own planwright.toml")
        })?),
        None => providers::key_variable(of_provider(name)).and_then(environment::variable),
    };
    provider.key = key.filter(|key| !key.is_empty()).as_deref().map(Key::new);
    provider.temperature = arguments.temperature.or(settings.temperature);
    provider.max_tokens = settings.max_tokens;
    provider.timeout = settings.timeout.unwrap_or(provider.timeout);
    provider.attempts = settings.attempts.unwrap_or(provider.attempts);
    provider.now = Some(store::since_1970);
    provider.seed = u64::from(std::process::id());
    let prices = settings.prices.filter(|_| known == name);
    provider.prices = prices.map(|prices| Prices {
        input: prices.input,
        output: prices.output,
        cached: prices.cached,
    });
    Ok(provider)
}

fn of_provider(name: &str) -> &str {
    name.split_once(':').map_or(name, |(provider, _)| provider)
}

fn refused(error: ModelError) -> CommandError {
    let refused = CommandError::new(error.message);
    match error.help {
        Some(help) => refused.hint(help),
        None => refused,
    }
}

/// A file for a script, which only its owner can read. Each write replaces the previous script atomically.
#[derive(Debug)]
struct ScriptFile {
    path: PathBuf,
}

impl ScriptFile {
    /// Creates a file, so that an unwritable file is reported before a model is asked.
    fn begin(path: &Path) -> Result<Self, CommandError> {
        let shown = path.display();
        if path.symlink_metadata().is_ok() {
            return Err(CommandError::new(format!("`{shown}` already exists"))
                .hint("record into another file, or delete it"));
        }
        let file = Self {
            path: path.to_owned(),
        };
        file.store("[]\n").map_err(|error| {
            CommandError::new(format!("cannot write `{shown}`: {}", reason(&error)))
        })?;
        Ok(file)
    }
}

impl ScriptSink for ScriptFile {
    fn store(&self, script: &str) -> io::Result<()> {
        let folder = self.path.parent();
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        file.write_all(script.as_bytes())?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}
