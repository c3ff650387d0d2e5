//! `planwright resume RUN`: resumes a stored run.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use planwright::core::Object;
use planwright::core::check::Policy;
use planwright::engine::RunId;
use planwright::engine::run::{Choice, ReplayReport};
use planwright::engine::{RunOptions, RunStatus};
use planwright::format::PlanTextV1;
use planwright::loaded_plan::LoadedPlan;
use planwright::service::RunStorage;
use planwright::stored::{
    self, NamedSteps, OrphanedServers, ProcessSecrets, ResumeRequest, StaleStep, StoredRun,
};
use planwright_store::LeasedRun;

use crate::approval::decide;
use crate::approval::passphrase::PassphraseCheck;
use crate::args::{PlanArguments, Progress, ResumeArguments, TextArguments, ToolArguments};
use crate::error::{CommandError, Exit};
use crate::run::plan_file::{self, value_or_text};
use crate::run::session::{
    ConsentOutcome, FinishedRun, RunSegment, RunSession, needed_tools, rejected, report,
    request_plan_approval,
};
use crate::runs::selector::find_run;
use crate::runs::store;
use crate::setup::settings::{self, Settings};
use crate::system::signals::Signals;
use crate::system::{environment, telemetry};
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::Toolbox;
use crate::view::diagnostics;
use crate::view::live::Live;
use crate::view::printer::Printer;

/// The time after which servers of a killed process that still run are reported.
const ORPHANS_END: Duration = Duration::from_secs(1);

/// The additional time for them to end before a call is repeated.
const ORPHANS_END_BEFORE_RETRY: Duration = Duration::from_secs(5);

/// `planwright resume RUN`
pub(crate) async fn resume(
    arguments: &ResumeArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let run = find_run(&store, arguments.run.as_deref())?;
    let leased = store
        .lease_run(run.id.as_str(), &store::this_process())
        .map_err(store::explain)?;
    let id = leased.id().clone();
    let stored = StoredRun::read(&store, id.as_str())?;
    if stored.status() == Some(RunStatus::Succeeded) && arguments.changes_nothing() {
        return show_once_more(&id, &stored, arguments, printer);
    }
    if arguments.retries() {
        // Repeating a call with an unknown outcome is a decision like any other.
        PassphraseCheck::open(Some(&store))?.confirm()?;
    }
    let sources = sources((&id, &stored), &arguments.tools, "resume")?;
    settle_orphans(&leased, arguments, printer).await;
    let old = stored.loaded(vars(arguments)?)?;
    let loaded = match &arguments.plan {
        Some(_) => plan_file::read(&new_plan(arguments, &old, &stored.plan))?,
        None => old,
    };
    let Settings { config, .. } = settings::load(folder(&stored))?;
    // The values that a person sets are the person's, even in the plan of an exposed author.
    let chooser = config.flow().planner;
    let config = stored.with_flow(config);
    let telemetry = telemetry::open(&config)?;
    let max_output = arguments.guards.max_output(&config);
    let mut signals = Signals::new()?;
    let needed = needed_tools(&loaded, &config);
    let mut toolbox = tokio::select! {
        toolbox = Toolbox::open(&sources, Some(&needed), ServerUse::Calls, printer) => toolbox?,
        _ = signals.next() => return Ok(Exit::Interrupted),
    };
    toolbox.open_extraction(&arguments.adapt.model, &config);
    // Calls that need approval in the gateway need approval here as well.
    toolbox.apply_config_asking(&config, Some(&store), |tool| stored.asks(tool), printer)?;
    let policy = config.restrict(Policy::new());
    let retain: Vec<Arc<str>> = arguments
        .keep
        .iter()
        .map(|step| step.as_str().into())
        .collect();
    let added = stored.retained_steps(&id, &retain, &policy)?;
    let mut retained = stored.retained.clone();
    retained.extend(added.iter().cloned());
    let (plan, mut loaded) = loaded
        .with_retained(retained.labels())
        .check(&toolbox.catalog, &policy);
    let Some(plan) = plan else {
        let exit = rejected(&loaded, &toolbox, arguments.output.format, printer);
        toolbox.servers.close().await;
        return exit;
    };
    let history = stored.history()?;
    let choices = choices(arguments, &stored::named_steps(&plan, &history))?;
    let set = stored::set_results(&plan, &history, &choices, Some(chooser))?;
    let plan = if set.is_empty() {
        plan
    } else {
        retained.extend(set.iter().cloned());
        let (plan, violations) = plan.with_retained(&policy, &retained.labels());
        loaded.diagnostics.extend(violations);
        let Some(plan) = plan else {
            let exit = rejected(&loaded, &toolbox, arguments.output.format, printer);
            toolbox.servers.close().await;
            return exit;
        };
        plan
    };
    diagnostics::show_for(&loaded, arguments.output.format, printer);
    for (tool, changes) in stored.changed_tools(&plan) {
        printer.quote(&format!(
            "warning: the tool `{tool}` changed since the run was last in progress: {changes}"
        ));
    }
    let overrides = arguments.guards.overrides(RunOptions::default());
    let own = ProcessSecrets {
        texts: toolbox.secrets(),
        values: environment::get(&plan, &config)?,
        seal_key: store::seal_key(Some(&store))?,
    };
    let options = stored.resumed_options(overrides.resumed(&config, stored.options()), own);
    let request = ResumeRequest {
        id: &id,
        plan: &plan,
        new_plan: arguments.plan.as_ref().and_then(|_| loaded.to_stored()),
        options: &options,
        retained: added,
        set,
        choices,
        now: store::now(),
    };
    let mut prepared = request.prepare(&stored, &store)?;
    for StaleStep { step, from, .. } in &prepared.rerun {
        printer.quote(&format!(
            "`{step}` is run again: its result was computed from `{from}`, which the new plan changes (`{}` keeps it)",
            store::option("--keep", step)
        ));
    }
    let digest = prepared.plan_consent(&plan, &options);
    let shown = (&plan, digest.clone());
    let approved = match request_plan_approval(&arguments.consent, shown, Some(&store), printer)? {
        ConsentOutcome::Run(approved) => approved,
        ConsentOutcome::Refused(exit) => {
            toolbox.servers.close().await;
            return Ok(exit);
        }
    };
    // Consent to the plan is valid as long as no resumption changes anything.
    let approved = approved.or_else(|| {
        let before = stored.process.as_ref()?.approved_plan.clone();
        before.filter(|earlier| *earlier == digest)
    });
    prepared.process.approved_plan.clone_from(&approved);
    let segment = RunSegment {
        plan: plan.clone(),
        options,
        storage: RunStorage::Resumed {
            store: store.clone(),
            leased,
            prepared: Box::new(prepared),
        },
        is_approved: approved.is_some(),
        leases: Vec::new(),
    };
    let session = RunSession {
        id: &id,
        plan: &plan,
        loaded: &loaded,
        toolbox: &toolbox,
        service: toolbox.service(&config, &telemetry),
        store: Some(&store),
        durations: None,
        consent: &arguments.consent,
        format: arguments.output.format,
        progress: arguments.output.progress,
        drain: arguments.drain.limit,
        max_output,
        printer,
        telemetry,
        adaptation: arguments.adapt.open(&config)?,
        revisions: stored.revisions(),
    };
    Box::pin(session.run_and_report(segment, signals)).await
}

