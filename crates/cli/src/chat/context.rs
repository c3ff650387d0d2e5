//! The context of a conversation: open services, settings, output, and the execution of plans.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indexmap::IndexMap;
use planwright::Planwright;
use planwright::config::Config;
use planwright::core::check::{CheckedPlan, Policy};
use planwright::core::{Object, Tool, Value};
use planwright::dialects::{ReadOptions, parse};
use planwright::engine::RunId;
use planwright::engine::approval::Approver;
use planwright::engine::options::RunOptions;
use planwright::engine::{RunStatus, RunSummary, SecretValues, StampedEvent};
use planwright::format::{EventV1, UsageV1};
use planwright::loaded_plan::LoadedPlan;
use planwright::planner::model::{Model, Usage};
use planwright::service::{RunOverrides, RunSpec, RunStorage, Tools};
use planwright::stored::{ProcessSecrets, ResumeRequest, StoredRun};
use planwright::telemetry::Telemetry;
use planwright_store::{LeasedRun, Store, StoreError};

use super::library::{CallCounter, ChatLibrary};
use super::tool_offer::tools_by_name;
use super::turn_runs::TurnRuns;
use crate::approval::approver::{ApprovalSubject, approver};
use crate::args::{Approve, ChatArguments, ConsentArguments, Progress, RunFormat};
use crate::error::CommandError;
use crate::planning::dates::PlanningFacts;
use crate::planning::progress;
use crate::runs::store;
use crate::system::signals::Signals;
use crate::system::{environment, telemetry};
use crate::tools::open_servers::ServerUse;
use crate::tools::toolbox::Toolbox;
use crate::view::live::{EndedStepLines, Live};
use crate::view::output;
use crate::view::printer::Printer;

/// The time limit of one attempt at a call.
const ATTEMPT: Duration = Duration::from_mins(1);

/// The context of a conversation.
pub(super) struct ChatContext<'a> {
    pub(super) arguments: &'a ChatArguments,
    pub(super) config: &'a Config,
    pub(super) toolbox: Toolbox,
    pub(super) tools: IndexMap<String, Arc<Tool>>,
    pub(super) backend: CallCounter,
    pub(super) model: Arc<dyn Model>,
    pub(super) known: PlanningFacts,
    /// Plans that the model may call.
    pub(super) chat_library: ChatLibrary,
    pub(super) store: Option<Store>,
    pub(super) output: ChatOutput,
    pub(super) printer: Printer,
    pub(super) telemetry: Telemetry,
    /// True if plans run while they are written.
    pub(super) is_streamed: bool,
    /// True if the model may have read untrusted text.
    pub(super) is_exposed: AtomicBool,
    /// The runs in progress.
    pub(super) runs: TurnRuns,
    /// The lock of the terminal, whose owner may ask the person a question.
    pub(super) turn: Arc<tokio::sync::Mutex<()>>,
}

impl<'a> ChatContext<'a> {
    /// Opens the tools and the store, for a conversation that has already made `calls` calls.
    pub(super) async fn open(
        arguments: &'a ChatArguments,
        config: &'a Config,
        model: Arc<dyn Model>,
        calls: u64,
        printer: Printer,
    ) -> Result<Self, CommandError> {
        let known = PlanningFacts::read(&arguments.planning, config)?;
        let library = arguments.acts.library.as_deref();
        let chat_library = library
            .map(ChatLibrary::open)
            .transpose()?
            .unwrap_or_default();
        let store = if arguments.no_store {
            None
        } else {
            Some(store::open(&arguments.store, printer)?)
        };
        let mut toolbox =
            Toolbox::open(&arguments.tools, None, ServerUse::OnDemand, printer).await?;
        toolbox.add_extraction(Arc::clone(&model));
        toolbox.apply_config(config, store.as_ref(), printer)?;
        if let Some(note) = toolbox.note_without_source() {
            printer.status(note);
        }
        Ok(Self {
            arguments,
            config,
            tools: tools_by_name(&toolbox.catalog),
            backend: CallCounter::new(toolbox.backends.clone(), arguments.bounds.calls, calls),
            toolbox,
            model,
            known,
            chat_library,
            store,
            output: ChatOutput::new(arguments.format, printer),
            printer,
            telemetry: telemetry::open(config)?,
            is_streamed: false,
            // The model sees the results of earlier calls again.
            is_exposed: AtomicBool::new(calls > 0),
            runs: TurnRuns::default(),
            turn: Arc::default(),
        })
    }

