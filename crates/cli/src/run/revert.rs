//! `planwright revert RUN`: undoes what a run did; and the revert of a run that failed, if its plan wants one.

use std::fmt::Write as _;

use planwright::core::check::{CheckedPlan, Policy};
use planwright::core::plan::OnFailure;
use planwright::core::{PlanConsent, Tool, Value};
use planwright::engine::run::RevertSummary;
use planwright::engine::{RunOptions, RunStatus, RunSummary};
use planwright::format::ToolSourcesV1;
use planwright::loaded_plan::LoadedPlan;
use planwright::service::{Revert, RevertRequest, RunStorage};
use planwright::stored::{self, StoredRun};
use planwright::terminal_text;
use planwright_store::Store;

use super::resume::{folder, sources};
use super::session::{
    ConsentOutcome, FinishedRun, RunSegment, RunSession, rejected, request_plan_approval,
};
use crate::args::{RevertArguments, RunFormat, ToolArguments};
use crate::error::{CommandError, Exit};
use crate::runs::selector::find_run;
use crate::runs::store;
use crate::setup::settings::{self, Settings};
use crate::system::signals::Signals;
use crate::system::{environment, telemetry};
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::Toolbox;
use crate::view::printer::{Printer, counted};
use crate::view::{diagnostics, output};

/// The maximum number of characters of arguments in a line.
const MAX_ARGUMENT_CHARS: usize = 160;

/// `planwright revert RUN`
pub(crate) async fn revert(
    arguments: &RevertArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let run = find_run(&store, Some(&arguments.run))?.id;
    let stored = StoredRun::read(&store, run.as_str())?;
    let Settings { config, .. } = settings::load(folder(&stored))?;
    let config = stored.with_flow(config);
    let policy = config.restrict(Policy::new());
    let configured = |tool: Tool| config.configured(tool);
    let request = RevertRequest {
        run: run.as_str(),
        from: arguments.from.as_deref(),
        configured: &configured,
        policy: &policy,
        holder: &store::this_process(),
        is_leased: false,
    };
    let mut revert = Revert::prepare(&store, request).await?;
    if revert.undos.is_empty() {
        return show_proposal(&revert, arguments, printer);
    }
    let format = arguments.output.format;
    let telemetry = telemetry::open(&config)?;
    let mut signals = Signals::new()?;
    let needed = revert.tool_names();
    let opened = match sources((&run, &stored), &arguments.tools, "revert") {
        Ok(sources) => {
            if arguments.tools.are_named() {
                revert.set_sources(named(&sources, &stored)?);
            }
            tokio::select! {
                opened = Toolbox::open(&sources, Some(&needed), ServerUse::Calls, printer) => opened,
                _ = signals.next() => return Ok(Exit::Interrupted),
            }
        }
        Err(error) => Err(error),
    };
    let mut toolbox = match opened {
        Ok(toolbox) => toolbox,
        // The journal suffices for a list.
        Err(error) if arguments.dry_run => {
            printer.quote(&format!("warning: the undos were not checked: {error}"));
            return show_proposal(&revert, arguments, printer);
        }
        Err(error) => return Err(error),
    };
    let asks = |tool: &Tool| stored.asks_in_revert(tool);
    toolbox.apply_config_asking(&config, Some(&store), asks, printer)?;
    // The check finds undos that are not sound, which the proposal names.
    let checked = revert.check(&toolbox.catalog, &policy);
    let (plan, loaded) = match checked {
        Ok(Some(checked)) if !arguments.dry_run && !is_refused(&revert, arguments) => checked,
        Ok(_) => {
            toolbox.servers.close().await;
            return show_proposal(&revert, arguments, printer);
        }
        Err(loaded) => {
            let exit = rejected(&loaded, &toolbox, format, printer);
            toolbox.servers.close().await;
            return exit;
        }
    };
    if format == RunFormat::Text {
        printer.quote(&described(&revert));
    }
    diagnostics::show_for(&loaded, format, printer);
    let overrides = arguments.guards.overrides(RunOptions::default());
    let options = RunOptions {
        secrets: toolbox.secrets(),
        secret_values: environment::get(&plan, &config)?,
        seal_key: store::seal_key(Some(&store))?,
        durations: store.durations().map_err(store::explain)?,
        ..overrides.options(&config)
    };
    let digest = stored::plan_consent(&plan, &options);
    let shown = (&plan, digest);
    let approved = match request_plan_approval(&arguments.consent, shown, Some(&store), printer)? {
        ConsentOutcome::Run(approved) => approved,
        ConsentOutcome::Refused(exit) => {
            toolbox.servers.close().await;
            return Ok(exit);
        }
    };
    let segment = segment(&mut revert, (&plan, &loaded), options, approved, &store);
    let session = RunSession {
        id: &revert.id,
        plan: &plan,
        loaded: &loaded,
        toolbox: &toolbox,
        service: toolbox.service(&config, &telemetry),
        store: Some(&store),
        durations: None,
        consent: &arguments.consent,
        format,
        progress: arguments.output.progress,
        drain: arguments.drain.limit,
        max_output: arguments.guards.max_output(&config),
        printer,
        telemetry,
        adaptation: None,
        revisions: Vec::new(),
    };
    Box::pin(session.run_and_report(segment, signals)).await
}

/// Returns the sources of tools that a person has named, with the folder whose configuration applies.
fn named(tools: &ToolArguments, stored: &StoredRun) -> Result<ToolSourcesV1, CommandError> {
    let sources = store::sources(tools)?;
    Ok(match stored.imported {
        None => ToolSourcesV1 {
            folder: stored.run.tools.folder.clone(),
            ..sources
        },
        Some(_) => sources,
    })
}

