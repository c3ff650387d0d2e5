//! `planwright create`, and the creation of plans for other commands.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use planwright::config::Config;
use planwright::core::check::{CheckContext, CheckedPlan, Library, Policy};
use planwright::core::expression::EvaluationLimits;
use planwright::core::text::hex;
use planwright::core::{Catalog, Object, Value};
use planwright::dialects::native::Native;
use planwright::dialects::native::PlanDialect;
use planwright::dialects::{ReadOptions, parse_as};
use planwright::engine::Durations;
use planwright::engine::RunId;
use planwright::engine::run::estimate;
use planwright::engine::schedule::ConcurrencyLimits;
use planwright::format::CreatedV1;
use planwright::planner::create::{CreateSettings, PlanOrigin, PlanRequest, PlanResponse, create};
use planwright::planner::document;
use planwright::planner::model::Model;
use planwright::planner::prompt::PlanTask;
use planwright::planner::stream::{
    EarlyRunStorage, RunLauncher, StreamEvent, StreamOutcome, StreamRequest, stream,
};
use sha2::{Digest, Sha256};

use super::dates::{PlanningDay, PlanningFacts};
use super::model;
use crate::args::{CreateArguments, Format, PlanningArguments, RunFormat, StoreArguments};
use crate::error::{CommandError, Exit};
use crate::runs::{exchange, store};
use crate::setup::settings::{self, Settings};
use crate::system::{environment, text_file};
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::Toolbox;
use crate::view::output;
use crate::view::printer::Printer;

/// `planwright create GOAL`
pub(crate) async fn command(
    arguments: &CreateArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    if let Some(file) = &arguments.output {
        text_file::may_write(file, arguments.force)?;
    }
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let known = PlanningFacts::read(&arguments.planning, &config)?;
    // A missing model is reported before servers start. To show the prompt, no model is needed.
    let model = if arguments.show_prompt {
        None
    } else {
        Some(model::open(&arguments.model, &config)?)
    };
    let mut toolbox = Toolbox::open(&arguments.tools, None, ServerUse::OnDemand, printer).await?;
    toolbox.servers.close().await;
    let pins = if arguments.no_store || !toolbox.needs_store(&config) {
        None
    } else {
        Some(store::open(&arguments.store, printer)?)
    };
    // This command runs no plan, so `extract` steps are checked without a model that extracts.
    toolbox.catalog.add_extraction();
    toolbox.apply_config(&config, pins.as_ref(), printer)?;
    if let Some(note) = toolbox.note_without_source() {
        printer.status(note);
    }
    let durations = durations(&arguments.store, arguments.no_store, &toolbox)?;
    known.mention_unclear_times(&arguments.goal, printer);
    let requirements = PlanRequirements {
        allows_unknown_tools: arguments.allow_unknown_tools,
        ..PlanRequirements::new(&arguments.goal, &toolbox, &known, durations, &config)
    };
    let Some(model) = model else {
        let prompt = requirements.task().prompt(
            arguments.planning.tool_tokens,
            CreateSettings::default().memory_tokens,
            requirements.dialect,
        );
        printer.untrusted_data(&format!("{}\n{}", prompt.system, prompt.text));
        return Ok(Exit::Success);
    };
    let earlier = if arguments.cache {
        cached(&requirements, model.name())?
    } else {
        None
    };
    let (text, report, exit) = match earlier {
        Some(text) => {
            printer.status("the plan comes from the cache");
            let report = CreatedV1::cached(Value::from_json(&text).ok(), model.name());
            (Some(text), report, Exit::Success)
        }
        None => {
            let created = requirements.ask(model.as_ref(), &arguments.planning).await;
            super::progress::report_response(&created, model.name(), printer);
            super::progress::print_usage(created.usage, printer);
            let report = document::created(&created, model.name());
            let exit = exit(&created);
            let text = created.plan.map(|plan| plan.text);
            if let (Some(text), true) = (&text, arguments.cache)
                && let Err(error) = store_in_cache(&requirements.key(model.name()), text)
            {
                printer.quote(&format!("warning: the plan is not in the cache: {error}"));
            }
            (text, report, exit)
        }
    };
    let delivered = match &text {
        Some(text) => deliver(text, arguments, printer),
        None => Ok(()),
    };
    // A plan that cannot be stored is still shown, because the request was paid for.
    let is_shown = arguments.output.is_none() || delivered.is_err();
    match (arguments.format, &text) {
        (Format::Json, _) => output::json(&report, RunFormat::Json, printer)?,
        (Format::Text, Some(text)) if is_shown => printer.untrusted_data(text),
        (Format::Text, _) => {}
    }
    delivered.map(|()| exit)
}

