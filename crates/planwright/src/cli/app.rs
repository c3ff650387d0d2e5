//! The corridor of `run`: parse, check, run, report.

use std::path::Path;
use std::sync::Arc;

use planwright::config::Config;
use planwright::core::plan::Mode;
use planwright::engine::options::{FailurePolicy, RunOptions};
use planwright::engine::schedule::Limits;
use planwright::engine::{Approver, Engine, RunSummary, Start};
use planwright::wire::{ReportStatus, ReportV1};

use super::approvals::{Subject, approver};
use super::args::{Approve, RunArguments, RunFormat};
use super::error::CommandError;
use super::exit::Exit;
use super::live::Live;
use super::plan_file::{self, Reading};
use super::printer::Printer;
use super::settings::Settings;
use super::signals::Signals;
use super::toolbox::Toolbox;
use super::watch::{Watch, watch};
use super::{consent, durations, guards, keeping, limits, output, outside, settings, store};

/// `planwright run PLAN`
pub(crate) async fn run(arguments: &RunArguments, printer: Printer) -> Result<Exit, CommandError> {
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let mut reading = plan_file::read(&arguments.plan)?;
    reading.govern(&config);
    let mut options = options(arguments, &config)?;
    if let Some(path) = &arguments.durations {
        options.durations = durations::load(path)?;
    }
    let max_output = guards::max_output(&arguments.guards, &config);
    let needed = reading.tool_names();
    let mut signals = Signals::new()?;
    let mut toolbox = tokio::select! {
        toolbox = Toolbox::open(&arguments.tools, Some(&needed), printer) => toolbox?,
        () = signals.next() => return Ok(Exit::Interrupted),
    };
    toolbox.govern(&config);
    let checked = reading.check(&toolbox.catalog);
    let exit = match checked {
        None => rejected(&reading, &toolbox, arguments.format, printer),
        Some(plan) if arguments.dry_run || plan.plan().mode == Mode::Show => {
            output::dry_run(&plan, &reading, arguments.format, printer)
        }
        Some(plan) => {
            output::findings(&reading, arguments.format, printer);
            let live = Live::new(&plan, arguments.format, printer);
            let id = run_id();
            let store = if arguments.no_store {
                None
            } else {
                Some(store::open(&arguments.plan.text.store)?)
            };
            let mut options = RunOptions {
                secrets: toolbox.secrets(),
                confidential: outside::get(&plan, &config)?,
                ..options
            };
            if let (Some(store), None) = (&store, &arguments.durations) {
                options.durations = store.durations().map_err(store::explain)?;
            }
            let known = options.durations.clone();
            let approved = match &arguments.consent.approve {
                Approve::Plan(digest) => {
                    if !consent::to_plan(&plan, digest.as_deref(), printer)? {
                        printer.talk("the plan was not approved; nothing was called");
                        toolbox.close().await;
                        return Ok(Exit::Rejected);
                    }
                    Some(plan.digest().to_owned())
                }
                _ => None,
            };
            let mut start = Start::new(id.as_str(), plan.clone());
            if let Some(store) = &store {
                let run = keeping::begin(
                    store,
                    &id,
                    &plan,
                    &reading,
                    &arguments.tools,
                    &options.masked_texts(),
                )?;
                let mut process = keeping::process(&plan, &options);
                process.approved_plan.clone_from(&approved);
                start = start.with_journal(Arc::new(run), process.to_value());
            }
            let subject = Subject {
                toolbox: &toolbox,
                kept: store.clone().map(|store| (store, id.as_str())),
                is_approved: approved.is_some(),
                live: &live,
            };
            let session = Session {
                options,
                approver: approver(&arguments.consent, subject, printer)?,
                live: Arc::clone(&live),
                format: arguments.format,
                max_output,
                printer,
            };
            match drive(start, &toolbox, session, signals).await {
                Some(summary) => {
                    match (&arguments.durations, &store) {
                        (Some(path), _) => durations::save(path, &summary.durations)?,
                        (None, Some(store)) => keeping::learn(store, &known, &summary, printer),
                        (None, None) => {}
                    }
                    output::report(
                        &summary,
                        &reading,
                        arguments.format,
                        max_output,
                        &live,
                        printer,
                    )?;
                    Ok(keeping::end(
                        &summary,
                        !arguments.no_store,
                        arguments.format,
                        printer,
                    ))
                }
                None => {
                    keeping::left(&id, !arguments.no_store, printer);
                    return Ok(Exit::Interrupted);
                }
            }
        }
    };
    toolbox.close().await;
    exit
}

/// How a run goes about its work, who decides in it, and who watches.
pub(crate) struct Session {
    pub(crate) options: RunOptions,
    pub(crate) approver: Arc<dyn Approver>,
    pub(crate) live: Arc<Live>,
    pub(crate) format: RunFormat,
    /// The most bytes that are shown of one value.
    pub(crate) max_output: Option<u64>,
    pub(crate) printer: Printer,
}

/// Drives a run to its end; nothing comes back where the person would not wait for it.
pub(crate) async fn drive(
    start: Start,
    toolbox: &Toolbox,
    session: Session,
    signals: Signals,
) -> Option<RunSummary> {
    let engine = Engine::new(toolbox.backends.clone())
        .with_options(session.options)
        .with_approver(session.approver);
    let (handle, events) = engine.launch(start);
    let to = Watch {
        live: session.live,
        format: session.format,
        max_output: session.max_output,
        printer: session.printer,
    };
    watch(handle, events, signals, to).await
}

/// Says why a plan is not run.
pub(crate) fn rejected(
    reading: &Reading,
    toolbox: &Toolbox,
    format: RunFormat,
    printer: Printer,
) -> Result<Exit, CommandError> {
    output::findings(reading, RunFormat::Text, printer);
    for note in toolbox.notes() {
        printer.talk(&note);
    }
    match format {
        RunFormat::Text => printer.talk("the plan was rejected; nothing was called"),
        RunFormat::Json | RunFormat::Events => {
            let mut report = ReportV1::without_run(
                ReportStatus::Rejected,
                reading.dialect,
                reading.diagnostics.iter().cloned(),
            );
            report.plan.name.clone_from(&reading.name);
            output::json(&report, format, printer)?;
        }
    }
    Ok(Exit::Rejected)
}

fn options(arguments: &RunArguments, config: &Config) -> Result<RunOptions, CommandError> {
    let (per_server, servers) = limits::parse("--max-per-server", &arguments.max_per_server)?;
    let (per_tool, tools) = limits::parse("--max-per-tool", &arguments.max_per_tool)?;
    Ok(RunOptions {
        limits: Limits {
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
        guards: guards::begin(&arguments.guards, config),
        ..RunOptions::default()
    })
}

/// A random id.
pub(crate) fn run_id() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    format!("{:016x}", hasher.finish())
}
