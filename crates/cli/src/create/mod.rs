//! `planwright create`: a model writes a plan.

mod cache;
pub(crate) mod progress;

use std::path::Path;
use std::time::Duration;

use planwright::config::Config;
use planwright::core::check::{CheckContext, CheckedPlan, Library, Policy};
use planwright::core::expression::EvaluationLimits;
use planwright::core::{Catalog, Object, Value};
use planwright::dialects::{ReadOptions, native::Native, parse_as};
use planwright::engine::run::estimate;
use planwright::engine::schedule::ConcurrencyLimits;
use planwright::engine::{Durations, Engine};
use planwright::format::CreatedV1;
use planwright::planner::create::{CreateSettings, PlanOrigin, PlanRequest, PlanResponse, create};
use planwright::planner::dates::{Now, find};
use planwright::planner::document;
use planwright::planner::model::Model;
use planwright::planner::prompt::{Memory, PlanDialect, PlanTask, TimeContext, TimePhrase};
use planwright::planner::stream::{
    EarlyRunStorage, StreamEvent, StreamOutcome, StreamRequest, stream,
};

use super::args::{CreateArguments, Format, PlanningArguments, RunFormat, StoreArguments};
use super::error::CommandError;
use super::exit::Exit;
use super::printer::Printer;
use super::settings::{self, Settings};
use super::toolbox::Toolbox;
use super::{convert, dates, model, store, text_file};
use crate::runs::stored_plans;
use crate::view::output;

/// `planwright create GOAL`
pub(crate) async fn command(
    arguments: &CreateArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    if let Some(file) = &arguments.output {
        convert::may_write(file, arguments.force)?;
    }
    let Settings { config, .. } = settings::load(Path::new("."))?;
    let known = Known::read(&arguments.planning)?;
    let mut toolbox = Toolbox::open(&arguments.tools, None, printer).await?;
    toolbox.close().await;
    let pins = if arguments.no_store || !toolbox.has_pins(&config) {
        None
    } else {
        Some(store::open(&arguments.store, printer)?)
    };
    toolbox.govern(&config, pins.as_ref(), printer)?;
    for note in toolbox.notes() {
        printer.talk(&note);
    }
    let durations = durations(&arguments.store, arguments.no_store, &toolbox)?;
    known.mention_unclear_times(&arguments.goal, printer);
    let wanted = Wanted::new(&arguments.goal, &toolbox, &known, durations, &config);
    if arguments.show_prompt {
        let task = wanted.task().text(
            arguments.planning.tool_tokens,
            CreateSettings::default().memory_tokens,
            wanted.notation,
        );
        printer.data(&format!("{}\n\n{task}", wanted.notation.writing()));
        return Ok(Exit::Success);
    }
    let model = model::open(&arguments.model, &config)?;
    let earlier = if arguments.cache {
        cached(&wanted, model.name())?
    } else {
        None
    };
    let (text, report, exit) = match earlier {
        Some(text) => {
            printer.talk("the plan is the one of the last time");
            let report = CreatedV1::cached(Value::from_json(&text).ok(), model.name());
            (Some(text), report, Exit::Success)
        }
        None => {
            let created = wanted.ask(model.as_ref(), &arguments.planning).await;
            progress::tell(&created, model.name(), printer);
            progress::usage(created.usage, printer);
            let report = document::created(&created, model.name());
            let exit = exit(&created);
            let text = created.plan.map(|plan| plan.text);
            if let (Some(text), true) = (&text, arguments.cache) {
                cache::keep(&wanted.key(model.name()), text)?;
            }
            (text, report, exit)
        }
    };
    if let Some(text) = &text {
        deliver(text, arguments, printer)?;
    }
    match (arguments.format, &text) {
        (Format::Json, _) => output::json(&report, RunFormat::Json, printer)?,
        (Format::Text, Some(text)) if arguments.output.is_none() => printer.data(text),
        (Format::Text, _) => {}
    }
    Ok(exit)
}