/// Writes the plan to the requested file, and stores it under the requested name.
fn deliver(text: &str, arguments: &CreateArguments, printer: Printer) -> Result<(), CommandError> {
    if let Some(file) = &arguments.output {
        text_file::write(text, file, arguments.force)?;
        printer.quote(&format!("written to `{}`", file.display()));
    }
    if let Some(name) = &arguments.save {
        let store = store::open(&arguments.store, printer)?;
        let plan = parse_as(&Native, text.as_bytes(), &ReadOptions::new(name)).plan;
        let plan = plan.unwrap_or_default();
        exchange::save_plan(
            &store,
            name.clone(),
            text.to_owned(),
            (Some("native"), &plan),
            printer,
        )?;
    }
    Ok(())
}

/// Returns the durations of calls, from earlier runs and simulated tools.
pub(crate) fn durations(
    arguments: &StoreArguments,
    no_store: bool,
    toolbox: &Toolbox,
) -> Result<Durations, CommandError> {
    let mut known = toolbox.durations.clone();
    if !no_store && let Some(store) = store::open_existing(arguments)? {
        let learned = store.durations().map_err(store::explain)?;
        for (server, tool, learned) in learned.tools() {
            known.insert(server, tool, learned);
        }
    }
    Ok(known)
}

/// Returns the exit status for the outcome of a plan request.
pub(crate) fn exit(created: &PlanResponse) -> Exit {
    match (&created.plan, &created.failure) {
        (Some(_), _) => Exit::Success,
        (None, Some(_)) => Exit::Failed,
        (None, None) => Exit::Rejected,
    }
}

/// Returns the cached plan; `None` if there is none, or if it has errors now.
fn cached(
    requirements: &PlanRequirements<'_>,
    model: &str,
) -> Result<Option<String>, CommandError> {
    let Some(text) = get(&requirements.key(model))? else {
        return Ok(None);
    };
    let result = parse_as(&Native, text.as_bytes(), &ReadOptions::new("cached"));
    let sound = result
        .plan
        .filter(|_| !result.diagnostics.has_errors())
        .and_then(|plan| planwright::core::check(plan, &requirements.context()).0);
    Ok(sound.map(|_| text))
}

/// Returns the dialect in which the model writes plans: from the arguments, else from the configuration.
fn dialect(known: &PlanningFacts, config: &Config) -> PlanDialect {
    let configured = config.model().dialect;
    known.dialect.or(configured).unwrap_or_default()
}

/// The services that run a plan while the model is still writing it.
pub(crate) struct EarlyRunServices<'a> {
    pub(crate) launcher: &'a dyn RunLauncher,
    /// The run's id.
    pub(crate) run: &'a RunId,
    pub(crate) storage: &'a dyn EarlyRunStorage,
    pub(crate) listener: &'a mut (dyn FnMut(StreamEvent<'_>) + Send),
}

/// The requirements of a plan: its goal, and the material that the model receives.
pub(crate) struct PlanRequirements<'a> {
    goal: &'a str,
    day: PlanningDay,
    timestamp: String,
    catalog: &'a Catalog,
    durations: Durations,
    known: &'a PlanningFacts,
    dialect: PlanDialect,
    library: Library,
    policy: Policy,
    /// True if the plan may name tools that do not exist.
    allows_unknown_tools: bool,
    inputs: Object,
}

impl<'a> PlanRequirements<'a> {
    /// A plan for `goal` with the tools of `toolbox`.
    pub(crate) fn new(
        goal: &'a str,
        toolbox: &'a Toolbox,
        known: &'a PlanningFacts,
        durations: Durations,
        config: &Config,
    ) -> Self {
        Self {
            goal,
            day: known.day(goal),
            timestamp: known.now.timestamp(),
            catalog: &toolbox.catalog,
            durations,
            known,
            dialect: dialect(known, config),
            library: Library::new(),
            policy: config.restrict(Policy::new()),
            inputs: Object::default(),
            allows_unknown_tools: false,
        }
    }

