//! The command `run`: load, check, run, report; and the session that it and other commands run plans with: launch, follow, adapt, report.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use planwright::config::Config;
use planwright::core::check::{CheckedPlan, Policy};
use planwright::core::expression::EvaluationLimits;
use planwright::core::plan::{Mode, OnFailure};
use planwright::core::{Catalog, PlanConsent, ServerName, ToolName};
use planwright::dialects::document::nearest;
use planwright::engine::journal::{Journal, MemoryJournal};
use planwright::engine::options::RunOptions;
use planwright::engine::schedule::ConcurrencyLimits;
use planwright::engine::{RunId, RunStatus, RunSummary, SecretValues, StampedEvent};
use planwright::format::{EventV1, ReportStatus, ReportV1, RevisionV1, Trim};
use planwright::loaded_plan::LoadedPlan;
use planwright::planner::dates::{Now, Zone};
use planwright::planner::model::{Model, Usage};
use planwright::service::{RunSpec, RunStorage, TimeLeft, run_time};
use planwright::stored::{self, NewStoredRun};
use planwright::telemetry::Telemetry;
use planwright::{Planwright, Run};
use planwright_store::{LeasedRun, Store};

use super::plan_file;
use super::restate;
use super::revert::report_revert;
use super::stopping::{CANCELLING, Reaction, Stopping};
use crate::approval::approver;
use crate::approval::approver::{ApprovalSubject, PlanAnswer, approver};
use crate::approval::passphrase::PassphraseCheck;
use crate::args::{Approve, ConsentArguments, Progress, RunArguments, RunFormat, ToolArguments};
use crate::error::{CommandError, Exit};
use crate::planning::progress;
use crate::runs::store;
use crate::setup::settings::{self, Settings};
use crate::system::signals::Signals;
use crate::system::{environment, telemetry};
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::Toolbox;
use crate::view::live::Live;
use crate::view::printer::Printer;
use crate::view::{diagnostics, output, text_report};

/// `planwright run PLAN`
pub(crate) async fn run(arguments: &RunArguments, printer: Printer) -> Result<Exit, CommandError> {
    restate::check(arguments)?;
    let command = PlanCommand::open(arguments, printer)?;
    let loaded = plan_file::read(&arguments.plan)?;
    plan_file::note_shadowed_plan(&arguments.plan.text, printer);
    let needed = needed_tools(&loaded, &command.config);
    Box::pin(command.run(&needed, |_| Ok(loaded))).await
}

/// Returns the tools that a run of the plan is checked with: those that it names, and those that the configuration has to undo their calls. If
/// the plan undoes what it did after a failure, it may call all undos of the configuration.
pub(super) fn needed_tools(loaded: &LoadedPlan, config: &Config) -> BTreeSet<String> {
    let mut needed = config.with_undo_tools(loaded.tool_names());
    let plan = loaded.plan.as_ref();
    if plan.is_some_and(|plan| plan.on_failure == OnFailure::Revert) {
        needed.extend(config.undo_tools().map(ToString::to_string));
    }
    needed
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
    /// Returns `names` with those of the tools that the configuration has to undo calls of these tools.
    pub(super) fn with_undo_tools(&self, names: BTreeSet<String>) -> BTreeSet<String> {
        self.config.with_undo_tools(names)
    }

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
            Ok(Preparation::Ready(prepared)) => {
                // Boxed, since it is larger than the rest of this future.
                Box::pin(self.drive(&prepared, &toolbox, signals)).await
            }
            Ok(Preparation::Ended(exit)) => {
                toolbox.servers.close().await;
                Ok(exit)
            }
            Err(error) => {
                toolbox.servers.close().await;
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
        diagnostics::show_for(&loaded, arguments.output.format, printer);
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
            toolbox.servers.close().await;
            return exit;
        }
        let segment = session.first_segment(
            &arguments.tools,
            prepared.options.clone(),
            prepared.approved.clone(),
        )?;
        // The future is large, and so would be that of the caller.
        Box::pin(session.run_and_report(segment, signals)).await
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
    diagnostics::show_for(loaded, RunFormat::Text, printer);
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

/// The decision about a whole plan.
pub(crate) enum ConsentOutcome {
    /// The plan may run; with its digest if a person approved the whole plan.
    Run(Option<PlanConsent>),
    /// The plan may not run: the command ends with this exit status.
    Refused(Exit),
}

/// Asks for approval of the whole plan, if `--approve` requires it. `digest` is the digest of the plan.
pub(crate) fn request_plan_approval(
    consent: &ConsentArguments,
    (plan, digest): (&CheckedPlan, PlanConsent),
    store: Option<&Store>,
    printer: Printer,
) -> Result<ConsentOutcome, CommandError> {
    let Approve::Plan(expected) = &consent.approve else {
        return Ok(ConsentOutcome::Run(None));
    };
    let passphrase = PassphraseCheck::open(store)?;
    let exit = match approver::to_plan(plan, &digest, expected.as_deref(), &passphrase, printer)? {
        PlanAnswer::Run => return Ok(ConsentOutcome::Run(Some(digest))),
        PlanAnswer::Refuse => Exit::Rejected,
        PlanAnswer::Interrupted => Exit::Interrupted,
    };
    printer.status("the plan was not approved; nothing was called");
    Ok(ConsentOutcome::Refused(exit))
}

/// The model that may revise the plan of a failed run, and the number of revisions.
pub(crate) struct AdaptationSettings<'a> {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) config: &'a Config,
    /// The time of the run. Phrases of time in its goal refer to it.
    pub(crate) now: Now,
    pub(crate) zone: Zone,
    /// The number of times that the model may write the next steps.
    pub(crate) replans: u32,
    /// True if the model may correct arguments that a tool refused.
    pub(crate) repairs: bool,
    /// The journal of a run that is not stored.
    pub(crate) memory: MemoryJournal,
}