/// Returns the sources of the run's tools: those of the arguments, else those of its start. An imported run began with programs and
/// folders of another machine, so its tools must be named; `command` is the one that takes them.
pub(super) fn sources(
    (id, stored): (&RunId, &StoredRun),
    named: &ToolArguments,
    command: &str,
) -> Result<ToolArguments, CommandError> {
    if named.are_named() {
        return Ok(named.clone());
    }
    if stored.imported.is_none() {
        return Ok(store::tool_arguments(&stored.run.tools));
    }
    let run = store::short_id(id);
    Err(CommandError::new(format!(
        "the run {run} was imported, so its recorded tool sources are not used"
    ))
    .hint(format!(
        "name its tools: `planwright {command} {run} --servers FILE`, `--simulate FILE` or `--workspace DIR`"
    )))
}

/// Returns the folder whose configuration applies: the one in which the run began, unless it was imported.
pub(super) fn folder(stored: &StoredRun) -> &Path {
    Path::new(match stored.imported {
        None => stored.run.tools.folder.as_str(),
        Some(_) => ".",
    })
}

/// Waits for the end of servers that an earlier process has left behind, and reports those that still run.
async fn settle_orphans(leased: &LeasedRun, arguments: &ResumeArguments, printer: Printer) {
    let orphans = OrphanedServers::of(leased);
    if arguments.kill_servers {
        orphans.kill();
    }
    let orphans = orphans.wait(leased, ORPHANS_END).await;
    for process in orphans.processes() {
        printer.quote(&format!(
            "warning: the server `{}` of the earlier process (pid {}) is still running",
            process.server, process.pid
        ));
    }
    // Only a repeated call depends on their end.
    if arguments.retries() {
        orphans.wait(leased, ORPHANS_END_BEFORE_RETRY).await;
    }
}