/// Returns true if nothing is called because something cannot be undone.
fn is_refused(revert: &Revert, arguments: &RevertArguments) -> bool {
    !revert.is_complete() && !arguments.partial
}

/// Shows what a revert would do that is not made.
fn show_proposal(
    revert: &Revert,
    arguments: &RevertArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    show(revert, arguments.output.format, printer)?;
    if arguments.dry_run || !is_refused(revert, arguments) {
        return Ok(Exit::Success);
    }
    printer.status("not everything can be undone, so nothing was called");
    if !revert.undos.is_empty() {
        printer.hint("`--partial` undoes the rest");
    }
    Ok(Exit::Rejected)
}

/// Returns the start of the run that reverts.
fn segment(
    revert: &mut Revert,
    (plan, loaded): (&CheckedPlan, &LoadedPlan),
    options: RunOptions,
    approved: Option<PlanConsent>,
    store: &Store,
) -> RunSegment {
    let is_approved = approved.is_some();
    let mut run = revert.new_run(loaded, store::now());
    run.approved_plan = approved;
    RunSegment {
        plan: plan.clone(),
        options,
        storage: RunStorage::New {
            store: store.clone(),
            holder: store::this_process(),
            run: Box::new(run),
        },
        is_approved,
        leases: revert.take_leases(),
    }
}

impl RunSession<'_> {
    /// Returns true if the plan wants a run that ended like this to be undone.
    pub(crate) fn wants_revert(&self, summary: &RunSummary) -> bool {
        self.plan.plan().on_failure == OnFailure::Revert
            && summary.status == RunStatus::Failed
            && summary.journal_error.is_none()
    }

    /// Undoes what this run did, by a run of its own that asks as this one did. Calls without an undo and calls in doubt are left as they
    /// are, and the summary names them.
    pub(crate) async fn revert_failed(
        &self,
        options: RunOptions,
        signals: &mut Signals,
    ) -> RevertSummary {
        let Some(store) = self.store else {
            return RevertSummary::not_started("the run is not stored".to_owned());
        };
        let service = self.service.with_store(store);
        let prepared = match service.prepare_revert(self.id.as_str(), None).await {
            Ok(prepared) => prepared,
            Err(error) => return RevertSummary::not_started(error.to_string()),
        };
        let (mut revert, plan) = prepared.into_parts();
        let mut summary = revert.summary();
        if self.format == RunFormat::Text {
            self.printer
                .status("the run failed, and its plan has `on_failure: revert`");
            self.printer.quote(&described(&revert));
        }
        let Some((plan, loaded)) = plan else {
            return summary;
        };
        let segment = segment(&mut revert, (&plan, &loaded), options, None, store);
        let session = RunSession {
            id: &revert.id,
            plan: &plan,
            loaded: &loaded,
            service: self.service.clone(),
            durations: None,
            telemetry: self.telemetry.clone(),
            adaptation: None,
            revisions: Vec::new(),
            ..*self
        };
        summary.run = Some(revert.id.clone());
        match Box::pin(session.run(segment, signals)).await {
            Ok(Some(FinishedRun { summary: ended, .. })) => summary.status = Some(ended.status),
            // A signal has left the run as it is.
            Ok(None) => {}
            Err(error) => summary.error = Some(error.to_string()),
        }
        summary
    }
}

/// Reports the revert of a run to a person.
pub(super) fn report_revert(revert: &RevertSummary, printer: Printer) {
    match (&revert.run, revert.status, &revert.error) {
        (_, _, Some(error)) => printer.quote(&format!("error: the run was not reverted: {error}")),
        (None, ..) => printer.status("there was nothing to undo"),
        (Some(run), Some(RunStatus::Succeeded), None) => {
            printer.message(&format!("reverted by the run {}", store::short_id(run)));
        }
        (Some(run), _, None) => {
            let run = store::short_id(run);
            printer.message(&format!(
                "the run {run} that reverts it has not succeeded: `planwright resume {run}`"
            ));
        }
    }
}

/// Prints what a revert would do.
fn show(revert: &Revert, format: RunFormat, printer: Printer) -> Result<(), CommandError> {
    match format {
        RunFormat::Text => {
            printer.data(&terminal_text::lines(&described(revert)));
            Ok(())
        }
        RunFormat::Json | RunFormat::Events => output::json(&revert.document(), format, printer),
    }
}

/// Lists what a revert undoes, and what it does not.
fn described(revert: &Revert) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{line}");
    };
    for undo in &revert.undos {
        let arguments = shown(&undo.arguments);
        line(format!("undo `{}`: {}({arguments})", undo.at, undo.tool));
    }
    for call in &revert.unreverted {
        let why = match &call.reason {
            None => "has no undo".to_owned(),
            Some(reason) => format!("cannot be undone: {reason}"),
        };
        line(format!("`{}` called {}, which {why}", call.at, call.tool));
    }
    for call in &revert.in_doubt {
        line(match &call.undone_by {
            None => format!(
                "`{}` called {}, which may or may not have happened",
                call.at, call.tool
            ),
            Some(by) => format!(
                "`{}` called {}, which the run {} may or may not have undone",
                call.at,
                call.tool,
                store::short_id(by)
            ),
        });
    }
    if revert.undone_before > 0 {
        let count = counted(revert.undone_before, "call");
        line(format!("{count} undone before"));
    }
    if text.is_empty() {
        text.push_str("there is nothing to undo\n");
    }
    text
}

/// Returns arguments as in a plan in lines, in one line of limited length.
fn shown(arguments: &Value) -> String {
    let fields = arguments.as_object().into_iter().flatten();
    let fields = fields.map(|(name, value)| format!("{name}={}", value.to_json()));
    let text = fields.collect::<Vec<_>>().join(", ");
    match text.char_indices().nth(MAX_ARGUMENT_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
