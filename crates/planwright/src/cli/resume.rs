//! `planwright resume RUN`: goes on with a run that is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use planwright::core::check::CheckedPlan;
use planwright::core::{Object, StepId, Value};
use planwright::dialects::document::nearest;
use planwright::engine::journal::{Entry, Record};
use planwright::engine::options::RunOptions;
use planwright::engine::run::{Choice, History, MASK, PastCall, Replayed, shown_inputs};
use planwright::engine::{Durations, RunStatus, Start, StepStatus};
use planwright::wire::{ChoiceV1, KeptError, PlanTextV1, ProcessV1, RunV1, ToolV1};
use planwright_store::Store;

use super::app::{Session, drive, rejected};
use super::approvals::{Subject, approver};
use super::args::{Approve, PlanArguments, ResumeArguments, TextArguments};
use super::error::CommandError;
use super::exit::Exit;
use super::live::Live;
use super::plan_file::{self, Reading};
use super::printer::Printer;
use super::settings::Settings;
use super::signals::Signals;
use super::toolbox::Toolbox;
use super::{consent, guards, keeping, output, outside, replaying, settings, store};

/// `planwright resume RUN`
pub(crate) async fn resume(
    arguments: &ResumeArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store)?;
    let held = store
        .hold(&arguments.run, &store::this_process())
        .map_err(store::explain)?;
    let id = held.id().to_owned();
    let kept = Kept::read(&store, &id)?;
    if kept.status() == Some(RunStatus::Succeeded) && arguments.changes_nothing() {
        return show_once_more(&id, &kept, arguments, printer);
    }
    let old = kept.reading(&kept.plan, arguments)?;
    let mut reading = match &arguments.plan {
        Some(_) => plan_file::read(&new_plan(arguments, &old, &kept.plan))?,
        None => old,
    };
    let folder = kept.run.tools.folder.as_str();
    let Settings { config, .. } = settings::load(Path::new(folder))?;
    reading.govern(&config);
    let max_output = guards::max_output(&arguments.guards, &config);
    let sources = if arguments.tools.are_named() {
        arguments.tools.clone()
    } else {
        keeping::tool_arguments(&kept.run.tools)
    };
    let mut signals = Signals::new()?;
    let needed = reading.tool_names();
    let mut toolbox = tokio::select! {
        toolbox = Toolbox::open(&sources, Some(&needed), printer) => toolbox?,
        () = signals.next() => return Ok(Exit::Interrupted),
    };
    toolbox.govern(&config);
    let Some(plan) = reading.check(&toolbox.catalog) else {
        let exit = rejected(&reading, &toolbox, arguments.format, printer);
        toolbox.close().await;
        return exit;
    };
    output::findings(&reading, arguments.format, printer);
    kept.report_changes(&plan, printer);

    let mut history = kept.history()?;
    forget_decisions(&store, &id, &history)?;
    let mut options = kept.options();
    options.secrets = toolbox.secrets();
    options.confidential = outside::get(&plan, &config)?;
    options.guards = guards::go_on(&arguments.guards, &config, options.guards);
    let mut process = keeping::process(&plan, &options);
    let choices = choices(arguments, &history, &plan)?;
    if arguments.plan.is_some() {
        let before = replaying::latest_plan(&kept)?;
        for step in changed(&before, &plan) {
            settle_doubt(&step, &history, &before, &choices)?;
            history.forget(&step);
            process.forgotten.push(step.as_str().to_owned());
        }
        process.plan = reading.kept();
    }
    let given = shown_inputs(&plan, &options.masked_texts());
    if given != kept.vars {
        process.vars = Some(given);
    }
    for (step, choice) in choices {
        process.choices.push(ChoiceV1::new(&step, &choice));
        history = history.with_choice(step, choice);
    }
    let approved = match &arguments.consent.approve {
        Approve::Plan(digest) => {
            if !consent::to_plan(&plan, digest.as_deref(), printer)? {
                printer.talk("the plan was not approved; nothing was called");
                toolbox.close().await;
                return Ok(Exit::Rejected);
            }
            Some(plan.digest().to_owned())
        }
        // What was approved once stays so as long as it means the same.
        _ => {
            let before = kept.process.as_ref();
            let before = before.and_then(|process| process.approved_plan.clone());
            before.filter(|digest| digest == plan.digest())
        }
    };
    process.approved_plan.clone_from(&approved);
    let live = Live::new(&plan, arguments.format, printer);
    let start = Start::new(id.as_str(), plan.clone())
        .after(history)
        .with_journal(Arc::new(held), process.to_value());
    let subject = Subject {
        toolbox: &toolbox,
        kept: Some((store.clone(), id.as_str())),
        is_approved: approved.is_some(),
        live: &live,
    };
    let known = options.durations.clone();
    let session = Session {
        options,
        approver: approver(&arguments.consent, subject, printer)?,
        live: Arc::clone(&live),
        format: arguments.format,
        max_output,
        printer,
    };
    let exit = match drive(start, &toolbox, session, signals).await {
        Some(summary) => {
            keeping::learn(&store, &known, &summary, printer);
            output::report(
                &summary,
                &reading,
                arguments.format,
                max_output,
                &live,
                printer,
            )?;
            keeping::end(&summary, true, arguments.format, printer)
        }
        None => {
            keeping::left(&id, true, printer);
            return Ok(Exit::Interrupted);
        }
    };
    toolbox.close().await;
    Ok(exit)
}

