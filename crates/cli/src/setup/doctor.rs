//! `planwright doctor`: what commands here depend on, each with its state: configuration, store, servers, model.

use std::path::Path;

use planwright::config::Config;
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
use crate::tools::toolbox::{connect_options, find_servers_file};
use crate::tools::trust;
use crate::view::output;
use crate::view::printer::{BAD, BOLD, DIM, GOOD, Printer, counted, styled};

/// The state of one part.
enum State {
    /// The part works.
    Good(String),
    /// The part is not there, which only some commands need.
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
        .all(|(_, state)| !matches!(state, State::Bad(_)));
    match arguments.listing.format {
        Format::Json => {
            let checks = parts.iter().map(|(part, state)| described(part, state));
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

fn described(part: &'static str, state: &State) -> DoctorCheckV1 {
    let (status, message, hints) = match state {
        State::Good(message) => ("good", message.clone(), Vec::new()),
        State::Absent(message) => ("absent", message.clone(), Vec::new()),
        State::Bad(error) => ("bad", error.to_string(), error.hints().to_vec()),
    };
    DoctorCheckV1 {
        part,
        status,
        message,
        hints,
    }
}

fn print(part: &str, state: &State, printer: Printer) {
    let (mark, message) = match state {
        State::Good(message) => (styled(GOOD, "✓"), message.clone()),
        State::Absent(message) => (styled(DIM, "–"), message.clone()),
        State::Bad(error) => (styled(BAD, "✗"), error.to_string()),
    };
    let part = styled(BOLD, format!("{part:13}"));
    let message = terminal_text::one_line(&message);
    printer.data_line(&format!("{mark} {part}  {message}"));
    if let State::Bad(error) = state {
        for hint in error.hints() {
            let hint = terminal_text::one_line(hint);
            printer.data_line(&format!("                 hint: {hint}"));
        }
    }
}

fn program() -> State {
    State::Good(format!(
        "planwright {} on {} {}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH
    ))
}

/// The files of the configuration, and the configuration, which is that without files if they cannot be used.
fn configuration() -> (State, Config) {
    match settings::load(Path::new(".")) {
        Ok(Settings { files, config }) if files.is_empty() => (
            State::Absent("no planwright.toml: the defaults apply".to_owned()),
            config,
        ),
        Ok(Settings { files, config }) => {
            let files: Vec<String> = files
                .iter()
                .map(|(_, path)| format!("`{}`", path.display()))
                .collect();
            (State::Good(files.join(", ")), config)
        }
        Err(error) => (State::Bad(error), Config::default()),
    }
}

fn stored_runs(arguments: &DoctorArguments) -> State {
    match store::open_if_there(&arguments.store) {
        Ok(None) => State::Absent("no run is stored yet".to_owned()),
        Ok(Some(store)) => {
            let path = store.path().display().to_string();
            let writable = store.writable_by_others();
            if let Some(open) = writable.first() {
                let open = open.display();
                return State::Bad(
                    CommandError::new(format!("others can write to `{open}`"))
                        .hint(format!("`chmod go-w {open}`")),
                );
            }
            match store.runs(&RunFilter::default()) {
                Ok(runs) => State::Good(format!("{} in `{path}`", counted(runs.len(), "run"))),
                Err(error) => State::Bad(store::explain(error)),
            }
        }
        Err(error) => State::Bad(error),
    }
}

/// The file of servers, and each of its servers, started.
async fn servers(arguments: &DoctorArguments) -> Vec<State> {
    let file = &arguments.listing.file;
    let (path, text) = match find_servers_file(&file.tools()) {
        Ok(Some(found)) => found,
        Ok(None) => {
            return vec![State::Absent(
                "no `mcp.json` here or above, nor in your settings".to_owned(),
            )];
        }
        Err(error) => return vec![State::Bad(error)],
    };
    let name = path.display().to_string();
    if file.servers.is_none() && !trust::is_trusted(&path, &text) {
        return vec![State::Bad(trust::distrust(&path, &text))];
    }
    let config = match ServersConfig::parse(&text, &name, &environment::variable) {
        Ok((config, _)) => config,
        Err(error) => {
            let help = error.help.clone();
            return vec![State::Bad(CommandError::new(error.to_string()).hint(help))];
        }
    };
    let connections = Connections::connect(&config, connect_options()).await;
    let mut states = vec![State::Good(format!(
        "{} of {} in `{name}` started, with {}",
        connections.servers().count(),
        counted(config.names().count(), "server"),
        counted(connections.tools().len(), "tool")
    ))];
    states.extend(connections.failures().iter().map(|failure| {
        State::Bad(CommandError::new(failure.message.clone()).hint(failure.help.clone()))
    }));
    connections.shutdown().await;
    states
}

fn chosen_model(config: &Config) -> State {
    let arguments = ModelArguments::default();
    match model::name(&arguments, config) {
        None => {
            State::Absent("no model is named: only commands that write plans need one".to_owned())
        }
        Some(name) => match model::open(&arguments, config) {
            Ok(_) => State::Good(format!("`{name}` (not asked)")),
            Err(error) => State::Bad(error),
        },
    }
}
