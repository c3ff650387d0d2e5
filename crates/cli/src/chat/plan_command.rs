//! `/plan …` in a conversation: the person creates, lists, shows, runs and deletes plans without the model.
//! These plans belong to the conversation, so the model can run them, too. Saved plans are available by name.

use std::sync::{Mutex, PoisonError};

use planwright::core::Value;
use planwright::core::expression::EvaluationLimits;
use planwright::dialects::native::Native;
use planwright::dialects::{Dialect, ReadOptions, parse};
use planwright::drawing::Drawing;
use planwright::engine::run::preview;
use planwright::terminal_text;
use planwright_store::StoreError;

use super::calls::{CallHandler, CallOutcome};
use super::chat_file::{Chat, Conversation};
use super::chat_plans::{ChatPlan, ChatPlans};
use super::context::ChatContext;
use super::turn;
use crate::args::RunFormat;
use crate::error::{CommandError, Exit};
use crate::run::plan_file::selector;
use crate::runs::store;
use crate::system::signals::Signals;
use crate::view::{diagnostics, output, text_report};

/// The commands, with their effects.
const HELP: &str = "/plan create GOAL      have a plan written
/plan list             list the plans of this conversation
/plan show ID          show the steps of a plan
/plan run ID           run a plan, one of this conversation or a saved one
/plan run --dry-run ID show its order and its arguments; nothing is called
/plan delete ID        forget a plan of this conversation
`planwright resume RUN` resumes a run, `planwright list` lists saved plans";