/// Puts the plan where it was wished to be.
fn deliver(text: &str, arguments: &CreateArguments, printer: Printer) -> Result<(), CommandError> {
    if let Some(file) = &arguments.output {
        convert::write(text, file, arguments.force)?;
        printer.quote(&format!("written to `{}`", file.display()));
    }
    if let Some(name) = &arguments.save {
        let store = store::open(&arguments.store, printer)?;
        let plan = parse_as(&Native, text.as_bytes(), &ReadOptions::new(name)).plan;
        let plan = plan.unwrap_or_default();
        stored_plans::keep(
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
    if !no_store && let Some(store) = store::open_if_there(arguments)? {
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

/// The plan of an earlier time, where it is still sound.
fn cached(wanted: &Wanted<'_>, model: &str) -> Result<Option<String>, CommandError> {
    let Some(text) = cache::get(&wanted.key(model))? else {
        return Ok(None);
    };
    let result = parse_as(&Native, text.as_bytes(), &ReadOptions::new("cached"));
    let sound = result
        .plan
        .filter(|_| !result.diagnostics.has_errors())
        .and_then(|plan| planwright::core::check(plan, &wanted.context()).0);
    Ok(sound.map(|_| text))
}

/// In what the model writes: as the arguments say, else as the configuration does.
fn notation(known: &Known, config: &Config) -> PlanDialect {
    let configured = || PlanDialect::named(config.model().notation?.as_str());
    known.notation.or_else(configured).unwrap_or_default()
}

/// The facts beside the goal.
#[derive(Debug)]
pub(crate) struct Known {
    now: Now,
    memory: Option<Memory>,
    state: Option<Value>,
    notation: Option<PlanDialect>,
}

impl Known {
    /// The JSON Schema of the state that is to be filled.
    pub(crate) fn state(&self) -> Option<&Value> {
        self.state.as_ref()
    }

    /// Reads the files that the arguments name.
    pub(crate) fn read(arguments: &PlanningArguments) -> Result<Self, CommandError> {
        let memory = match &arguments.context {
            Some(path) => Some(Memory::read(&json(path)?).map_err(|error| {
                CommandError::new(format!("`{}` cannot be used: {error}", path.display())).hint(
                    "write it as {\"semantic\": [{\"text\", \"score\"}], \"episodic\": [{\"query\"}], \"entities\": [\"kind:name\"]}",
                )
            })?),
            None => None,
        };
        let state = arguments.state.as_deref().map(json).transpose()?;
        if let (Some(state), Some(path)) = (&state, &arguments.state)
            && state.get("properties").and_then(Value::as_object).is_none()
        {
            return Err(CommandError::new(format!(
                "`{}` describes no state",
                path.display()
            ))
            .hint("write it as a JSON Schema: {\"type\": \"object\", \"properties\": {NAME: {…}}}"));
        }
        Ok(Self {
            now: dates::now(&arguments.moment)?,
            memory,
            state,
            notation: arguments.notation.map(PlanDialect::from),
        })
    }
}

impl Known {
    /// The day, and what the phrases of time in `text` mean.
    pub(crate) fn day(&self, text: &str) -> Day {
        Day::of(text, &self.now, &self.now)
    }

    /// Reports the phrases of time whose meaning is left to the model.
    pub(crate) fn mention_unclear_times(&self, goal: &str, printer: Printer) {
        for mention in find(goal, &self.now) {
            if let Err(error) = mention.meaning {
                printer.quote(&format!("warning: {error}; {}", error.help()));
            }
        }
    }
}

/// The date and the phrases of time of a question, for a model.
#[derive(Clone, Debug)]
pub(crate) struct Day {
    today: String,
    times: Vec<TimePhrase>,
}

impl Day {
    /// The day of `now`, and what the phrases of time in `text` mean, which was said at the moment `asked`.
    pub(crate) fn of(text: &str, asked: &Now, now: &Now) -> Self {
        Self {
            today: now.to_string(),
            times: TimePhrase::all(text, asked),
        }
    }

    pub(crate) fn moment(&self) -> TimeContext<'_> {
        TimeContext {
            today: &self.today,
            times: &self.times,
        }
    }
}

fn json(path: &Path) -> Result<Value, CommandError> {
    let text = text_file::read(path).map_err(|error| CommandError::unreadable(path, &error))?;
    Value::from_json(&text)
        .map_err(|error| CommandError::new(format!("`{}` is not JSON: {error}", path.display())))
}

/// The parts that run a plan while it is written.
pub(crate) struct RunAhead<'a> {
    pub(crate) engine: &'a Engine,
    /// The run's id.
    pub(crate) run: &'a str,
    pub(crate) keeper: &'a dyn EarlyRunStorage,
    pub(crate) listener: &'a mut (dyn FnMut(StreamEvent<'_>) + Send),
}