/// Shows what a run came to that is done. No server is started, and nothing can be called.
fn show_once_more(
    id: &str,
    kept: &Kept,
    arguments: &ResumeArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let Replayed { summary, .. } = replaying::replayed(id, kept).map_err(|error| {
        CommandError::new(format!(
            "the run has succeeded, but what it came to cannot be told: {error}"
        ))
        .hint(format!(
            "`planwright logs {}` lists its calls",
            keeping::short(id)
        ))
    })?;
    let reading = plan_file::read_kept(&kept.plan, kept.vars.clone())?;
    let live = Live::new(&replaying::latest_plan(kept)?, arguments.format, printer);
    let Settings { config, .. } = settings::load(Path::new(&kept.run.tools.folder))?;
    let max_output = guards::max_output(&arguments.guards, &config);
    output::report(
        &summary,
        &reading,
        arguments.format,
        max_output,
        &live,
        printer,
    )?;
    Ok(Exit::of_run(summary.status))
}

/// Sees to it that a new plan does not bury a call of which nobody knows whether it happened: whoever changes its step, or
/// takes it away, says what became of it.
fn settle_doubt(
    step: &StepId,
    history: &History,
    before: &CheckedPlan,
    choices: &[(Arc<str>, Choice)],
) -> Result<(), CommandError> {
    let is_repeatable = |call: &PastCall| {
        keeping::tools_of(before).iter().any(|tool| {
            tool.server == call.server && tool.name == call.tool && tool.is_repeatable()
        })
    };
    let mut doubtful = history
        .steps()
        .filter(|(at, past)| {
            at.outermost() == step
                && past.is_in_doubt()
                && !past.calls.last().is_some_and(is_repeatable)
        })
        .map(|(at, _)| at.to_string());
    let is_chosen = |at: &str| choices.iter().any(|(chosen, _)| **chosen == *at);
    match doubtful.find(|at| !is_chosen(at)) {
        None => Ok(()),
        Some(at) => Err(CommandError::new(format!(
            "the new plan changes `{step}`, and nobody knows whether the call of `{at}` happened"
        ))
        .hint(format!(
            "look, then say `--retry {at}`, `--skip {at}` or `--set {at}=VALUE`"
        ))),
    }
}

/// A run as it is kept.
pub(super) struct Kept {
    pub(super) run: RunV1,
    pub(super) entries: Vec<Entry>,
    /// The latest plan.
    pub(super) plan: PlanTextV1,
    /// What the latest process was given.
    pub(super) vars: Object,
    /// What the latest process began with.
    pub(super) process: Option<ProcessV1>,
}

impl Kept {
    pub(super) fn read(store: &Store, id: &str) -> Result<Self, CommandError> {
        let unreadable = |error: KeptError| {
            CommandError::new(format!("the run `{id}` cannot be read: {error}"))
                .hint("use the version of the program that wrote it")
        };
        let header = store.header(id).map_err(store::explain)?;
        let run = RunV1::from_value(&header).map_err(unreadable)?;
        let entries = store
            .entries(id)
            .and_then(Iterator::collect::<Result<Vec<Entry>, _>>)
            .map_err(store::explain)?;
        let mut plan = run.plan.clone();
        let mut vars = run.vars.clone();
        let mut process = None;
        for entry in &entries {
            if let Record::Opened { header, .. } = &entry.record {
                let opened = ProcessV1::from_value(header).map_err(unreadable)?;
                if let Some(new) = &opened.plan {
                    plan = new.clone();
                }
                if let Some(new) = &opened.vars {
                    vars.clone_from(new);
                }
                process = Some(opened);
            }
        }
        Ok(Self {
            run,
            entries,
            plan,
            vars,
            process,
        })
    }

    /// The ids of the steps of the latest plan.
    pub(super) fn step_ids(&self) -> Result<Vec<String>, CommandError> {
        let reading = plan_file::read_kept(&self.plan, self.vars.clone())?;
        let steps = reading.plan.iter().flat_map(|plan| &plan.steps);
        Ok(steps.map(|step| step.id.to_string()).collect())
    }

    /// What was done for the steps that the plan has now.
    pub(super) fn history(&self) -> Result<History, CommandError> {
        let mut history = History::default();
        for entry in &self.entries {
            if let Record::Opened { header, .. } = &entry.record {
                let opened = ProcessV1::from_value(header)
                    .map_err(|error| CommandError::new(error.to_string()))?;
                for step in &opened.forgotten {
                    history.forget(&StepId::new(step.as_str()));
                }
            }
            history.add(entry);
        }
        Ok(history)
    }