/// A plan that a model wrote for a run that failed.
pub(crate) struct RevisedPlan {
    pub(crate) plan: CheckedPlan,
    pub(crate) loaded: LoadedPlan,
    pub(crate) revision: RevisionV1,
}

/// A run of one command, from its start to its report.
pub(crate) struct RunSession<'a> {
    pub(crate) id: &'a RunId,
    pub(crate) plan: &'a CheckedPlan,
    pub(crate) loaded: &'a LoadedPlan,
    pub(crate) toolbox: &'a Toolbox,
    pub(crate) service: Planwright,
    /// The store, if the run is stored.
    pub(crate) store: Option<&'a Store>,
    /// The file of durations that overrides those of the store.
    pub(crate) durations: Option<&'a Path>,
    pub(crate) consent: &'a ConsentArguments,
    pub(crate) format: RunFormat,
    pub(crate) progress: Progress,
    /// The time in which calls in flight may end after the first signal.
    pub(crate) drain: Duration,
    /// The largest number of bytes that is shown of one value.
    pub(crate) max_output: Option<u64>,
    pub(crate) printer: Printer,
    pub(crate) telemetry: Telemetry,
    /// The model that may write another plan if this one fails.
    pub(crate) adaptation: Option<AdaptationSettings<'a>>,
    /// The revisions of the plan in earlier processes.
    pub(crate) revisions: Vec<RevisionV1>,
}

/// A segment of a run: the part that one plan drives. A revised plan begins another segment.
pub(crate) struct RunSegment {
    pub(crate) plan: CheckedPlan,
    pub(crate) options: RunOptions,
    pub(crate) storage: RunStorage,
    /// True if a person has approved the plan as a whole.
    pub(crate) is_approved: bool,
    /// The leases of other runs, until this one is stored.
    pub(crate) leases: Vec<LeasedRun>,
}