    /// Waits until a person has interrupted the turn and its runs have ended.
    pub(super) async fn wait_for_interruption(&self, signals: &mut Signals) {
        let limit = self.arguments.drain.limit;
        self.runs
            .wait_for_interruption(signals, limit, self.printer)
            .await;
    }

    /// Returns true if the conversation is stored.
    pub(super) fn is_stored(&self) -> bool {
        self.store.is_some()
    }

    /// Reads a plan. Messages call it `name`.
    pub(super) fn read(name: &str, text: &str, dialect: Option<&str>) -> LoadedPlan {
        let options = ReadOptions {
            dialect,
            ..ReadOptions::new(name)
        };
        LoadedPlan::new(name, parse(text.as_bytes(), &options))
    }

    /// Checks a plan against the tools under the configuration.
    pub(super) fn check(&self, loaded: LoadedPlan) -> (Option<CheckedPlan>, LoadedPlan) {
        loaded.check(&self.toolbox.catalog, &self.policy())
    }

    /// Returns the rules for the next plan of the model.
    fn policy(&self) -> Policy {
        self.planner_config().restrict(Policy::new())
    }

    /// Returns the configuration for the next plan of the model.
    pub(super) fn planner_config(&self) -> Config {
        let config = self.config.clone();
        if self.is_exposed.load(Ordering::Relaxed) {
            config.with_exposed_planner()
        } else {
            config
        }
    }

    /// Records that the model sees the result of a run.
    pub(super) fn expose(&self, plan: &CheckedPlan, summary: &RunSummary) {
        // Error texts are untrusted, and the model sees them even if the plan handles the errors.
        let is_failed = summary.status != RunStatus::Succeeded || summary.has_error_texts();
        let flow = summary.flow.as_ref().or(plan.flow());
        if is_failed || flow.is_none_or(|flow| flow.exposes) {
            self.is_exposed.store(true, Ordering::Relaxed);
        }
    }

    /// Runs a plan to its end. The run is stored if the plan calls tools and the conversation has a store.
    pub(super) async fn run(
        &self,
        id: &RunId,
        loaded: &LoadedPlan,
        plan: &CheckedPlan,
        is_approved: bool,
    ) -> Result<RunSummary, CommandError> {
        let options = self.options(environment::get(plan, self.config)?);
        let storage = match self.store.as_ref().filter(|_| calls(plan)) {
            None => RunStorage::Nothing,
            Some(store) => RunStorage::New {
                store: store.clone(),
                holder: store::this_process(),
                run: Box::new(loaded.new_run(store::sources(&self.arguments.tools)?, store::now())),
            },
        };
        let spec = RunSpec {
            id: id.clone(),
            options,
            storage,
            ..RunSpec::new(plan.clone())
        };
        self.drive(spec, is_approved).await
    }

    /// Returns the options of a new run.
    pub(super) fn options(&self, secret_values: SecretValues) -> RunOptions {
        let overrides = RunOverrides {
            base: RunOptions {
                secrets: self.toolbox.secrets(),
                secret_values,
                attempt_timeout: Some(ATTEMPT),
                ..RunOptions::default()
            },
            ..RunOverrides::default()
        };
        overrides.options(self.config)
    }

    /// Resumes an earlier run and returns its summary; `None` if it never started.
    pub(super) async fn resume(&self, id: &RunId) -> Result<Option<RunSummary>, CommandError> {
        let Some(store) = &self.store else {
            return Ok(None);
        };
        let leased = match store.lease_run(id.as_str(), &store::this_process()) {
            Ok(leased) => leased,
            Err(StoreError::Missing { .. }) => return Ok(None),
            Err(error) => return Err(store::explain(error)),
        };
        let resuming = self.resume_leased(id, store, leased);
        Box::pin(resuming).await.map(Some)
    }