/// Shows the results of a finished run. Starts no server, so nothing can be called.
fn show_once_more(
    id: &RunId,
    stored: &StoredRun,
    arguments: &ResumeArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let ReplayReport { summary, .. } = stored.replayed(id).map_err(|error| {
        CommandError::new(format!(
            "the run has succeeded, but its result cannot be shown: {error}"
        ))
        .hint(format!(
            "`planwright logs {}` lists its calls",
            store::short_id(id)
        ))
    })?;
    let loaded = LoadedPlan::from_stored(&stored.plan, stored.vars.clone());
    let live = Live::new(
        &stored.latest_plan()?,
        arguments.output.format,
        Progress::None,
        printer,
    );
    let Settings { config, .. } = settings::load(folder(stored))?;
    let max_output = arguments.guards.max_output(&config);
    let ended = FinishedRun {
        revisions: stored.revisions(),
        is_stored: true,
        ..FinishedRun::of(summary, live)
    };
    report(
        &ended,
        &loaded,
        arguments.output.format,
        max_output,
        printer,
    )?;
    Ok(Exit::of_run(ended.summary.status))
}

/// Returns the arguments for reading the plan that replaces the current one.
fn new_plan(arguments: &ResumeArguments, old: &LoadedPlan, stored: &PlanTextV1) -> PlanArguments {
    let vars = old
        .inputs
        .iter()
        .map(|(name, value)| format!("{name}={}", value.to_json()));
    PlanArguments {
        text: TextArguments {
            plan: arguments.plan.clone().unwrap_or_default(),
            dialect: arguments.dialect.clone(),
            max_depth: 128,
            max_size: 16 * 1024 * 1024,
            store: arguments.store.clone(),
        },
        vars: vars.collect(),
        vars_file: None,
        library: arguments.library.clone(),
        reorder: stored.reorder,
        max_steps: stored.max_steps,
    }
}

/// Returns the choices about steps.
fn choices(
    arguments: &ResumeArguments,
    steps: &NamedSteps,
) -> Result<Vec<(Arc<str>, Choice)>, CommandError> {
    let mut chosen: Vec<(Arc<str>, Choice)> = Vec::new();
    let retry = expanded(&arguments.retry, arguments.retry_unknown, steps)?;
    chosen.extend(retry.into_iter().map(|step| (step, Choice::Retry)));
    let skip = expanded(&arguments.skip, false, steps)?;
    chosen.extend(skip.into_iter().map(|step| (step, Choice::Skip)));
    for pair in &arguments.set {
        let Some((step, value)) = pair.split_once('=') else {
            return Err(CommandError::new(format!("`--set {pair}` has no `=`"))
                .hint("write it as --set STEP=VALUE"));
        };
        let step = step.trim();
        let value = value_or_text(step, value)?;
        chosen.push((step.into(), Choice::Set(value)));
    }
    Ok(chosen)
}

/// The argument that means all steps with an unknown outcome, unless a step has this id.
const ALL: &str = "all";

/// Expands step arguments: a step, a comma-separated list, a pattern such as `pay[*]` for what has not succeeded, or `all` steps with an unknown
/// outcome.
fn expanded(
    texts: &[String],
    unknown: bool,
    steps: &NamedSteps,
) -> Result<Vec<Arc<str>>, CommandError> {
    let mut found: Vec<Arc<str>> = Vec::new();
    let mut wants_unknown = unknown;
    for text in texts {
        if steps.contains(text) {
            found.push(text.as_str().into());
        } else if text == ALL {
            wants_unknown = true;
        } else {
            let parts = text.split(',').map(str::trim);
            for part in parts.filter(|part| !part.is_empty()) {
                let known = found.len();
                if part.contains('*') && !steps.contains(part) {
                    let unfinished = steps.unfinished.iter();
                    found.extend(unfinished.filter(|at| decide::matches(part, at)).cloned());
                }
                if found.len() == known {
                    found.push(part.into());
                }
            }
        }
    }
    if wants_unknown {
        if steps.unknown.is_empty() {
            return Err(
                CommandError::new("no call of the run has an unknown outcome")
                    .hint("omit `--retry-unknown` and `all`"),
            );
        }
        for at in &steps.unknown {
            if !found.contains(at) {
                found.push(Arc::clone(at));
            }
        }
    }
    Ok(found)
}

/// Returns the inputs of `--var`.
fn vars(arguments: &ResumeArguments) -> Result<Object, CommandError> {
    let mut vars = Object::default();
    plan_file::add_vars(&mut vars, &arguments.vars)?;
    Ok(vars)
}
