//! The calls of the model: plans of a folder that it calls like tools (`--library`), the count of
//! all calls of a conversation with its limit, and the results.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use indexmap::IndexMap;
use planwright::core::check::Library;
use planwright::core::{Diagnostics, Value};
use planwright::dialects::document::{ReadLimits, nearest};
use planwright::dialects::native::Native;
use planwright::dialects::{Dialect, ReadOptions, parse};
use planwright::engine::run::StepSummary;
use planwright::engine::{
    Backends, ErrorKind, RunStatus, RunSummary, ToolBackend, ToolCall, ToolError, ToolOutput,
};
use planwright::format::Trim;
use planwright::loaded_plan::{LoadedPlan, single_call};
use planwright::planner::model::{ModelCall, Usage};
use planwright::service::random_id;
use planwright::terminal_text;
use tokio::time::Instant;

use super::chat_file::ChatPlan;
use super::context::ChatContext;
use super::tool_offer::{BOTH, CREATE, EXECUTE, FIND, ToolOffer};
use crate::error::CommandError;
use crate::runs::store;

/// The plans of a folder.
#[derive(Debug, Default)]
pub(super) struct Delegates {
    /// The plans that the model knows, and solutions are checked against.
    pub(super) library: Library,
    texts: BTreeMap<String, String>,
}

impl Delegates {
    /// Reads all plans of `folder`: `NAME.json` for each.
    pub(super) fn open(folder: &Path) -> Result<Self, CommandError> {
        let unreadable = |error| CommandError::unreadable(folder, &error);
        let mut delegates = Self::default();
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let name = path.file_stem().and_then(OsStr::to_str);
            let (Some(name), Some("json")) = (name, path.extension().and_then(OsStr::to_str))
            else {
                continue;
            };
            let text = std::fs::read_to_string(&path)
                .map_err(|error| CommandError::unreadable(&path, &error))?;
            let read = parse(text.as_bytes(), &ReadOptions::new(name));
            let plan = read.plan.filter(|_| !read.diagnostics.has_errors());
            let Some(plan) = plan else {
                let message = format!("`{}` is no plan that can be called", path.display());
                let found = read
                    .diagnostics
                    .iter()
                    .find(|diagnostic| diagnostic.is_error());
                return Err(match found {
                    Some(diagnostic) => CommandError::new(format!("{message}: {diagnostic}")),
                    None => CommandError::new(message),
                });
            };
            delegates.library.add(name, plan);
            delegates.texts.insert(name.to_owned(), text);
        }
        Ok(delegates)
    }

    /// Adds the plans that a plan calls.
    pub(super) fn hand_to(&self, loaded: LoadedPlan) -> LoadedPlan {
        if self.texts.is_empty() {
            return loaded;
        }
        let find = |name: &str| {
            let text = self.texts.get(name);
            Ok::<_, Infallible>(text.map(|text| text.clone().into_bytes()))
        };
        let Ok(loaded) = loaded.with_library(ReadLimits::default(), find);
        loaded
    }
}

/// Tools whose calls are counted over all runs of a conversation.
#[derive(Clone)]
pub(crate) struct CallCounter {
    tools: Backends,
    most: Option<u64>,
    made: Arc<AtomicU64>,
}

impl CallCounter {
    /// A backend that makes at most `most` calls of `tools` in all, after `made` earlier ones.
    pub(crate) fn new(tools: Backends, most: Option<u64>, made: u64) -> Self {
        Self {
            tools,
            most,
            made: Arc::new(AtomicU64::new(made)),
        }
    }

    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }
}

impl ToolBackend for CallCounter {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let most = self.most.unwrap_or(u64::MAX);
        let one_more = |made: u64| (made < most).then_some(made + 1);
        let is_within = self
            .made
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more)
            .is_ok();
        if is_within {
            return self.tools.call(call);
        }
        let message = format!("the conversation may make {most} calls, and has made them");
        Box::pin(std::future::ready(Err(ToolError::new(
            ErrorKind::Budget,
            message,
        ))))
    }
}

/// The largest number of characters of unreadable arguments that are repeated to the model.
const MAX_ARGUMENTS: usize = 2000;

/// Answers calls of the model.
pub(super) struct CallHandler<'a> {
    pub(super) context: &'a ChatContext<'a>,
    /// The plans of the conversation.
    pub(super) plans: &'a Mutex<IndexMap<String, ChatPlan>>,
    /// The tools that the model is offered.
    pub(super) offer: &'a ToolOffer<'a>,
    /// The tokens and the cost of other requests to the model during the call.
    pub(super) usage: Mutex<Usage>,
}

/// The result of a call for the model, and whether it succeeded.
pub(super) struct CallOutcome {
    pub(super) text: String,
    pub(super) is_good: bool,
}

impl CallOutcome {
    pub(super) fn bad(message: impl std::fmt::Display) -> Self {
        Self {
            text: format!("error: {message}"),
            is_good: false,
        }
    }
}