    /// Returns the same requirements for another wording of the goal, with the day and the date phrases of the first wording.
    pub(crate) fn with_goal<'b>(&self, goal: &'b str) -> PlanRequirements<'b>
    where
        'a: 'b,
    {
        PlanRequirements {
            goal,
            day: self.day.clone(),
            timestamp: self.timestamp.clone(),
            catalog: self.catalog,
            durations: self.durations.clone(),
            known: self.known,
            dialect: self.dialect,
            library: self.library.clone(),
            policy: self.policy.clone(),
            allows_unknown_tools: self.allows_unknown_tools,
            inputs: self.inputs.clone(),
        }
    }

    /// Asks the model for the plan.
    pub(crate) async fn ask(
        &self,
        model: &dyn Model,
        arguments: &PlanningArguments,
    ) -> PlanResponse {
        let waiting = super::progress::Waiting::new(&format!("{} writes a plan", model.name()));
        let estimate = |plan: &CheckedPlan| self.estimate(plan);
        let settings = self.settings(arguments);
        let created = create(&self.creation(model, &settings, &estimate)).await;
        waiting.end();
        created
    }

    /// Asks the model for the plan, and runs it while it is being written.
    pub(crate) async fn run(
        &self,
        model: &dyn Model,
        arguments: &PlanningArguments,
        early_run: EarlyRunServices<'_>,
    ) -> StreamOutcome {
        let estimate = |plan: &CheckedPlan| self.estimate(plan);
        let settings = self.settings(arguments);
        let streaming = StreamRequest {
            creation: self.creation(model, &settings, &estimate),
            launcher: early_run.launcher,
            run: early_run.run.clone(),
            storage: Some(early_run.storage),
            listener: early_run.listener,
        };
        stream(streaming).await
    }

    fn settings(&self, arguments: &PlanningArguments) -> CreateSettings {
        let mut settings = CreateSettings::default();
        settings.dialect = self.dialect;
        settings.tries = arguments.tries;
        settings.tool_tokens = arguments.tool_tokens;
        settings.allows_unknown_tools = self.allows_unknown_tools;
        settings
    }

    fn creation<'c>(
        &'c self,
        model: &'c dyn Model,
        settings: &'c CreateSettings,
        estimate: &'c (dyn Fn(&CheckedPlan) -> Option<Duration> + Sync),
    ) -> PlanRequest<'c> {
        PlanRequest {
            model,
            task: self.task(),
            check: self.context(),
            origin: PlanOrigin {
                timestamp: &self.timestamp,
                estimate,
            },
            settings,
        }
    }

    fn task(&self) -> PlanTask<'_> {
        PlanTask {
            goal: self.goal,
            moment: self.day.moment(),
            catalog: self.catalog,
            memory: self.known.memory.as_ref(),
            state: self.known.state.as_ref(),
        }
    }

    fn context(&self) -> CheckContext<'_> {
        CheckContext::new(self.catalog)
            .with_library(&self.library)
            .with_policy(&self.policy)
            .with_inputs(&self.inputs)
    }

    /// Returns the expected duration of a run; `None` if the duration of a tool is unknown.
    fn estimate(&self, plan: &CheckedPlan) -> Option<Duration> {
        let limits = ConcurrencyLimits::default();
        estimate(plan, &self.durations, &limits, &EvaluationLimits::default()).known()
    }

    /// Returns the cache key of a plan: a digest of the whole prompt.
    fn key(&self, model: &str) -> String {
        let budget = usize::MAX;
        let goal = normalize_goal(self.goal);
        let task = PlanTask {
            goal: &goal,
            ..self.task()
        };
        let prompt = task.prompt(budget, budget, self.dialect);
        key(&[&prompt.system, model, &prompt.text, &self.schemas()])
    }

    /// Returns the full schemas of all tools: signatures in the prompt omit parts of them.
    fn schemas(&self) -> String {
        let tools = self.catalog.tools().map(|tool| {
            let (input, output) = (tool.input.as_value(), tool.output.as_value());
            format!("{} {input} {output}", tool.qualified_name())
        });
        tools.collect::<Vec<_>>().join("\n")
    }
}

/// Returns `goal` without differences that do not change its meaning: repeated spaces, the mark at its end, and a capital at its
/// beginning. Other capitals may belong to a name or an id.
fn normalize_goal(goal: &str) -> String {
    let words: Vec<&str> = goal.split_whitespace().collect();
    let words = words.join(" ");
    let words = words.trim_end_matches(['?', '.', '!', ' ']);
    let is_word = |word: &str| word.chars().skip(1).all(char::is_lowercase);
    let mut letters = words.chars();
    match letters.next() {
        Some(first) if words.split(' ').next().is_some_and(is_word) => {
            first.to_lowercase().chain(letters).collect()
        }
        Some(_) | None => words.to_owned(),
    }
}

/// Returns a digest of several texts.
fn key(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hex(&hasher.finalize())
}

/// Reads the cached plan with this key.
fn get(key: &str) -> Result<Option<String>, CommandError> {
    let file = file(key)?;
    match std::fs::read_to_string(&file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CommandError::unreadable(&file, &error)),
    }
}

/// Writes a plan to the cache.
fn store_in_cache(key: &str, text: &str) -> Result<(), CommandError> {
    let file = file(key)?;
    if let Some(folder) = file.parent() {
        text_file::create_folder(folder)?;
    }
    // Replaces the file atomically; only its owner can read it.
    text_file::write(text, &file, true)
}

fn file(key: &str) -> Result<PathBuf, CommandError> {
    let folder = environment::data_folder().ok_or_else(|| {
        CommandError::new("there is no data folder").hint("set `HOME` or `XDG_DATA_HOME`")
    })?;
    Ok(folder.join("created").join(format!("{key}.json")))
}