/// A command about plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlanCommand<'w> {
    Create(&'w str),
    List,
    Show(&'w str),
    Run(&'w str),
    DryRun(&'w str),
    Delete(&'w str),
    Help,
}

/// The words after `/plan`, if a message begins with that; none for `/help`.
pub(super) fn words(message: &str) -> Option<&str> {
    let message = message.trim();
    if message == "/help" {
        return Some("");
    }
    let rest = message.strip_prefix("/plan")?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim())
}

fn command(words: &str) -> PlanCommand<'_> {
    let (name, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let rest = rest.trim();
    let dry = rest
        .strip_prefix("--dry-run")
        .or_else(|| rest.strip_suffix("--dry-run"));
    match (name, rest, dry) {
        ("list", "", _) => PlanCommand::List,
        ("create", goal, _) if !goal.is_empty() => PlanCommand::Create(goal),
        ("show", id, _) if !id.is_empty() => PlanCommand::Show(id),
        ("run", _, Some(id)) if !id.trim().is_empty() => PlanCommand::DryRun(id.trim()),
        ("run", id, None) if !id.is_empty() => PlanCommand::Run(id),
        ("delete", id, _) if !id.is_empty() => PlanCommand::Delete(id),
        _ => PlanCommand::Help,
    }
}

/// Carries out the command `words`.
pub(super) async fn carry_out(
    context: &ChatContext<'_>,
    chat: &mut Chat,
    words: &str,
    signals: &mut Signals,
) -> Result<Exit, CommandError> {
    let command = command(words);
    if let PlanCommand::Create(goal) = command {
        chat.set_title(goal);
    }
    let Conversation::Tools { plans, .. } = &mut chat.conversation else {
        context
            .printer
            .status("error: `/plan` needs `--protocol tools`");
        return Ok(Exit::Usage);
    };
    let plans: Mutex<ChatPlans> = Mutex::new(std::mem::take(plans));
    let offer = turn::offer(context, chat, true);
    let calling = CallHandler {
        context,
        plans: &plans,
        offer: &offer,
        usage: Mutex::default(),
    };
    let exit = tokio::select! {
        biased;
        () = context.wait_for_interruption(signals) => Ok(Exit::Interrupted),
        // The run may have ended because the person has interrupted it.
        exit = calling.carry_out(command) => exit.map(|exit| {
            if context.runs.is_interrupted() { Exit::Interrupted } else { exit }
        }),
    };
    chat.usage += calling
        .usage
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    chat.usage += context.toolbox.take_extraction_usage();
    chat.calls = context.backend.made();
    if let Conversation::Tools { plans: stored, .. } = &mut chat.conversation {
        *stored = plans.into_inner().unwrap_or_else(PoisonError::into_inner);
    }
    if chat.is_begun() {
        turn::save(context, chat)?;
    }
    exit
}

impl CallHandler<'_> {
    async fn carry_out(&self, command: PlanCommand<'_>) -> Result<Exit, CommandError> {
        let printer = self.context.printer;
        let id = match command {
            PlanCommand::Help => {
                printer.status(HELP);
                return Ok(Exit::Success);
            }
            PlanCommand::List => {
                self.list();
                return Ok(Exit::Success);
            }
            PlanCommand::Create(goal) => {
                let outcome = self.create(goal).await?;
                if !outcome.is_success {
                    return Ok(self.failed(&outcome));
                }
                let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
                plans.by_id.keys().last().cloned().unwrap_or_default()
            }
            PlanCommand::Delete(id) => {
                let id = &*self.id(id);
                let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
                if plans.by_id.shift_remove(id).is_some() {
                    return Ok(Exit::Success);
                }
                drop(plans);
                return Ok(self.failed(&CallOutcome::failure(self.unknown_plan_message(id))));
            }
            PlanCommand::Show(id) | PlanCommand::Run(id) | PlanCommand::DryRun(id) => {
                let id = self.id(id);
                self.take_saved(&id)?;
                id
            }
        };
        if let PlanCommand::Run(_) = command {
            let outcome = self.execute(&id).await?;
            if !outcome.is_success {
                return Ok(self.failed(&outcome));
            }
            if let Ok(result) = Value::from_json(&outcome.text) {
                let output = result.get("output").cloned().unwrap_or(Value::Null);
                output::json(&output, RunFormat::Json, printer)?;
            }
            return Ok(Exit::Success);
        }
        let Some(stored) = self.plan(&id) else {
            return Ok(self.failed(&CallOutcome::failure(self.unknown_plan_message(&id))));
        };
        let loaded = ChatContext::read(&id, &stored.text, Some(Native.name()));
        let (plan, loaded) = self.context.check(loaded);
        diagnostics::show(&loaded.diagnostics, &loaded.texts, printer);
        let Some(plan) = plan else {
            return Ok(Exit::Rejected);
        };
        printer.data(&Drawing::of(&plan).list(&printer.style()));
        if let PlanCommand::DryRun(_) = command {
            let steps = preview(&plan, &EvaluationLimits::default());
            printer.data(&text_report::dry_run(&steps));
        }
        Ok(Exit::Success)
    }

    /// Returns the id of the plan that the person names: `1` is `plan-1`, unless a plan has that name.
    fn id(&self, name: &str) -> String {
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let numbered = format!("plan-{name}");
        if !plans.by_id.contains_key(name) && plans.by_id.contains_key(&numbered) {
            return numbered;
        }
        name.to_owned()
    }

    fn list(&self) {
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, plan) in &plans.by_id {
            let line = format!("{id}  {}", plan.goal);
            self.context
                .printer
                .data_line(&terminal_text::one_line(&line));
        }
        if plans.by_id.is_empty() {
            let hint = "no plans yet: `/plan create GOAL` has one written";
            self.context.printer.status(hint);
        }
    }

    fn failed(&self, outcome: &CallOutcome) -> Exit {
        self.context.printer.quote(&outcome.text);
        Exit::Failed
    }

    /// Adds the saved plan `name` to the conversation. Does nothing if the conversation has a plan of this name, or if no such plan is
    /// saved.
    fn take_saved(&self, name: &str) -> Result<(), CommandError> {
        let (Some(store), None) = (&self.context.store, self.plan(name)) else {
            return Ok(());
        };
        let (saved, version) = selector(name);
        let saved = match store.plan(saved, version) {
            Ok(saved) => saved,
            Err(StoreError::Missing { .. }) => return Ok(()),
            Err(error) => return Err(store::explain(error)),
        };
        let options = ReadOptions {
            dialect: saved.dialect.as_deref(),
            ..ReadOptions::new(name)
        };
        let plan = parse(saved.text.as_bytes(), &options).plan;
        if let Some(text) = plan.and_then(|plan| Native.print(&plan).0) {
            let goal = format!("the saved plan {}@{}", saved.name, saved.version);
            self.put(name, ChatPlan { goal, text });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        let check = |message: &str, expected: Option<PlanCommand<'_>>| {
            assert_eq!(words(message).map(command), expected, "{message}");
        };
        check("/plan list", Some(PlanCommand::List));
        check(" /plan  create a b ", Some(PlanCommand::Create("a b")));
        check("/plan show plan-1", Some(PlanCommand::Show("plan-1")));
        check("/plan run plan-1", Some(PlanCommand::Run("plan-1")));
        check("/plan run --dry-run a", Some(PlanCommand::DryRun("a")));
        check("/plan run a --dry-run", Some(PlanCommand::DryRun("a")));
        check("/plan delete a", Some(PlanCommand::Delete("a")));
        for text in ["/plan", "/plan run", "/plan list all", "/plan frobnicate"] {
            check(text, Some(PlanCommand::Help));
        }
        check("/help", Some(PlanCommand::Help));
        check("/planned", None);
        check("plan list", None);
    }
}
