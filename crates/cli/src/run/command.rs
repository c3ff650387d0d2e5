//! The command `run`: load, check, run, report.

use std::collections::BTreeSet;
use std::path::Path;

use planwright::config::Config;
use planwright::core::check::{CheckedPlan, Policy};
use planwright::core::expression::EvaluationLimits;
use planwright::core::plan::Mode;
use planwright::core::{Catalog, PlanConsent, ServerName, ToolName};
use planwright::dialects::document::nearest;
use planwright::engine::RunId;
use planwright::engine::SecretValues;
use planwright::engine::options::RunOptions;
use planwright::engine::schedule::ConcurrencyLimits;
use planwright::format::{ReportStatus, ReportV1};
use planwright::loaded_plan::LoadedPlan;
use planwright::service::run_time;
use planwright::stored;
use planwright::telemetry::Telemetry;
use planwright_store::Store;

use super::plan_file;
use super::restate;
use super::session::{ConsentOutcome, RunSession, request_plan_approval};
use crate::args::{RunArguments, RunFormat};
use crate::error::{CommandError, Exit};
use crate::runs::store;
use crate::setup::settings::{self, Settings};
use crate::system::signals::Signals;
use crate::system::{environment, telemetry};
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::Toolbox;
use crate::view::output;
use crate::view::printer::Printer;

/// `planwright run PLAN`
pub(crate) async fn run(arguments: &RunArguments, printer: Printer) -> Result<Exit, CommandError> {
    restate::check(arguments)?;
    let command = PlanCommand::open(arguments, printer)?;
    let loaded = plan_file::read(&arguments.plan)?;
    plan_file::note_shadowed_plan(&arguments.plan.text, printer);
    let needed = loaded.tool_names();
    Box::pin(command.run(&needed, |_| Ok(loaded))).await
}

/// The command with its configuration.
pub(super) struct PlanCommand<'a> {
    arguments: &'a RunArguments,
    config: Config,
    telemetry: Telemetry,
    printer: Printer,
}

/// The outcome of the preparation of a run.
enum Preparation {
    /// The run may start.
    Ready(Box<PreparedRun>),
    /// The command ends without a run.
    Ended(Exit),
}

/// A run that may start.
struct PreparedRun {
    plan: CheckedPlan,
    loaded: LoadedPlan,
    options: RunOptions,
    store: Option<Store>,
    /// The digest of the plan if a person approved it as a whole.
    approved: Option<PlanConsent>,
}

impl<'a> PlanCommand<'a> {
    /// Reads the configuration.
    pub(super) fn open(
        arguments: &'a RunArguments,
        printer: Printer,
    ) -> Result<Self, CommandError> {
        let Settings { config, .. } = settings::load(Path::new("."))?;
        let config = arguments.flow.apply(config);
        Ok(Self {
            arguments,
            telemetry: telemetry::open(&config)?,
            config,
            printer,
        })
    }

    /// Opens the tools that `needed` names, and runs the plan that `load` makes from their catalog.
    pub(super) async fn run(
        &self,
        needed: &BTreeSet<String>,
        plan: impl FnOnce(&Catalog) -> Result<LoadedPlan, CommandError>,
    ) -> Result<Exit, CommandError> {
        let options = self.options()?;
        let mut signals = Signals::new()?;
        let tools = &self.arguments.tools;
        // A worker makes the calls of a run on a workflow engine.
        let server_use = if self.arguments.dry_run || self.arguments.on.is_some() {
            ServerUse::Lists
        } else {
            ServerUse::Calls
        };
        let mut toolbox = tokio::select! {
            toolbox = Toolbox::open(tools, Some(needed), server_use, self.printer) => toolbox?,
            _ = signals.next() => return Ok(Exit::Interrupted),
        };
        let prepared =
            plan(&toolbox.catalog).and_then(|loaded| self.prepare(loaded, options, &mut toolbox));
        match prepared {
            Ok(Preparation::Ready(prepared)) => self.drive(&prepared, &toolbox, signals).await,
            Ok(Preparation::Ended(exit)) => {
                toolbox.close().await;
                Ok(exit)
            }
            Err(error) => {
                toolbox.close().await;
                Err(error)
            }
        }
    }