    async fn resume_leased(
        &self,
        id: &RunId,
        store: &Store,
        leased: LeasedRun,
    ) -> Result<RunSummary, CommandError> {
        let run = StoredRun::read(store, id.as_str())?;
        if run.status() == Some(RunStatus::Succeeded) {
            return Ok(run
                .replayed(id)
                .map_err(|error| CommandError::new(error.to_string()))?
                .summary);
        }
        let (plan, _) = self.check(run.loaded(Object::default())?);
        let plan = plan.ok_or_else(|| {
            CommandError::new(format!(
                "the run `{}` cannot be resumed: its plan has errors now",
                store::short_id(id)
            ))
        })?;
        let own = ProcessSecrets {
            texts: self.toolbox.secrets(),
            values: environment::get(&plan, self.config)?,
            seal_key: store::seal_key(Some(store))?,
        };
        let options = run.resumed_options(run.options(), own);
        let request = ResumeRequest {
            id,
            plan: &plan,
            new_plan: None,
            retained: Vec::new(),
            set: Vec::new(),
            options: &options,
            choices: Vec::new(),
            now: store::now(),
        };
        let prepared = Box::new(request.prepare(&run, store)?);
        let spec = RunSpec {
            id: id.clone(),
            options,
            storage: RunStorage::Resumed {
                store: store.clone(),
                leased,
                prepared,
            },
            ..RunSpec::new(plan)
        };
        self.drive(spec, false).await
    }

    async fn drive(
        &self,
        mut spec: RunSpec,
        is_approved: bool,
    ) -> Result<RunSummary, CommandError> {
        // Several runs may be in progress at once, so lines are printed as steps end, without a live view.
        let live = Live::new(&spec.plan, RunFormat::Events, Progress::None, self.printer);
        let lines = EndedStepLines::new(&spec.plan, self.printer);
        let is_shown = calls(&spec.plan);
        let id = spec.id.clone();
        let store = self.store.as_ref().filter(|_| is_shown);
        spec.approver = self.approver(ApprovalSubject {
            toolbox: &self.toolbox,
            stored: store.map(|store| (store.clone(), &id)),
            is_approved,
            live: &live,
            turn: Arc::clone(&self.turn),
        })?;
        spec.trace = telemetry::parent();
        let plan = spec.plan.clone();
        self.runs.halt_if_interrupted().await;
        let mut run = self.service().launch(spec)?;
        let in_progress = self.runs.add(run.canceller());
        while let Some(event) = run.next_event().await {
            self.output.run(&id, &event);
            if is_shown {
                lines.event(&event);
            }
        }
        let summary = run.finish().await;
        drop(in_progress);
        self.expose(&plan, &summary);
        Ok(summary)
    }

    /// Returns the service of all runs of the conversation, which counts their calls together.
    pub(super) fn service(&self) -> Planwright {
        let service = self.toolbox.service(self.config, &self.telemetry);
        service.with_tools(Tools {
            catalog: Arc::new(self.toolbox.catalog.clone()),
            backend: Arc::new(self.backend.clone()),
            policy: self.policy(),
        })
    }

    /// The approver of a run.
    pub(super) fn approver(
        &self,
        subject: ApprovalSubject<'_>,
    ) -> Result<Arc<dyn Approver>, CommandError> {
        approver(&self.consent(), subject, self.printer)
    }

    /// Returns the consent policy for single calls: with `--approve plan`, calls outside of approved plans are asked about.
    fn consent(&self) -> ConsentArguments {
        let mut consent = self.arguments.consent.clone();
        if matches!(consent.approve, Approve::Plan(_)) {
            consent.approve = Approve::Ask;
        }
        consent
    }
}

/// Returns true if the plan calls tools; a plan that only reads the state is neither shown nor stored.
pub(super) fn calls(plan: &CheckedPlan) -> bool {
    let mut steps = plan.steps().iter();
    steps.any(|step| step.tool.is_some() || step.plan.is_some())
}

/// Prints a conversation.
pub(crate) struct ChatOutput {
    format: RunFormat,
    printer: Printer,
    /// The calls of this turn, for the object at its end.
    calls: Mutex<Vec<Value>>,
}

