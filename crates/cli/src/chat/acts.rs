//! `--protocol acts`: the model replies with solutions, which are lists of calls with an output, and the loop continues until a
//! solution has an output.

use std::sync::Arc;

use futures::future::BoxFuture;
use planwright::config::Config;
use planwright::core::check::{CheckContext, CheckedPlan, Policy};
use planwright::core::{Schema, Value};
use planwright::engine::RunStatus;
use planwright::planner::agent::{
    Agent, AgentContext, AgentEnd, AgentEvent, AgentLimits, AgentListener, AgentOutcome, AgentRun,
    AgentState, ResumeOutcome, SolutionOutcome, SolutionRunner,
};

use super::chat_file::{Chat, Conversation};
use super::context::ChatContext;
use super::context::{TurnEnd, calls};
use super::plans::review;
use crate::approval::approver::show;
use crate::approval::review::ReviewChoice;
use crate::args::Approve;
use crate::error::{CommandError, Exit};
use crate::planning::dates::SCHEMA_FORM;
use crate::system::signals::Signals;
use crate::system::text_file;

/// The dialect of solutions.
const ACTS: &str = "acts";

/// Runs the turn that `message` begins.
pub(super) async fn run_turn(
    context: &ChatContext<'_>,
    chat: &mut Chat,
    config: &Config,
    message: String,
    signals: &mut Signals,
) -> Result<Exit, CommandError> {
    chat.set_title(&message);
    let day = context.known.day(&message);
    let mut state = restore_state(context, chat)?;
    if state.is_shown() && is_consent(&message) {
        state.accept();
    } else {
        if state.is_shown() {
            state.refuse(&message);
        }
        state.say(Value::object([
            ("type", Value::from("user")),
            ("text", Value::from(message)),
        ]));
    }
    let schema = output_schema(context)?;
    let policy = config.restrict(Policy::new());
    let policy_after_results = config
        .clone()
        .with_exposed_planner()
        .restrict(Policy::new());
    let bounds = bounds(context, &state);
    let listener = ChatListener {
        context,
        chat: std::sync::Mutex::new(chat.clone()),
        solution: std::sync::Mutex::default(),
    };
    let runner = ChatSolutionRunner { context };
    let agent = Agent {
        model: context.model.as_ref(),
        runner: &runner,
        check: CheckContext::new(&context.toolbox.catalog)
            .with_library(&context.chat_library.library)
            .with_policy(&policy),
        policy_after_results: &policy_after_results,
        output: schema.as_ref(),
        moment: day.moment(),
        bounds: &bounds,
        listener: &listener,
    };
    let outcome = tokio::select! {
        biased;
        () = context.wait_for_interruption(signals) => None,
        outcome = agent.resume(state) => Some(outcome),
    };
    // After a signal, the listener's last stored state is the conversation.
    *chat = listener
        .chat
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    chat.calls = context.backend.made();
    let Some(AgentOutcome {
        end, output, state, ..
    }) = outcome
    else {
        return Ok(Exit::Interrupted);
    };
    chat.usage = state.usage();
    chat.conversation = Conversation::Acts(Some(state.to_json()));
    if context.is_stored() {
        chat.save()?;
    }
    let exit = exit(&end);
    let explanation = (exit != Exit::Success).then(|| message_of(&end));
    // The reply of a failed request is shown, because the error alone rarely explains the mistake of the model.
    let reply = if let AgentEnd::Model(error) = &end {
        error.reply.to_string()
    } else {
        String::new()
    };
    let solution = listener
        .solution
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let answer = match solution {
        Some(solution) if matches!(end, AgentEnd::Shown) => {
            if let Some(plan) = &solution.plan {
                show(plan, context.printer);
            }
            context.printer.status(
                "nothing was called: answer `run` to run it, or say what is to be different",
            );
            Some(solution.value)
        }
        _ => output,
    };
    context.output.ended(TurnEnd {
        end: end.as_str(),
        answer,
        message: explanation,
        reply,
        ..TurnEnd::of(&chat.id, chat.usage)
    })?;
    Ok(exit)
}

/// Returns true if a message accepts the solution that was shown.
fn is_consent(message: &str) -> bool {
    matches!(
        message.trim().to_lowercase().as_str(),
        "r" | "run" | "y" | "yes"
    )
}