    /// How the run stood when its last process came to an end, if it did.
    pub(super) fn status(&self) -> Option<RunStatus> {
        match &self.entries.last()?.record {
            Record::Ended { status } => Some(*status),
            _ => None,
        }
    }

    fn reading(
        &self,
        plan: &PlanTextV1,
        arguments: &ResumeArguments,
    ) -> Result<Reading, CommandError> {
        let mut given = self.vars.clone();
        plan_file::add_vars(&mut given, &arguments.vars)?;
        let hidden = given
            .iter()
            .find(|(_, value)| value.as_text() == Some(MASK));
        if let Some((name, _)) = hidden {
            return Err(CommandError::new(format!(
                "the input `{name}` is secret, so it was not kept"
            ))
            .hint(format!("give it again: --var {name}=VALUE")));
        }
        plan_file::read_kept(plan, given)
    }

    /// How the last process went about its work, with what is known now of how long calls take.
    fn options(&self) -> RunOptions {
        match &self.process {
            Some(process) => RunOptions {
                durations: Durations::from(&process.durations),
                ..RunOptions::from(&process.options)
            },
            None => RunOptions::default(),
        }
    }

    /// Says which tools are not what they were.
    fn report_changes(&self, plan: &CheckedPlan, printer: Printer) {
        let Some(process) = &self.process else {
            return;
        };
        let before: BTreeMap<String, &ToolV1> = process
            .tools
            .iter()
            .map(|tool| (format!("{}.{}", tool.server, tool.name), tool))
            .collect();
        for tool in keeping::tools_of(plan) {
            let name = tool.qualified_name();
            if let Some(changes) = before.get(&name).and_then(|before| before.changes(&tool)) {
                printer.quote(&format!(
                    "warning: the tool `{name}` is not what it was when the run went on last: {changes} changed"
                ));
            }
        }
    }
}

/// Forgets the decisions that the run has taken in: who says `--retry` is asked anew.
fn forget_decisions(store: &Store, id: &str, history: &History) -> Result<(), CommandError> {
    for (at, past) in history.steps() {
        if let Some(decided) = &past.decided {
            store
                .forget_decision(id, at, &decided.asked)
                .map_err(store::explain)?;
        }
    }
    Ok(())
}

/// The arguments by which the plan is read that takes the place of the one so far.
fn new_plan(arguments: &ResumeArguments, old: &Reading, kept: &PlanTextV1) -> PlanArguments {
    let vars = old
        .given
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
        reorder: kept.reorder,
        max_steps: kept.max_steps,
    }
}

/// The steps of `before` that `now` does not have, or has otherwise.
fn changed(before: &CheckedPlan, now: &CheckedPlan) -> Vec<StepId> {
    let is_same = |index: usize, id: &StepId| {
        let at = now.step_index(id.as_str()).map(|at| at as usize);
        at.is_some_and(|at| now.step_digest(at) == before.step_digest(index))
    };
    let ids = before.plan().steps.iter().map(|step| &step.id);
    ids.enumerate()
        .filter(|(index, id)| !is_same(*index, id))
        .map(|(_, id)| id.clone())
        .collect()
}

/// What the arguments say about steps.
fn choices(
    arguments: &ResumeArguments,
    history: &History,
    plan: &CheckedPlan,
) -> Result<Vec<(Arc<str>, Choice)>, CommandError> {
    let mut known: BTreeMap<String, bool> = plan
        .plan()
        .steps
        .iter()
        .map(|step| (step.id.as_str().to_owned(), false))
        .collect();
    for (at, past) in history.steps() {
        let is_done = past
            .settled
            .as_ref()
            .is_some_and(|end| end.status == StepStatus::Succeeded);
        known.insert(at.to_string(), is_done);
    }
    let mut chosen = Vec::new();
    for step in &arguments.retry {
        chosen.push((step.as_str(), Choice::Retry));
    }
    for step in &arguments.skip {
        chosen.push((step.as_str(), Choice::Skip));
    }
    for pair in &arguments.set {
        let Some((step, value)) = pair.split_once('=') else {
            return Err(CommandError::new(format!("`--set {pair}` has no `=`"))
                .hint("write it as --set STEP=VALUE"));
        };
        let value = Value::from_json(value).unwrap_or_else(|_| Value::from(value));
        chosen.push((step.trim(), Choice::Set(value)));
    }
    let mut seen = BTreeSet::new();
    for (step, _) in &chosen {
        match known.get(*step) {
            Some(false) => {}
            Some(true) => {
                return Err(CommandError::new(format!(
                    "`{step}` has succeeded, and what is done stays done"
                ))
                .hint("a plan that changes the step runs it again: `--plan FILE`"));
            }
            None => {
                let error = CommandError::new(format!("the run has no step `{step}`"));
                return Err(match nearest(step, known.keys().map(String::as_str)) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error,
                });
            }
        }
        if !seen.insert(*step) {
            return Err(CommandError::new(format!(
                "two things are said about `{step}`"
            )));
        }
    }
    Ok(chosen
        .into_iter()
        .map(|(step, choice)| (Arc::from(step), choice))
        .collect())
}
