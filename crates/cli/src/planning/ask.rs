//! `planwright ask QUESTION`: a model writes a plan, the plan runs, and a model summarizes statistics of the results. With `--stream`, the
//! plan runs while it is written.

use std::path::Path;
use std::sync::Arc;

use planwright::config::Config;
use planwright::core::check::{CheckedPlan, Policy};
use planwright::core::plan::Mode;
use planwright::core::{PlanConsent, Value};
use planwright::dialects::Dialect;
use planwright::dialects::native::Native;
use planwright::engine::RunId;
use planwright::engine::SecretValues;
use planwright::engine::options::RunOptions;
use planwright::format::{AnswerV1, UsageV1};
use planwright::loaded_plan::LoadedPlan;
use planwright::planner::create::CreatedPlan;
use planwright::planner::document;
use planwright::planner::model::{Model, Usage};
use planwright::service::run_time;
use planwright::stored;
use planwright::telemetry::Telemetry;
use planwright_store::Store;

use super::create::{self, PlanRequirements};
use super::dates::{PlanningDay, PlanningFacts};
use super::{model, progress};
use crate::approval::review::{MAX_CHANGES, ReviewChoice, changed_goal, review};
use crate::args::{AdaptArguments, Approve, AskArguments, Progress, RunFormat};
use crate::error::{CommandError, Exit};
use crate::run::early_run::created;
use crate::run::session::{ConsentOutcome, FinishedRun, RunSession, request_plan_approval};
use crate::runs::store;
use crate::setup::settings::{self, Settings};
use crate::system::signals::Signals;
use crate::system::{environment, telemetry};
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::Toolbox;
use crate::view::printer::{Printer, terminal};
use crate::view::{diagnostics, output};

/// The name of the plan in messages.
pub(super) const SOURCE: &str = "answer";

/// `planwright ask QUESTION`
pub(crate) async fn command(
    arguments: &AskArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let is_streamed = arguments.stream.is_wanted(&arguments.consent)?;
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let known = PlanningFacts::read(&arguments.planning, &config)?;
    let model = model::open(&arguments.model, &config)?;
    let mut signals = Signals::new()?;
    let mut toolbox = tokio::select! {
        toolbox = Toolbox::open(&arguments.tools, None, ServerUse::OnDemand, printer) => toolbox?,
        _ = signals.next() => return Ok(Exit::Interrupted),
    };
    let pins = if arguments.no_store || !toolbox.needs_store(&config) {
        None
    } else {
        Some(store::open(&arguments.store, printer)?)
    };
    toolbox.add_extraction(Arc::clone(&model));
    toolbox.apply_config(&config, pins.as_ref(), printer)?;
    if let Some(note) = toolbox.note_without_source() {
        printer.status(note);
    }
    let durations = create::durations(&arguments.store, arguments.no_store, &toolbox)?;
    known.mention_unclear_times(&arguments.question, printer);
    let day = known.day(&arguments.question);
    let requirements =
        PlanRequirements::new(&arguments.question, &toolbox, &known, durations, &config);
    let asking = AskSession {
        arguments,
        config: &config,
        toolbox: &toolbox,
        model: &model,
        day,
        printer,
    };
    let outcome = if is_streamed {
        Box::pin(asking.stream(&requirements, &mut signals)).await
    } else {
        Box::pin(asking.write(&requirements, &mut signals)).await
    };
    tokio::select! {
        () = toolbox.servers.close() => {}
        // The servers end with the process.
        _ = signals.next() => {}
    }
    match outcome? {
        AskOutcome::CompletedRun(ran) => asking.answer(*ran, signals).await,
        AskOutcome::Nothing(exit) => Ok(exit),
    }
}

/// The services and settings for one question.
pub(super) struct AskSession<'a> {
    pub(super) arguments: &'a AskArguments,
    pub(super) config: &'a Config,
    pub(super) toolbox: &'a Toolbox,
    pub(super) model: &'a Arc<dyn Model>,
    pub(super) day: PlanningDay,
    pub(super) printer: Printer,
}

/// The outcome of the plan.
pub(crate) enum AskOutcome {
    /// The plan ran.
    CompletedRun(Box<CompletedRun>),
    /// No answer; the reason was reported.
    Nothing(Exit),
}

/// The outcome of the review of a plan.
enum PlanReview {
    Run(Box<ApprovedPlan>),
    /// The person asked for this change.
    Change(String),
    /// The plan does not run. The command ends with this exit status.
    Refused(Exit),
}