/// Restores the agent's state from the conversation, or creates it for a new one.
fn restore_state(context: &ChatContext<'_>, chat: &Chat) -> Result<AgentState, CommandError> {
    if let Conversation::Acts(Some(json)) = &chat.conversation {
        return AgentState::read(json).map_err(|error| {
            CommandError::new(format!("the conversation cannot be continued: {error}"))
        });
    }
    let mut entries = match &context.arguments.acts.messages {
        Some(path) => {
            let form =
                "write it as [{\"type\": \"state\", …}, {\"type\": \"plan\", \"plan\": […]}]";
            let messages = text_file::json(path, form)?;
            let messages = messages.as_list().map(<[Value]>::to_vec);
            messages.ok_or_else(|| {
                CommandError::new(format!("`{}` has no list of messages", path.display()))
                    .hint(form)
            })?
        }
        None => Vec::new(),
    };
    if let Some(input) = &context.arguments.acts.input {
        let invalid_input = |why: String| {
            CommandError::new(format!("`--input` {why}")).hint("write it as a JSON object")
        };
        let input = Value::from_written_json(input)
            .map_err(|error| invalid_input(format!("is not JSON: {error}")))?;
        if input.as_object().is_none() {
            return Err(invalid_input(format!(
                "is a {}, not an object",
                input.kind()
            )));
        }
        entries.push(Value::object([
            ("type", Value::from("input")),
            ("input", input),
        ]));
    }
    if let Some(schema) = context.known.state() {
        entries.push(Value::object([
            ("type", Value::from("state")),
            ("schema", schema.clone()),
        ]));
    }
    let entries = AgentContext::read(&entries, &context.toolbox.catalog)
        .map_err(|error| CommandError::new(error.to_string()))?;
    Ok(AgentState::new(chat.id.as_str(), entries))
}

/// Reads `--output-schema`. It may also be the schema of a whole solution, with `properties.calls`; then its `properties.output` is used.
fn output_schema(context: &ChatContext<'_>) -> Result<Option<Schema>, CommandError> {
    let Some(path) = &context.arguments.acts.output_schema else {
        return Ok(None);
    };
    let value = text_file::json(path, SCHEMA_FORM)?;
    let fields = value.get("properties");
    let is_solution = fields.is_some_and(|fields| fields.get("calls").is_some());
    let output = fields.and_then(|fields| fields.get("output"));
    let schema = match output.filter(|_| is_solution) {
        Some(output) => output.clone(),
        None => value,
    };
    let schema = Schema::from_value(schema);
    if let Some(problem) = schema.malformed() {
        return Err(CommandError::new(format!(
            "`{}` is not JSON Schema: {problem}",
            path.display()
        )));
    }
    Ok(Some(schema))
}

/// Returns the limits of this turn. The rounds of earlier turns are added, since `--rounds` counts for each turn; the other limits hold
/// for the conversation.
fn bounds(context: &ChatContext<'_>, state: &AgentState) -> AgentLimits {
    let limits = &context.arguments.bounds;
    let mut bounds = AgentLimits::default();
    bounds.rounds = limits.rounds.saturating_add(state.rounds());
    bounds.tries = context.arguments.planning.tries;
    bounds.tokens = limits.tokens;
    bounds.cost = limits.cost;
    bounds.tool_tokens = context.arguments.planning.tool_tokens;
    bounds
}

fn exit(end: &AgentEnd) -> Exit {
    match end {
        AgentEnd::Output | AgentEnd::NoCalls | AgentEnd::Shown => Exit::Success,
        AgentEnd::Waiting(_) => Exit::Waiting,
        AgentEnd::Cancelled => Exit::Interrupted,
        AgentEnd::Unsound(_) | AgentEnd::Declined(_) => Exit::Rejected,
        AgentEnd::Bound(_) | AgentEnd::Stuck | AgentEnd::Model(_) | AgentEnd::NotStored(_) => {
            Exit::Failed
        }
    }
}

fn message_of(end: &AgentEnd) -> String {
    match end {
        AgentEnd::Unsound(diagnostics) => format!("{end}\n{diagnostics}"),
        end => end.to_string(),
    }
}

/// Stores and shows the conversation during the loop.
struct ChatListener<'a> {
    context: &'a ChatContext<'a>,
    chat: std::sync::Mutex<Chat>,
    /// The last solution of the turn.
    solution: std::sync::Mutex<Option<ShownSolution>>,
}

/// A solution as it is shown to the person.
struct ShownSolution {
    value: Value,
    plan: Option<CheckedPlan>,
}

