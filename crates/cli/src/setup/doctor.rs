//! `planwright doctor`: the state of each part that commands depend on: configuration, store, servers, model.

use std::path::Path;

use planwright::config::Config;
use planwright::core::Tool;
use planwright::format::{DoctorCheckV1, DoctorV1};
use planwright::mcp::{Connections, ServersConfig};
use planwright::terminal_text;
use planwright_store::RunFilter;

use super::settings::{self, Settings};
use crate::args::{DoctorArguments, Format, ModelArguments, RunFormat};
use crate::error::{CommandError, Exit};
use crate::planning::model;
use crate::runs::store;
use crate::system::environment;
use crate::tools::open_servers::connect_options;
use crate::tools::toolbox::find_servers_file;
use crate::tools::trust;
use crate::view::output;
use crate::view::printer::{BAD, BOLD, DIM, GOOD, Printer, counted, styled};

/// The maximum number of tools without a description that are named.
const MAX_UNDESCRIBED: usize = 5;

/// The state of one part.
enum PartState {
    /// The part works.
    Good(String),
    /// The part is missing, but only some commands need it.
    Absent(String),
    /// The part does not work.
    Bad(CommandError),
}

/// `planwright doctor`
pub(crate) async fn doctor(
    arguments: &DoctorArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let (configuration, config) = configuration();
    let mut parts = vec![
        ("program", program()),
        ("configuration", configuration),
        ("store", stored_runs(arguments)),
    ];
    let servers = servers(arguments).await;
    parts.extend(servers.into_iter().map(|state| ("servers", state)));
    parts.push(("model", chosen_model(&config)));
    let is_well = parts
        .iter()
        .all(|(_, state)| !matches!(state, PartState::Bad(_)));
    match arguments.listing.format {
        Format::Json => {
            let checks = parts.iter().map(|(part, state)| describe_part(part, state));
            let report = DoctorV1::new(checks.collect());
            output::json(&report, RunFormat::Json, printer)?;
        }
        Format::Text => {
            for (part, state) in &parts {
                print(part, state, printer);
            }
        }
    }
    Ok(if is_well { Exit::Success } else { Exit::Failed })
}

fn describe_part(part: &'static str, state: &PartState) -> DoctorCheckV1 {
    let (status, message, hints) = match state {
        PartState::Good(message) => ("good", message.clone(), Vec::new()),
        PartState::Absent(message) => ("absent", message.clone(), Vec::new()),
        PartState::Bad(error) => ("bad", error.to_string(), error.hints().to_vec()),
    };
    DoctorCheckV1 {
        part,
        status,
        message,
        hints,
    }
}

fn print(part: &str, state: &PartState, printer: Printer) {
    let (mark, message) = match state {
        PartState::Good(message) => (styled(GOOD, "✓"), message.clone()),
        PartState::Absent(message) => (styled(DIM, "–"), message.clone()),
        PartState::Bad(error) => (styled(BAD, "✗"), error.to_string()),
    };
    let part = styled(BOLD, format!("{part:13}"));
    let message = terminal_text::one_line(&message);
    printer.data_line(&format!("{mark} {part}  {message}"));
    if let PartState::Bad(error) = state {
        for hint in error.hints() {
            let hint = terminal_text::one_line(hint);
            printer.data_line(&format!("                 hint: {hint}"));
        }
    }
}

fn program() -> PartState {
    PartState::Good(format!(
        "planwright {} on {} {}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH
    ))
}

/// Returns the state of the files of the configuration, and the configuration. If the files cannot be used, it is the default one.
fn configuration() -> (PartState, Config) {
    match settings::load(Path::new(".")) {
        Ok(Settings { files, config }) if files.is_empty() => (
            PartState::Absent("no planwright.toml: the defaults apply".to_owned()),
            config,
        ),
        Ok(Settings { files, config }) => {
            let files: Vec<String> = files
                .iter()
                .map(|(_, path)| format!("`{}`", path.display()))
                .collect();
            (PartState::Good(files.join(", ")), config)
        }
        Err(error) => (PartState::Bad(error), Config::default()),
    }
}

fn stored_runs(arguments: &DoctorArguments) -> PartState {
    match store::open_existing(&arguments.store) {
        Ok(None) => PartState::Absent("no run is stored yet".to_owned()),
        Ok(Some(store)) => {
            let path = store.path().display().to_string();
            let writable = store.writable_by_others();
            if let Some(open) = writable.first() {
                let open = open.display();
                return PartState::Bad(
                    CommandError::new(format!("others can write to `{open}`"))
                        .hint(format!("`chmod go-w {}`", store::shell_word(&open))),
                );
            }
            match store.runs(&RunFilter::default()) {
                Ok(runs) => PartState::Good(format!("{} in `{path}`", counted(runs.len(), "run"))),
                Err(error) => PartState::Bad(store::explain(error)),
            }
        }
        Err(error) => PartState::Bad(error),
    }
}

/// The file of servers, and each of its servers, started.
async fn servers(arguments: &DoctorArguments) -> Vec<PartState> {
    let file = &arguments.listing.file;
    let (path, text) = match find_servers_file(&file.tools()) {
        Ok(Some(found)) => found,
        Ok(None) => {
            return vec![PartState::Absent(
                "no `mcp.json` here or above, nor in your settings".to_owned(),
            )];
        }
        Err(error) => return vec![PartState::Bad(error)],
    };
    let name = path.display().to_string();
    if file.servers.is_none() && !trust::is_trusted(&path, &text) {
        return vec![PartState::Bad(trust::distrust(&path, &text))];
    }
    let config = match ServersConfig::parse(&text, &name, &environment::variable) {
        Ok((config, _)) => config,
        Err(error) => {
            let help = error.help.clone();
            return vec![PartState::Bad(
                CommandError::new(error.to_string()).hint(help),
            )];
        }
    };
    let connections = Connections::connect(&config, connect_options()).await;
    let mut states = vec![PartState::Good(format!(
        "{} of {} in `{name}` started, with {}{}",
        connections.servers().count(),
        counted(config.names().count(), "server"),
        counted(connections.tools().len(), "tool"),
        undescribed(connections.tools())
    ))];
    states.extend(connections.failures().iter().map(|failure| {
        PartState::Bad(CommandError::new(failure.message.clone()).hint(failure.help.clone()))
    }));
    connections.shutdown().await;
    states
}

/// Names the tools without a description: a model knows no more of them than their names.
fn undescribed(tools: &[Tool]) -> String {
    let is_bare = |tool: &&Tool| {
        let description = tool.description.as_deref();
        description.is_none_or(|text| text.trim().is_empty())
    };
    let bare: Vec<String> = tools
        .iter()
        .filter(is_bare)
        .map(|tool| format!("`{}`", tool.qualified_name()))
        .collect();
    if bare.is_empty() {
        return String::new();
    }
    let more = if bare.len() > MAX_UNDESCRIBED {
        ", …"
    } else {
        ""
    };
    let named = bare.get(..MAX_UNDESCRIBED).unwrap_or(&bare).join(", ");
    format!("; {} without a description: {named}{more}", bare.len())
}

fn chosen_model(config: &Config) -> PartState {
    let arguments = ModelArguments::default();
    match model::name(&arguments, config) {
        None => PartState::Absent(
            "no model is named: only commands that write plans need one".to_owned(),
        ),
        Some(name) => match model::open(&arguments, config) {
            Ok(_) => PartState::Good(format!("`{name}` (not asked)")),
            Err(error) => PartState::Bad(error),
        },
    }
}
