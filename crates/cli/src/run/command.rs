//! The corridor of `run`: parse, check, run, report.

use std::path::Path;

use planwright::config::Config;
use planwright::core::check::Policy;
use planwright::core::plan::Mode;
use planwright::engine::SecretValues;
use planwright::engine::options::{FailurePolicy, RunOptions};
use planwright::engine::schedule::ConcurrencyLimits;
use planwright::format::{ReportStatus, ReportV1};
use planwright::loaded_plan::LoadedPlan;
use planwright::service::random_id;
use planwright::stored;

use super::plan_file;
use super::session::{RunSession, approved};
use crate::args::{RunArguments, RunFormat};
use crate::error::{CommandError, Exit};
use crate::runs::store;
use crate::setup::settings::{self, Settings};
use crate::system::signals::Signals;
use crate::system::{environment, telemetry};
use crate::tools::limits;
use crate::tools::toolbox::Toolbox;
use crate::view::output;
use crate::view::printer::Printer;

/// `planwright run PLAN`
pub(crate) async fn run(arguments: &RunArguments, printer: Printer) -> Result<Exit, CommandError> {
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let config = arguments.flow.apply(config);
    let telemetry = telemetry::open(&config)?;
    let loaded = plan_file::read(&arguments.plan)?;
    let mut options = options(arguments, &config)?;
    if let Some(path) = &arguments.durations {
        options.durations = store::load(path)?;
    }
    let max_output = limits::max_output(&arguments.guards, &config);
    let needed = loaded.tool_names();
    let mut signals = Signals::new()?;
    let mut toolbox = tokio::select! {
        toolbox = Toolbox::open(&arguments.tools, Some(&needed), printer) => toolbox?,
        () = signals.next() => return Ok(Exit::Interrupted),
    };
    let mut store = None;
    if !arguments.no_store && toolbox.has_pins(&config) {
        store = Some(store::open(&arguments.plan.text.store, printer)?);
    }
    toolbox.open_extraction(&arguments.adapt.model, &config);
    toolbox.apply_config(&config, store.as_ref(), printer)?;
    if let Err(error) = limits::known(&options.limits, &toolbox) {
        toolbox.close().await;
        return Err(error);
    }
    let (checked, loaded) = loaded.check(&toolbox.catalog, &config.restrict(Policy::new()));
    let exit = match checked {
        None => rejected(&loaded, &toolbox, arguments.format, printer),
        Some(plan) => {
            let is_dry = arguments.dry_run || plan.plan().mode == Mode::Show;
            if is_dry {
                store = None;
            } else if store.is_none() && !arguments.no_store {
                store = Some(store::open(&arguments.plan.text.store, printer)?);
            }
            let mut options = RunOptions {
                secrets: toolbox.secrets(),
                secret_values: if is_dry {
                    SecretValues::masked()
                } else {
                    environment::get(&plan, &config)?
                },
                seal_key: store::seal_key(store.as_ref())?,
                ..options
            };
            if let (Some(store), None) = (&store, &arguments.durations) {
                options.durations = store.durations().map_err(store::explain)?;
            }
            if is_dry {
                let consent = stored::plan_consent(&plan, &options);
                let exit = output::dry_run(&plan, &consent, &loaded, arguments.format, printer);
                toolbox.close().await;
                return exit;
            }
            output::diagnostics(&loaded, arguments.format, printer);
            let Some(approved) =
                approved(&arguments.consent, &plan, &options, store.as_ref(), printer)?
            else {
                toolbox.close().await;
                return Ok(Exit::Rejected);
            };
            let id = random_id();
            let session = RunSession {
                id: &id,
                plan: &plan,
                loaded: &loaded,
                toolbox: &toolbox,
                service: toolbox.service(&config, &telemetry),
                store: store.as_ref(),
                durations: arguments.durations.as_deref(),
                consent: &arguments.consent,
                format: arguments.format,
                max_output,
                printer,
                telemetry,
                adapting: arguments.adapt.open(&config)?,
                revisions: Vec::new(),
            };
            let leg = session.first_leg(&arguments.tools, options, approved)?;
            return session.drive(leg, signals).await;
        }
    };
    toolbox.close().await;
    exit
}

/// Reports why a plan is not run.
pub(crate) fn rejected(
    loaded: &LoadedPlan,
    toolbox: &Toolbox,
    format: RunFormat,
    printer: Printer,
) -> Result<Exit, CommandError> {
    output::diagnostics(loaded, RunFormat::Text, printer);
    for note in toolbox.notes_on(&loaded.diagnostics) {
        printer.status(&note);
    }
    match format {
        RunFormat::Text => printer.status("the plan was rejected; nothing was called"),
        RunFormat::Json | RunFormat::Events => {
            let mut report = ReportV1::without_run(
                ReportStatus::Rejected,
                loaded.dialect,
                loaded.diagnostics.iter().cloned(),
            );
            report.plan.name.clone_from(&loaded.name);
            output::json(&report, format, printer)?;
        }
    }
    Ok(Exit::Rejected)
}

fn options(arguments: &RunArguments, config: &Config) -> Result<RunOptions, CommandError> {
    let (per_server, servers) = limits::parse("--max-per-server", &arguments.max_per_server)?;
    let (per_tool, tools) = limits::parse("--max-per-tool", &arguments.max_per_tool)?;
    let base = RunOptions {
        limits: ConcurrencyLimits {
            total: arguments.max_parallel,
            per_server,
            servers,
            per_tool,
            tools,
        },
        attempts: arguments.attempts,
        retry_delay: arguments.retry_delay,
        attempt_timeout: Some(arguments.timeout),
        step_timeout: arguments.step_timeout,
        on_failure: if arguments.fail_fast {
            FailurePolicy::Stop
        } else {
            FailurePolicy::AsPlan
        },
        max_tasks: arguments.max_tasks,
        ..RunOptions::default()
    };
    Ok(limits::overrides(&arguments.guards, base).options(config))
}