impl AgentListener for ChatListener<'_> {
    fn on_event(&self, event: AgentEvent<'_>) {
        let chat_output = &self.context.output;
        match event {
            AgentEvent::Asked { round } => {
                chat_output.event("asked", [("round", Value::from(round))]);
            }
            AgentEvent::Unsound { diagnostics } => {
                chat_output.event(
                    "unsound",
                    [("findings", Value::from(diagnostics.to_string()))],
                );
                chat_output.line(&format!(
                    "the answer is not a valid solution:\n{diagnostics}"
                ));
            }
            AgentEvent::Solution {
                calls,
                output,
                plan,
            } => {
                let fields = [
                    ("calls", Value::from(calls.to_vec())),
                    ("output", output.clone()),
                ];
                chat_output.event("solution", fields.clone());
                let solution = ShownSolution {
                    value: Value::object(fields),
                    plan: plan.cloned(),
                };
                *self
                    .solution
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(solution);
            }
        }
    }

    fn save(&self, state: &AgentState) -> Result<(), String> {
        let mut chat = self
            .chat
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        chat.usage = state.usage();
        chat.calls = self.context.backend.made();
        chat.conversation = Conversation::Acts(Some(state.to_json()));
        if self.context.is_stored() {
            chat.save().map_err(|error| error.to_string())
        } else {
            Ok(())
        }
    }
}

/// Runs solutions like other plans of the chat: after a review if that is required, and stored.
struct ChatSolutionRunner<'a> {
    context: &'a ChatContext<'a>,
}

impl ChatSolutionRunner<'_> {
    async fn review_and_run(&self, run: AgentRun) -> Result<SolutionOutcome, CommandError> {
        let context = self.context;
        let mut text: Arc<str> = Arc::clone(&run.text);
        let mut is_approved = false;
        let check_text = |text: &str| {
            let loaded = ChatContext::read("solution", text, Some(ACTS));
            let (plan, loaded) = context.check(context.chat_library.add_to(loaded));
            (loaded, plan)
        };
        let mut changed = None;
        // A solution without calls needs no consent.
        if calls(&run.plan) && matches!(context.arguments.consent.approve, Approve::Plan(_)) {
            match review(context, &run.plan, &run.text, &check_text).await {
                ReviewChoice::Run => {}
                ReviewChoice::Edited(edited) => {
                    // An edited text that is not JSON has no calls; the check below rejects it.
                    let value = Value::from_json(&edited).unwrap_or_default();
                    let calls = value.get("calls").and_then(Value::as_list);
                    changed = Some(calls.unwrap_or_default().to_vec());
                    text = edited.into();
                }
                ReviewChoice::Change(change) => {
                    return Ok(SolutionOutcome::Refused(format!(
                        "the person asks for a change: {change}"
                    )));
                }
                ReviewChoice::Reject => {
                    return Ok(SolutionOutcome::Refused(
                        "the person rejected the solution".to_owned(),
                    ));
                }
            }
            is_approved = true;
        }
        let (loaded, plan) = check_text(&text);
        let Some(plan) = plan else {
            return Ok(SolutionOutcome::Refused(
                "the changed solution is not sound".to_owned(),
            ));
        };
        let summary = context.run(&run.id, &loaded, &plan, is_approved).await?;
        let is_success = summary.status == RunStatus::Succeeded;
        context.output.print_call(
            "solution",
            &Value::from(run.id.as_str()),
            is_success,
            summary.duration,
        );
        let summary = Box::new(summary);
        Ok(match changed {
            Some(calls) => SolutionOutcome::Changed { calls, summary },
            None => SolutionOutcome::Ended(summary),
        })
    }
}

impl SolutionRunner for ChatSolutionRunner<'_> {
    fn run(&self, run: AgentRun) -> BoxFuture<'_, SolutionOutcome> {
        Box::pin(async move {
            let outcome = self.review_and_run(run).await;
            // The model is not asked for another round.
            self.context.runs.halt_if_interrupted().await;
            match outcome {
                Ok(outcome) => outcome,
                Err(error) => {
                    self.context.printer.quote(&format!("error: {error}"));
                    SolutionOutcome::Aborted
                }
            }
        })
    }

    fn resume(&self, run: AgentRun) -> BoxFuture<'_, ResumeOutcome> {
        Box::pin(async move {
            // Without storage there is no earlier run to resume.
            if !self.context.is_stored() {
                return ResumeOutcome::Unknown;
            }
            match Box::pin(self.context.resume(&run.id)).await {
                Ok(Some(summary)) => {
                    ResumeOutcome::Resumed(SolutionOutcome::Ended(Box::new(summary)))
                }
                Ok(None) => ResumeOutcome::NotStarted,
                Err(error) => {
                    self.context.printer.quote(&format!("error: {error}"));
                    ResumeOutcome::Resumed(SolutionOutcome::Aborted)
                }
            }
        })
    }
}
