//! A call that waits for the decision of a person, with everything that the person sees.

use std::sync::Arc;

use planwright::argument_sources::{ArgumentSource, argument_sources, step_at};
use planwright::call_view;
use planwright::core::{PlanConsent, ServerName, Value};
use planwright::engine::journal::Record;
use planwright::engine::{Decision, RunId};
use planwright::format::{RunClock, ToolV1, timestamp};
use planwright::service::StepStates;
use planwright::store::RunInfo;
use planwright::stored::{OpenQuestion, StoredRun, StoredRunError};
use serde::Serialize;

use crate::plans::PlanCache;
use crate::session::RunOwner;

/// The longest arguments that lists and events contain whole, in bytes of JSON.
const MAX_ARGUMENTS: u64 = 64 * 1024;

/// The deepest arguments whose length is counted. Deeper ones count as long.
const MAX_DEPTH: usize = 512;

/// The beginning of longer arguments that lists and events contain, in bytes of JSON.
const EXCERPT: usize = 1024;

/// A call that waits for the decision of a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Question {
    pub(crate) run: RunId,
    pub(crate) plan: Option<String>,
    pub(crate) at: String,
    /// The id of the step, which items and rounds of a loop share.
    pub(crate) step: String,
    pub(crate) tool: Arc<str>,
    pub(crate) server: ServerName,
    /// The title of the step in the plan.
    pub(crate) description: Option<String>,
    /// The tool's description, as its server states it.
    pub(crate) tool_description: Option<String>,
    pub(crate) annotations: Option<ToolAnnotations>,
    /// The arguments; of long ones, the beginning of their JSON as a text.
    pub(crate) arguments: Value,
    /// True if the arguments are not whole. [`WholeArguments`] has them.
    pub(crate) is_cut: bool,
    /// The arguments line by line, with escapes in place of characters that cannot be seen; empty if they are not whole.
    pub(crate) arguments_shown: Vec<String>,
    pub(crate) sources: Vec<ArgumentSource>,
    pub(crate) reason: Option<Arc<str>>,
    /// The differences from the call of the previous decision.
    pub(crate) changes: Vec<String>,
    pub(crate) asked: Option<String>,
    pub(crate) digest: Arc<str>,
    /// The digest that an approval of the whole plan must name; `None` for a plan that is still being written.
    pub(crate) plan_digest: Option<PlanConsent>,
    pub(crate) input_schema: Option<Value>,
    pub(crate) earlier: Vec<EarlierDecision>,
    /// The stored decision that is not applied yet: `approve`, `change` or `reject`.
    pub(crate) decision: Option<&'static str>,
    #[serde(skip)]
    pub(crate) owner: RunOwner,
}

/// The whole arguments of a call that waits.
#[derive(Debug, Serialize)]
pub(crate) struct WholeArguments {
    digest: Arc<str>,
    arguments: Value,
    arguments_shown: Vec<String>,
}

/// The effects of a tool, as its server states them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ToolAnnotations {
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    open_world: bool,
    /// True if the annotations of the server are trusted.
    trusted: bool,
}

/// A decision about an earlier call of the same step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct EarlierDecision {
    at: String,
    decision: &'static str,
    time: String,
    because: Option<Arc<str>>,
}