impl RunSession<'_> {
    /// Runs to the end, and reports the outcome.
    pub(crate) async fn run_and_report(
        self,
        segment: RunSegment,
        mut signals: Signals,
    ) -> Result<Exit, CommandError> {
        let options = segment.options.clone();
        let ended = Box::pin(self.run(segment, &mut signals)).await?;
        let Some(mut ended) = ended else {
            signals.leave_on_next();
            return Ok(Exit::Interrupted);
        };
        // A person who has interrupted the run decides what follows.
        if self.wants_revert(&ended.summary) && !signals.has_received() {
            let reverted = Box::pin(self.revert_failed(options, &mut signals)).await;
            ended.summary.revert = Some(Box::new(reverted));
        }
        signals.leave_on_next();
        let exit = self.report(&ended);
        self.toolbox.servers.close().await;
        exit
    }

    /// Runs to the end, revised plans included; `None` if the run was abandoned.
    pub(crate) async fn run(
        &self,
        segment: RunSegment,
        signals: &mut Signals,
    ) -> Result<Option<FinishedRun>, CommandError> {
        let live = Live::new(self.plan, self.format, self.progress, self.printer);
        if self.store.is_some() {
            live.announce(self.id);
        }
        let options = segment.options.clone();
        let (summary, journal) = Box::pin(self.run_segment(segment, &live, signals)).await?;
        let adapting = self.adapt(summary, live, (options, journal), signals);
        Box::pin(adapting).await
    }

    /// Continues with revised plans while the run fails in a way that a revision may fix; `None` if the run was abandoned. `journal` is the
    /// journal of the first plan, which holds the lease of a stored run.
    pub(crate) async fn adapt(
        &self,
        mut summary: Option<RunSummary>,
        mut live: Arc<Live>,
        (options, mut journal): (RunOptions, Option<Arc<dyn Journal>>),
        signals: &mut Signals,
    ) -> Result<Option<FinishedRun>, CommandError> {
        let mut revisions = self.revisions.clone();
        let mut revised: Option<RevisedPlan> = None;
        let mut usage = Usage::default();
        if let Some(mut adaptation) = self.adaptation.as_ref().map(AdaptationSettings::begin) {
            // A person who has interrupted the run wants no other plan.
            while !signals.has_received()
                && let Some(failed) = summary.as_ref().filter(|summary| is_adaptable(summary))
            {
                let plan = revised.as_ref().map_or(self.plan, |revised| &revised.plan);
                let next = tokio::select! {
                    next = adaptation.next(self, plan, failed, (&options, journal.as_ref())) => next?,
                    _ = signals.next() => None,
                };
                let Some((next, segment)) = next else {
                    break;
                };
                revisions.push(next.revision.clone());
                live = Live::new(&next.plan, self.format, self.progress, self.printer);
                (summary, journal) = Box::pin(self.run_segment(segment, &live, signals)).await?;
                revised = Some(next);
            }
            usage = adaptation.usage;
        }
        usage += self.toolbox.take_extraction_usage();
        telemetry::close(self.telemetry.clone()).await;
        let Some(summary) = summary else {
            store::print_resume_hint(self.id, self.store.is_some(), self.printer);
            return Ok(None);
        };
        if let Some(path) = self.durations {
            store::save_durations(path, &summary.durations)?;
        }
        Ok(Some(FinishedRun {
            summary,
            revisions,
            revised: revised.map(|revised| revised.loaded),
            usage,
            is_stored: self.store.is_some(),
            live,
        }))
    }

    /// Returns the first segment of a new run. The run is stored, or recorded in memory if a model may revise its plan. `approved` is the
    /// digest of the plan if a person approved the whole plan.
    pub(crate) fn first_segment(
        &self,
        tools: &ToolArguments,
        options: RunOptions,
        approved: Option<PlanConsent>,
    ) -> Result<RunSegment, CommandError> {
        let is_approved = approved.is_some();
        let storage = match (self.store, &self.adaptation) {
            (Some(store), _) => RunStorage::New {
                store: store.clone(),
                holder: store::this_process(),
                run: Box::new(NewStoredRun {
                    approved_plan: approved,
                    ..self.loaded.new_run(store::sources(tools)?, store::now())
                }),
            },
            (None, Some(adaptation)) => RunStorage::Journal {
                journal: Arc::new(adaptation.memory.clone()),
                header: stored::process(self.plan, &options, store::now()).to_value(),
                history: None,
                store: None,
            },
            (None, None) => RunStorage::Nothing,
        };
        Ok(RunSegment {
            plan: self.plan.clone(),
            options,
            storage,
            is_approved,
            leases: Vec::new(),
        })
    }

    /// Runs one plan to its end. Returns the summary, unless the run was abandoned, and the journal, which holds the lease until it is
    /// dropped.
    pub(super) async fn run_segment(
        &self,
        segment: RunSegment,
        live: &Arc<Live>,
        signals: &mut Signals,
    ) -> Result<(Option<RunSummary>, Option<Arc<dyn Journal>>), CommandError> {
        let subject = ApprovalSubject {
            toolbox: self.toolbox,
            stored: self.store.map(|store| (store.clone(), self.id)),
            is_approved: segment.is_approved,
            live,
            turn: Arc::default(),
        };
        live.expect(self.time_left(&segment));
        let run = self.service.launch(RunSpec {
            id: self.id.clone(),
            options: segment.options,
            approver: approver(self.consent, subject, self.printer)?,
            storage: segment.storage,
            leases: segment.leases,
            defers_revert: true,
            trace: telemetry::parent(),
            ..RunSpec::new(segment.plan)
        })?;
        let journal = run.journal();
        let outputs = RunOutputs {
            live: Arc::clone(live),
            format: self.format,
            max_output: self.max_output,
            printer: self.printer,
            drain: self.drain,
        };
        Ok((follow(run, signals, outputs).await, journal))
    }

    /// The expected time of a segment, by the durations that its run uses; `None` if they say nothing about it.
    fn time_left(&self, segment: &RunSegment) -> Option<TimeLeft> {
        let options = &segment.options;
        let stored = self.store.filter(|_| options.durations.is_empty());
        // A store that cannot be read is reported when the run starts.
        let stored = stored.and_then(|store| store.durations().ok());
        let durations = stored.as_ref().unwrap_or(&options.durations);
        TimeLeft::new(&segment.plan, durations, &options.limits)
    }

    pub(super) fn report(&self, ended: &FinishedRun) -> Result<Exit, CommandError> {
        report(
            ended,
            self.loaded,
            self.format,
            self.max_output,
            self.printer,
        )?;
        self.toolbox.servers.report_unanswered(self.printer);
        if let Some(revert) = ended.summary.revert.as_deref()
            && self.format == RunFormat::Text
        {
            report_revert(revert, self.printer);
            return Ok(Exit::of_run(ended.summary.status));
        }
        let is_stored = self.store.is_some();
        Ok(store::report_end(
            &ended.summary,
            is_stored,
            self.format,
            self.printer,
        ))
    }
}