/// A plan that is wanted, and all that it is written from.
pub(crate) struct Wanted<'a> {
    goal: &'a str,
    day: Day,
    timestamp: String,
    catalog: &'a Catalog,
    durations: Durations,
    known: &'a Known,
    notation: PlanDialect,
    library: Library,
    policy: Policy,
    given: Object,
}

impl<'a> Wanted<'a> {
    /// A plan for `goal` with the tools of `toolbox`.
    pub(crate) fn new(
        goal: &'a str,
        toolbox: &'a Toolbox,
        known: &'a Known,
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
            notation: notation(known, config),
            library: Library::new(),
            policy: config.restrict(Policy::new()),
            given: Object::default(),
        }
    }

    /// Asks for it.
    pub(crate) async fn ask(
        &self,
        model: &dyn Model,
        arguments: &PlanningArguments,
    ) -> PlanResponse {
        let waiting = progress::Waiting::new(&format!("{} writes a plan", model.name()));
        let estimate = |plan: &CheckedPlan| Some(self.estimate(plan));
        let settings = self.settings(arguments);
        let created = create(&self.creation(model, &settings, &estimate)).await;
        waiting.end();
        created
    }

    /// Asks for it, and runs it while it is written.
    pub(crate) async fn run(
        &self,
        model: &dyn Model,
        arguments: &PlanningArguments,
        ahead: RunAhead<'_>,
    ) -> StreamOutcome {
        let estimate = |plan: &CheckedPlan| Some(self.estimate(plan));
        let settings = self.settings(arguments);
        let streaming = StreamRequest {
            creation: self.creation(model, &settings, &estimate),
            engine: ahead.engine,
            run: ahead.run.into(),
            keeper: Some(ahead.keeper),
            listener: ahead.listener,
        };
        stream(streaming).await
    }

    fn settings(&self, arguments: &PlanningArguments) -> CreateSettings {
        let mut settings = CreateSettings::default();
        settings.notation = self.notation;
        settings.tries = arguments.tries;
        settings.tool_tokens = arguments.tool_tokens;
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
            .with_given(&self.given)
    }

    /// Returns the expected duration of a run.
    fn estimate(&self, plan: &CheckedPlan) -> Duration {
        let limits = ConcurrencyLimits::default();
        estimate(plan, &self.durations, &limits, &EvaluationLimits::default()).expected
    }

    /// Returns the key by which a plan is found again: a digest of the whole prompt.
    fn key(&self, model: &str) -> String {
        let budget = usize::MAX;
        cache::key(&[
            self.notation.writing(),
            model,
            &self.task().text(budget, budget, self.notation),
            &self.schemas(),
        ])
    }

    /// The tools as they are, which their signatures tell in part.
    fn schemas(&self) -> String {
        let tools = self.catalog.tools().map(|tool| {
            let (input, output) = (tool.input.as_value(), tool.output.as_value());
            format!("{} {input} {output}", tool.qualified_name())
        });
        tools.collect::<Vec<_>>().join("\n")
    }
}