/// The end of a turn.
pub(super) struct TurnEnd<'a> {
    pub(super) chat: &'a str,
    /// The status of the turn, in one word.
    pub(super) end: &'a str,
    /// The model's words or its output.
    pub(super) answer: Option<Value>,
    /// True if its words are on the screen already.
    pub(super) is_shown: bool,
    /// The reason why there is no answer.
    pub(super) message: Option<String>,
    /// The words of a model that gave no answer.
    pub(super) reply: String,
    /// The tokens and the cost so far.
    pub(super) usage: Usage,
}

impl<'a> TurnEnd<'a> {
    /// Creates the end of a turn without further details.
    pub(super) fn of(chat: &'a str, usage: Usage) -> Self {
        Self {
            chat,
            end: "answer",
            answer: None,
            is_shown: false,
            message: None,
            reply: String::new(),
            usage,
        }
    }
}

impl ChatOutput {
    pub(super) fn new(format: RunFormat, printer: Printer) -> Self {
        Self {
            format,
            printer,
            calls: Mutex::default(),
        }
    }

    /// Prints an event as JSON, if the format is `events`.
    pub(super) fn event(
        &self,
        name: &str,
        fields: impl IntoIterator<Item = (&'static str, Value)>,
    ) {
        if self.format == RunFormat::Events {
            let name = ("event", Value::from(name));
            let line = Value::object(std::iter::once(name).chain(fields));
            self.printer.document(&line.to_json());
        }
    }

    /// Prints an event of a run.
    pub(super) fn run(&self, run: &RunId, event: &StampedEvent) {
        if self.format == RunFormat::Events {
            let event = serde_json::to_value(EventV1::from(event)).unwrap_or_default();
            self.event(
                "run",
                [
                    ("run", Value::from(run.as_str())),
                    ("of", Value::from(event)),
                ],
            );
        }
    }

    /// Prints a message of the model that comes with tool calls.
    pub(super) fn intermediate_message(&self, words: &str) {
        self.event("said", [("text", Value::from(words))]);
        self.printer.quote(words.trim_end());
    }

    /// Prints a call of the model that has a result.
    pub(super) fn print_call(
        &self,
        name: &str,
        arguments: &Value,
        is_success: bool,
        took: Duration,
    ) {
        let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let fields = [
            ("tool", Value::from(name)),
            ("arguments", arguments.clone()),
            ("ok", Value::from(is_success)),
            ("milliseconds", Value::from(milliseconds)),
        ];
        self.event("called", fields.clone());
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Value::object(fields));
    }

    /// Prints a line for the person.
    pub(super) fn line(&self, text: &str) {
        self.printer.quote(text);
    }

    /// Prints the end of the turn.
    pub(super) fn ended(&self, ended: TurnEnd<'_>) -> Result<(), CommandError> {
        let calls = std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner));
        let is_declined = matches!(ended.end, "ask" | "cannot");
        if let Some(message) = &ended.message {
            let kind = if is_declined { "" } else { "error: " };
            self.printer.quote(&format!("{kind}{message}"));
        }
        if !ended.reply.is_empty() && !ended.is_shown {
            self.printer.quote(&format!("  it said: {}", ended.reply));
        }
        if self.format == RunFormat::Text {
            if let Some(answer) = ended.answer.as_ref().filter(|_| !ended.is_shown) {
                let text = answer.to_inserted_text();
                self.printer
                    .untrusted_data(&format!("{}\n", text.trim_end()));
            }
            progress::print_usage(ended.usage, self.printer);
            return Ok(());
        }
        let usage = serde_json::to_value(UsageV1::from(ended.usage)).unwrap_or_default();
        let reply = Some(ended.reply).filter(|reply| !reply.is_empty());
        let fields = vec![
            ("schema", Value::from("planwright.answer/1")),
            ("chat", Value::from(ended.chat)),
            ("end", Value::from(ended.end)),
            ("answer", ended.answer.unwrap_or_default()),
            ("message", ended.message.map_or(Value::Null, Value::from)),
            ("said", reply.map_or(Value::Null, Value::from)),
            ("calls", Value::from(calls)),
            ("usage", Value::from(usage)),
        ];
        if self.format == RunFormat::Events {
            self.event("answer", fields);
            return Ok(());
        }
        output::json(&Value::object(fields), self.format, self.printer)
    }
}