/// A plan that may run.
struct ApprovedPlan {
    plan: CheckedPlan,
    loaded: LoadedPlan,
    options: RunOptions,
    store: Option<Store>,
    /// The digest of the plan, if a person approved the whole plan.
    approved: Option<PlanConsent>,
    /// The plan as a person has edited it in the review.
    edited: Option<Value>,
}

/// A plan that ran.
pub(crate) struct CompletedRun {
    /// The answer so far.
    pub(super) answer: AnswerV1,
    pub(super) ended: FinishedRun,
    pub(super) loaded: LoadedPlan,
    /// The tokens and the cost of the plan.
    pub(super) usage: Usage,
}

impl AskSession<'_> {
    /// Asks the model for the plan, then runs it. A person who approves it may ask for changes first.
    pub(super) async fn write(
        &self,
        requirements: &PlanRequirements<'_>,
        signals: &mut Signals,
    ) -> Result<AskOutcome, CommandError> {
        let question = &self.arguments.question;
        let mut goal = question.clone();
        let mut usage = Usage::default();
        for number in 0..=MAX_CHANGES {
            let requirements = requirements.with_goal(&goal);
            let created = tokio::select! {
                created = requirements.ask(self.model.as_ref(), &self.arguments.planning) => created,
                _ = signals.next() => return Ok(AskOutcome::Nothing(Exit::Interrupted)),
            };
            progress::report_response(&created, self.model.name(), self.printer);
            let exit = create::exit(&created);
            usage += created.usage;
            let mut answer =
                AnswerV1::new(question, document::created(&created, self.model.name()));
            answer.usage = UsageV1::from(usage);
            let Some(written) = created.plan.filter(|plan| self.is_to_run(plan)) else {
                progress::print_usage(usage, self.printer);
                self.print_document(&answer)?;
                return Ok(AskOutcome::Nothing(exit));
            };
            let approval = tokio::select! {
                approval = self.approve(&written.text) => approval,
                _ = signals.next() => Ok(PlanReview::Refused(Exit::Interrupted)),
            };
            let exit = match approval {
                Ok(PlanReview::Run(mut approved)) => {
                    if let Some(edited) = approved.edited.take() {
                        answer.created.plan = Some(edited);
                    }
                    return Box::pin(self.run(*approved, answer, usage, signals)).await;
                }
                Ok(PlanReview::Change(change)) if number < MAX_CHANGES => {
                    goal = changed_goal(question, &written.text, &change);
                    continue;
                }
                Ok(PlanReview::Change(_)) => {
                    self.printer.status("no more changes are possible");
                    Ok(Exit::Rejected)
                }
                Ok(PlanReview::Refused(exit)) => Ok(exit),
                Err(error) => Err(error),
            };
            // The document contains the plan even if it does not run, because it was paid for.
            self.print_document(&answer)?;
            return exit.map(AskOutcome::Nothing);
        }
        Ok(AskOutcome::Nothing(Exit::Rejected))
    }

    /// Reads and checks the text of a plan.
    fn check(&self, text: &str) -> (LoadedPlan, Option<CheckedPlan>) {
        let policy = self.config.restrict(Policy::new());
        let (plan, loaded) = Self::loaded(text).check(&self.toolbox.catalog, &policy);
        (loaded, plan)
    }

    /// Lets a person review or approve the plan, if the arguments require it.
    async fn approve(&self, text: &str) -> Result<PlanReview, CommandError> {
        let refused = Ok(PlanReview::Refused(Exit::Rejected));
        // The plan was checked against the same tools before.
        let (mut loaded, plan) = self.check(text);
        let Some(mut plan) = plan else {
            diagnostics::show_for(&loaded, RunFormat::Text, self.printer);
            return refused;
        };
        let store = self.store()?;
        let consent = &self.arguments.consent;
        let is_reviewed = consent.approve == Approve::Plan(None) && terminal().is_ok();
        let mut edited_plan = None;
        if is_reviewed {
            let check = |text: &str| self.check(text);
            match review(store.as_ref(), &plan, text, &check, self.printer).await {
                ReviewChoice::Run => {}
                ReviewChoice::Edited(text) => {
                    let (edited, checked) = self.check(&text);
                    let Some(checked) = checked else {
                        return refused;
                    };
                    (loaded, plan) = (edited, checked);
                    let written = Native.print(plan.plan()).0;
                    edited_plan = written.and_then(|text| Value::from_json(&text).ok());
                }
                ReviewChoice::Change(change) => return Ok(PlanReview::Change(change)),
                ReviewChoice::Reject => {
                    self.printer
                        .status("the plan was not approved; nothing was called");
                    return refused;
                }
            }
        }
        let options = self.options(store.as_ref(), environment::get(&plan, self.config)?)?;
        let digest = stored::plan_consent(&plan, &options);
        let approved = if is_reviewed {
            Some(digest)
        } else {
            match request_plan_approval(consent, (&plan, digest), store.as_ref(), self.printer)? {
                ConsentOutcome::Run(approved) => approved,
                ConsentOutcome::Refused(exit) => return Ok(PlanReview::Refused(exit)),
            }
        };
        Ok(PlanReview::Run(Box::new(ApprovedPlan {
            plan,
            loaded,
            options,
            store,
            approved,
            edited: edited_plan,
        })))
    }

    /// Runs an approved plan.
    async fn run(
        &self,
        plan: ApprovedPlan,
        answer: AnswerV1,
        usage: Usage,
        signals: &mut Signals,
    ) -> Result<AskOutcome, CommandError> {
        let ApprovedPlan {
            plan,
            loaded,
            options,
            store,
            approved,
            edited: _,
        } = plan;
        let id = RunId::random();
        let session = self.session(
            &id,
            (&plan, &loaded),
            store.as_ref(),
            telemetry::open(self.config)?,
        )?;
        let segment = session.first_segment(&self.arguments.tools, options, approved)?;
        let options = segment.options.clone();
        let mut ended = Box::pin(session.run(segment, signals)).await?;
        // After an interruption, the person decides whether to revert.
        if let Some(ended) = &mut ended
            && session.wants_revert(&ended.summary)
            && !signals.has_received()
        {
            let reverted = Box::pin(session.revert_failed(options, signals)).await;
            ended.summary.revert = Some(Box::new(reverted));
        }
        Ok(match ended {
            Some(ended) => AskOutcome::CompletedRun(Box::new(CompletedRun {
                answer,
                ended,
                loaded,
                usage,
            })),
            None => AskOutcome::Nothing(Exit::Interrupted),
        })
    }

    /// Returns true if the plan asks to be run.
    pub(super) fn is_to_run(&self, plan: &CreatedPlan) -> bool {
        let is_to_run = plan.checked.plan().mode == Mode::Run;
        if !is_to_run {
            self.printer
                .status("the plan says that it is only to be shown, so it is not run");
        }
        is_to_run
    }

    pub(super) fn store(&self) -> Result<Option<Store>, CommandError> {
        if self.arguments.no_store {
            return Ok(None);
        }
        store::open(&self.arguments.store, self.printer).map(Some)
    }

    pub(super) fn options(
        &self,
        store: Option<&Store>,
        secret_values: SecretValues,
    ) -> Result<RunOptions, CommandError> {
        let overrides = self.arguments.guards.overrides(RunOptions::default());
        let mut options = RunOptions {
            secrets: self.toolbox.secrets(),
            secret_values,
            seal_key: store::seal_key(store)?,
            ..overrides.options(self.config)
        };
        options.evaluation.now = Some(run_time());
        if let Some(store) = store {
            options.durations = store.durations().map_err(store::explain)?;
        }
        Ok(options)
    }

    /// Creates the session of the run, with the model that may revise the plan.
    pub(super) fn session<'c>(
        &'c self,
        id: &'c RunId,
        (plan, loaded): (&'c CheckedPlan, &'c LoadedPlan),
        store: Option<&'c Store>,
        telemetry: Telemetry,
    ) -> Result<RunSession<'c>, CommandError> {
        let arguments = AdaptArguments {
            replan: self.arguments.replan,
            repair: self.arguments.repair,
            model: self.arguments.model.clone(),
        };
        let moment = &self.arguments.planning.moment;
        let adaptation = arguments.with(self.model, self.config, moment)?;
        Ok(RunSession {
            service: self.toolbox.service(self.config, &telemetry),
            id,
            plan,
            loaded,
            toolbox: self.toolbox,
            store,
            durations: None,
            consent: &self.arguments.consent,
            format: self.arguments.format,
            progress: Progress::Auto,
            drain: self.arguments.drain.limit,
            max_output: self.max_output(),
            printer: self.printer,
            telemetry,
            adaptation,
            revisions: Vec::new(),
        })
    }

    /// Returns the maximum number of bytes that are shown of one value.
    pub(super) fn max_output(&self) -> Option<u64> {
        self.arguments.guards.max_output(self.config)
    }

    /// Parses a created plan, in the form in which it is stored.
    pub(super) fn loaded(text: &str) -> LoadedPlan {
        created(SOURCE, text)
    }

    pub(super) fn print_document(&self, answer: &AnswerV1) -> Result<(), CommandError> {
        match self.arguments.format {
            RunFormat::Text => Ok(()),
            format @ (RunFormat::Json | RunFormat::Events) => {
                output::json(answer, format, self.printer)
            }
        }
    }
}