impl CallHandler<'_> {
    /// Makes a call, and returns its result for the model.
    pub(super) async fn answer(&self, call: &ModelCall) -> String {
        let begin = Instant::now();
        if let Some(fault) = unreadable(&call.arguments) {
            let shown = &self.context.shown;
            shown.line(&format!("  ✗ {}  was refused: {fault}", call.name));
            shown.called(&call.name, &call.arguments, false, begin.elapsed());
            return CallOutcome::bad(fault).text;
        }
        let argument = |name: &str| call.arguments.get(name).and_then(Value::as_text);
        let outcome = match (&*call.name, argument("goal"), argument("plan_id")) {
            (name, ..) if !self.offer.has_own(name) => self.tool(name, &call.arguments).await,
            (CREATE, Some(goal), _) => self.create(goal).await,
            (BOTH, Some(goal), _) => self.create_and_execute(goal).await,
            (EXECUTE, _, Some(id)) => self.execute(id).await,
            (CREATE | BOTH, None, _) => Ok(CallOutcome::bad("the argument `goal` is missing")),
            (EXECUTE, _, None) => Ok(CallOutcome::bad("the argument `plan_id` is missing")),
            _ => Ok(self.find(argument("query"))),
        };
        let outcome = outcome.unwrap_or_else(CallOutcome::bad);
        self.context.shown.called(
            &call.name,
            &call.arguments,
            outcome.is_good,
            begin.elapsed(),
        );
        outcome.text
    }

    /// Finds tools, which the model can call from then on.
    fn find(&self, query: Option<&str>) -> CallOutcome {
        let Some(query) = query else {
            return CallOutcome::bad("the argument `query` is missing");
        };
        let found = self.offer.find(query);
        self.context
            .shown
            .line(&format!("  ✓ {FIND}  {}", found.len()));
        let text = if found.is_empty() {
            "no tool fits".to_owned()
        } else {
            found.join("\n")
        };
        CallOutcome {
            text,
            is_good: true,
        }
    }

    /// A tool that is called directly is a plan of one step.
    async fn tool(&self, name: &str, arguments: &Value) -> Result<CallOutcome, CommandError> {
        let context = self.context;
        let Some(tool) = context.tools.get(name) else {
            let near = nearest(name, context.tools.keys().map(String::as_str));
            let near = near.map(|near| format!("; did you mean `{near}`?"));
            let message = format!("there is no tool `{name}`{}", near.unwrap_or_default());
            context.shown.line(&format!("  ✗ {message}"));
            return Ok(CallOutcome::bad(message));
        };
        let (Some(text), _) = Native.print(&single_call(&context.toolbox.catalog, tool, arguments))
        else {
            return Ok(CallOutcome::bad("these arguments cannot be written down"));
        };
        let loaded = ChatContext::read(&tool.name, &text, Some(Native.name()));
        let (plan, loaded) = context.check(loaded);
        let Some(plan) = plan else {
            context
                .shown
                .line(&format!("  ✗ {}  was refused", tool.name));
            return Ok(CallOutcome::bad(wrong(&loaded.diagnostics)));
        };
        let summary = context.run(&random_id(), &loaded, &plan, false).await?;
        Ok(self.came_to(&summary))
    }

    /// Returns the result of a call of one tool, for the model.
    fn came_to(&self, summary: &RunSummary) -> CallOutcome {
        let step = summary.steps.first();
        if let (RunStatus::Succeeded, Some(output)) =
            (summary.status, step.and_then(|step| step.output.as_ref()))
        {
            return CallOutcome {
                text: trimmed(output, self.context.arguments.bounds.result).to_inserted_text(),
                is_good: true,
            };
        }
        CallOutcome::bad(trouble(summary, step))
    }
}

/// Returns the reason why arguments cannot be read, as JSON of a model may be invalid. The model's text is repeated, since it does
/// not see them otherwise.
fn unreadable(arguments: &Value) -> Option<String> {
    if matches!(arguments, Value::Object(_) | Value::Null) {
        return None;
    }
    let text = arguments.to_inserted_text();
    let fault = match Value::from_json(&text) {
        Ok(value) => format!("a {} and no object", value.kind()),
        Err(error) => format!("no JSON: {error}"),
    };
    let arguments = terminal_text::shortened(&text, MAX_ARGUMENTS, "…");
    Some(format!(
        "the arguments are {fault}; call it again with a JSON object. They were: {arguments}"
    ))
}

/// A value of at most so many bytes.
pub(super) fn trimmed(value: &Value, most: u64) -> Value {
    let mut value = value.clone();
    Trim::to(most).fields(&mut value);
    value
}

/// Formats the diagnostics of a plan for the model.
pub(super) fn wrong(diagnostics: &Diagnostics) -> String {
    let errors = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.is_error());
    let lines: Vec<String> = errors.map(ToString::to_string).collect();
    lines.join("\n")
}

/// Returns the reason why a run has not succeeded.
pub(super) fn trouble(summary: &RunSummary, step: Option<&StepSummary>) -> String {
    let run = store::short(&summary.run);
    if let Some(error) = step.and_then(|step| step.error.as_ref()) {
        return error.as_value().to_json();
    }
    match summary.status {
        RunStatus::Waiting => format!(
            "the call waits for a person: `planwright approve {run} STEP`, then `planwright resume {run}`"
        ),
        RunStatus::Cancelled => "it was given up".to_owned(),
        _ => "it did not succeed".to_owned(),
    }
}