impl Question {
    /// Returns the waiting calls of a run.
    pub(crate) fn of_run(
        stored: &StoredRun,
        plans: &PlanCache,
        (info, states): (&RunInfo, &StepStates),
        (name, owner): (Option<&str>, &RunOwner),
    ) -> Result<Vec<Self>, StoredRunError> {
        let history = stored.history()?;
        // A plan that has errors now has no sources to show, but the call is the same.
        let plan = plans.of(&info.id, stored);
        let checked = plan.checked.as_ref().ok();
        let open = OpenQuestion::of(&info.id, &history);
        let questions = open.into_iter().map(|question| {
            let tools = stored.process.iter().flat_map(|process| &process.tools);
            let tool = tools.into_iter().find(|tool| {
                tool.server == question.subject.server && *tool.name == *question.subject.tool
            });
            let found = checked.and_then(|plan| step_at(plan, &question.at));
            let (asked, earlier) = journaled(stored, info, &question);
            let args = &question.subject.args;
            let is_cut = (args.json_size(MAX_DEPTH)).is_none_or(|size| size.bytes > MAX_ARGUMENTS);
            let (arguments, arguments_shown) = if is_cut {
                let json = args.to_json();
                let start = json.get(..json.floor_char_boundary(EXCERPT));
                (Value::from(start.unwrap_or_default()), Vec::new())
            } else {
                (args.clone(), call_view::arguments(args))
            };
            Self {
                run: info.id.clone(),
                plan: name.map(str::to_owned),
                at: question.at.to_string(),
                step: question.at.step.to_string(),
                description: found.and_then(|(step, _)| step.title.as_deref().map(str::to_owned)),
                tool_description: tool.and_then(|tool| tool.description.clone()),
                annotations: tool.map(ToolAnnotations::of),
                arguments,
                is_cut,
                arguments_shown,
                sources: checked
                    .map(|plan| argument_sources(plan, &question.at))
                    .unwrap_or_default(),
                digest: digest(&question, states),
                plan_digest: stored.plan_consent().cloned(),
                input_schema: tool.map(|tool| tool.input_schema.clone()),
                asked,
                earlier,
                reason: question.reason,
                changes: question.changes,
                tool: question.subject.tool,
                server: question.subject.server,
                decision: None,
                owner: owner.clone(),
            }
        });
        Ok(questions.collect())
    }

    /// Returns true if no decision is stored.
    pub(crate) fn is_undecided(&self) -> bool {
        self.decision.is_none()
    }
}

impl WholeArguments {
    /// The arguments of the call of `open` at an address, if it waits.
    pub(crate) fn at(open: Vec<OpenQuestion>, address: &str, states: &StepStates) -> Option<Self> {
        let mut open = open.into_iter();
        let question = open.find(|question| question.at.to_string() == address)?;
        Some(Self {
            digest: digest(&question, states),
            arguments_shown: call_view::arguments(&question.subject.args),
            arguments: question.subject.args,
        })
    }
}

impl ToolAnnotations {
    fn of(tool: &ToolV1) -> Self {
        Self {
            read_only: tool.read_only,
            destructive: tool.destructive,
            idempotent: tool.idempotent,
            open_world: tool.open_world,
            trusted: tool.trusted,
        }
    }
}

/// The digest of a call that waits. The states have it, and it takes long for large arguments.
fn digest(question: &OpenQuestion, states: &StepStates) -> Arc<str> {
    let known = states.questions().get(&question.at.to_string());
    known.map_or_else(|| question.digest().into(), Arc::clone)
}

/// The name of a decision.
pub(super) fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Approve { args: None } => "approve",
        Decision::Approve { args: Some(_) } => "change",
        Decision::Reject { .. } => "reject",
        Decision::Later => "later",
    }
}

/// The time of the question, and earlier decisions about calls of the same step.
fn journaled(
    stored: &StoredRun,
    info: &RunInfo,
    question: &OpenQuestion,
) -> (Option<String>, Vec<EarlierDecision>) {
    let mut clock = RunClock::new(info.created);
    let mut asked = None;
    let mut earlier = Vec::new();
    for entry in &stored.entries {
        let time = clock.time(entry);
        match &entry.record {
            Record::Asked { at, .. } if *at == question.at => asked = Some(timestamp(time)),
            Record::Decided {
                at,
                approved,
                changed_args,
                because,
            } if at.step == question.at.step && at.inside == question.at.inside => {
                earlier.push(EarlierDecision {
                    at: at.to_string(),
                    decision: match (approved, changed_args) {
                        (false, _) => "reject",
                        (true, Some(_)) => "change",
                        (true, None) => "approve",
                    },
                    time: timestamp(time),
                    because: because.clone(),
                });
            }
            Record::Asked { .. }
            | Record::Decided { .. }
            | Record::Opened { .. }
            | Record::Sent { .. }
            | Record::Answered { .. }
            | Record::Aborted { .. }
            | Record::Chosen { .. }
            | Record::TimerFired { .. }
            | Record::Extended { .. }
            | Record::Closed
            | Record::Draining
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::Resumed
            | Record::Settled { .. }
            | Record::Ended { .. } => {}
        }
    }
    (asked, earlier)
}