    /// Checks the plan against the tools, and asks for consent to it. A dry run is shown instead.
    fn prepare(
        &self,
        loaded: LoadedPlan,
        options: RunOptions,
        toolbox: &mut Toolbox,
    ) -> Result<Preparation, CommandError> {
        let (arguments, printer) = (self.arguments, self.printer);
        let open_store = || store::open(&arguments.plan.text.store, printer);
        let mut store = None;
        if !arguments.no_store && toolbox.needs_store(&self.config) {
            store = Some(open_store()?);
        }
        toolbox.open_extraction(&arguments.adapt.model, &self.config);
        toolbox.apply_config(&self.config, store.as_ref(), printer)?;
        reject_unknown_names(&options.limits, toolbox)?;
        let (checked, loaded) =
            loaded.check(&toolbox.catalog, &self.config.restrict(Policy::new()));
        let Some(plan) = checked else {
            return rejected(&loaded, toolbox, arguments.output.format, printer)
                .map(Preparation::Ended);
        };
        let is_dry = arguments.dry_run || plan.plan().mode == Mode::Show;
        if is_dry {
            // The digest of a preview does not depend on a store.
            store = None;
        } else if store.is_none() && !arguments.no_store {
            store = Some(open_store()?);
        }
        let options = self.complete(options, &plan, store.as_ref(), toolbox, is_dry)?;
        if is_dry {
            let consent = stored::plan_consent(&plan, &options);
            return output::dry_run(&plan, &consent, &loaded, arguments.output.format, printer)
                .map(Preparation::Ended);
        }
        output::diagnostics(&loaded, arguments.output.format, printer);
        let consent = &arguments.consent;
        let digest = stored::plan_consent(&plan, &options);
        let approved =
            match request_plan_approval(consent, (&plan, digest), store.as_ref(), printer)? {
                ConsentOutcome::Run(approved) => approved,
                ConsentOutcome::Refused(exit) => return Ok(Preparation::Ended(exit)),
            };
        Ok(Preparation::Ready(Box::new(PreparedRun {
            plan,
            loaded,
            options,
            store,
            approved,
        })))
    }

    /// Completes the options of a run whose plan is checked.
    fn complete(
        &self,
        options: RunOptions,
        plan: &CheckedPlan,
        store: Option<&Store>,
        toolbox: &Toolbox,
        is_dry: bool,
    ) -> Result<RunOptions, CommandError> {
        let durations = match (&self.arguments.durations, store) {
            (Some(path), _) => store::load_durations(path)?,
            (None, Some(store)) => store.durations().map_err(store::explain)?,
            (None, None) => options.durations,
        };
        Ok(RunOptions {
            secrets: toolbox.secrets(),
            secret_values: if is_dry {
                SecretValues::masked()
            } else {
                environment::get(plan, &self.config)?
            },
            seal_key: store::seal_key(store)?,
            durations,
            ..options
        })
    }

    /// Runs the plan to its end, and reports the outcome.
    async fn drive(
        &self,
        prepared: &PreparedRun,
        toolbox: &Toolbox,
        signals: Signals,
    ) -> Result<Exit, CommandError> {
        let arguments = self.arguments;
        let session = RunSession {
            id: &RunId::random(),
            plan: &prepared.plan,
            loaded: &prepared.loaded,
            toolbox,
            service: toolbox.service(&self.config, &self.telemetry),
            store: prepared.store.as_ref(),
            durations: arguments.durations.as_deref(),
            consent: &arguments.consent,
            format: arguments.output.format,
            progress: arguments.output.progress,
            drain: arguments.drain.limit,
            max_output: arguments.guards.max_output(&self.config),
            printer: self.printer,
            telemetry: self.telemetry.clone(),
            adaptation: arguments.adapt.open(&self.config)?,
            revisions: Vec::new(),
        };
        if let Some(url) = &arguments.on {
            let options = &prepared.options;
            let exit = restate::run(&session, url, &arguments.tools, options, signals).await;
            toolbox.close().await;
            return exit;
        }
        let segment = session.first_segment(
            &arguments.tools,
            prepared.options.clone(),
            prepared.approved.clone(),
        )?;
        session.run_and_report(segment, signals).await
    }

    /// The options of the run, from the configuration and the flags.
    fn options(&self) -> Result<RunOptions, CommandError> {
        let arguments = self.arguments;
        let base = RunOptions {
            evaluation: EvaluationLimits {
                now: Some(run_time()),
                ..EvaluationLimits::default()
            },
            ..arguments.engine.options()?
        };
        Ok(arguments.guards.overrides(base).options(&self.config))
    }
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

/// Rejects limits that name an unknown server or tool, since they would have no effect.
fn reject_unknown_names(limits: &ConcurrencyLimits, toolbox: &Toolbox) -> Result<(), CommandError> {
    let tools: BTreeSet<String> = toolbox
        .catalog
        .tools()
        .map(|tool| tool.qualified_name().to_string())
        .collect();
    let servers: BTreeSet<String> = toolbox
        .catalog
        .tools()
        .map(|tool| tool.server.to_string())
        .collect();
    let of_servers: Vec<&str> = limits.servers.keys().map(ServerName::as_str).collect();
    let of_tools: Vec<&str> = limits.tools.keys().map(ToolName::as_str).collect();
    for (flag, what, mut unknown, known) in [
        ("--max-per-server", "server", of_servers, &servers),
        ("--max-per-tool", "tool", of_tools, &tools),
    ] {
        unknown.retain(|name| !known.contains(*name));
        unknown.sort_unstable();
        for name in unknown {
            let error = CommandError::new(format!(
                "`{flag}` limits `{name}`, but there is no such {what}"
            ));
            let whole = known.iter().find(|known| {
                let tool = known.split_once('.').map(|(_, tool)| tool);
                tool == Some(name)
            });
            let near = nearest(name, known.iter().map(String::as_str));
            return Err(match whole.map(String::as_str).or(near) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None if what == "tool" && !name.contains('.') => {
                    error.hint("write `SERVER.TOOL=N`, or `N` for each tool")
                }
                // A tool of a server that was not started may exist.
                None if !toolbox.is_complete() => continue,
                None => error.hint("`planwright tools` lists them"),
            });
        }
    }
    Ok(())
}