/// Prints the results of a run that began with the plan `loaded`.
pub(crate) fn report(
    ended: &FinishedRun,
    loaded: &LoadedPlan,
    format: RunFormat,
    max_output: Option<u64>,
    printer: Printer,
) -> Result<(), CommandError> {
    let summary = &ended.summary;
    let loaded = ended.revised.as_ref().unwrap_or(loaded);
    match format {
        RunFormat::Text => {
            ended.live.summary(summary, ended.is_stored);
            progress::print_usage(ended.usage, printer);
            if Printer::shows_both() {
                printer.status("");
            }
            printer.data(&text_report::text(summary, max_output));
            Ok(())
        }
        RunFormat::Json => {
            let diagnostics = loaded.diagnostics.iter().cloned();
            let mut report = ReportV1::of_run(summary, loaded.dialect, diagnostics)
                .revised(&ended.revisions, ended.usage.into());
            if let Some(bytes) = max_output {
                report = Trim::to(bytes).report(report);
            }
            output::json(&report, format, printer)
        }
        RunFormat::Events => Ok(()),
    }
}

/// A run that has ended.
pub(crate) struct FinishedRun {
    pub(crate) summary: RunSummary,
    /// The revisions of the plan, with their reasons.
    pub(crate) revisions: Vec<RevisionV1>,
    /// The last revised plan.
    pub(crate) revised: Option<LoadedPlan>,
    /// The tokens and the cost of revisions.
    pub(crate) usage: Usage,
    /// True if the run is in the store.
    pub(crate) is_stored: bool,
    pub(crate) live: Arc<Live>,
}

impl FinishedRun {
    /// A run that was never revised and is not stored.
    pub(crate) fn of(summary: RunSummary, live: Arc<Live>) -> Self {
        Self {
            summary,
            revisions: Vec::new(),
            revised: None,
            usage: Usage::default(),
            is_stored: false,
            live,
        }
    }
}

/// Returns true if another plan may succeed.
fn is_adaptable(summary: &RunSummary) -> bool {
    summary.status == RunStatus::Failed && summary.journal_error.is_none()
}

/// The outputs that show a run while it is in progress.
pub(crate) struct RunOutputs {
    pub(crate) live: Arc<Live>,
    pub(crate) format: RunFormat,
    /// The largest number of bytes that is shown of one value.
    pub(crate) max_output: Option<u64>,
    pub(crate) printer: Printer,
    /// The time in which calls in flight may end after the first signal.
    pub(crate) drain: Duration,
}

impl RunOutputs {
    /// Shows an event.
    pub(crate) fn event(&self, event: &StampedEvent) {
        self.live.event(event);
        if self.format == RunFormat::Events {
            let mut event = EventV1::from(event);
            if let Some(bytes) = self.max_output {
                event = Trim::to(bytes).event(event);
            }
            self.printer.json_line(&event);
        }
    }
}

/// Shows a run until it ends. The first signal drains it, the second one cancels it. The third one abandons it, so that there is no
/// summary.
pub(crate) async fn follow(
    mut run: Run,
    signals: &mut Signals,
    outputs: RunOutputs,
) -> Option<RunSummary> {
    let mut stopping = Stopping::new(outputs.drain);
    loop {
        tokio::select! {
            event = run.next_event() => match event {
                Some(event) => outputs.event(&event),
                None => break,
            },
            signal = signals.next() => match stopping.on_signal(signal) {
                Reaction::Drain(limit) => {
                    outputs.live.drain(limit);
                    run.drain(limit);
                }
                Reaction::Cancel => {
                    outputs.live.suspend(|| outputs.printer.status(CANCELLING));
                    run.cancel();
                }
                Reaction::Leave => {
                    outputs.live.finish();
                    return None;
                }
            }
        }
    }
    let summary = run.finish().await;
    outputs.live.finish();
    Some(summary)
}
