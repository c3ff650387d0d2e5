//! The review of a plan that a model wrote: a person runs it, edits it, asks for changes, or rejects it.

use std::sync::Arc;

use planwright::core::check::CheckedPlan;
use planwright::loaded_plan::LoadedPlan;
use planwright_store::Store;

use super::approver::show;
use super::passphrase::PassphraseCheck;
use crate::error::CommandError;
use crate::system::terminal_input::at_terminal;
use crate::view::diagnostics;
use crate::view::printer::Printer;

/// The maximum number of changes that a person may ask for in one plan.
pub(crate) const MAX_CHANGES: usize = 10;

/// The choice of the person who reviews a plan.
pub(crate) enum ReviewChoice {
    Run,
    /// The person's edited plan, which is sound.
    Edited(String),
    /// A change that the person asks for, in their words.
    Change(String),
    Reject,
}

/// A function that reads a text and checks the plan in it.
pub(crate) type TextChecker<'a> = dyn Fn(&str) -> (LoadedPlan, Option<CheckedPlan>) + Sync + 'a;

/// Shows `plan`, whose text is `text`, and asks for a decision about it. If `store`, the store of the run, has a passphrase, the decision to
/// run requires it.
pub(crate) async fn review(
    store: Option<&Store>,
    plan: &CheckedPlan,
    text: &str,
    check: &TextChecker<'_>,
    printer: Printer,
) -> ReviewChoice {
    show(plan, printer);
    let mut text: Arc<str> = text.into();
    let mut is_edited = false;
    loop {
        let choices = "run this plan? [r]un, [e]dit, ask for [c]hanges, [n]o: ";
        let Some(answer) = ask(choices).await else {
            return ReviewChoice::Reject;
        };
        match answer.to_lowercase().as_str() {
            "r" | "run" | "y" | "yes" => {
                if let Err(error) = confirm(store).await {
                    printer.error(&error);
                    return ReviewChoice::Reject;
                }
                return if is_edited {
                    ReviewChoice::Edited(text.to_string())
                } else {
                    ReviewChoice::Run
                };
            }
            "n" | "no" => return ReviewChoice::Reject,
            "c" | "change" | "changes" => match ask("requested changes: ").await {
                Some(change) if !change.is_empty() => return ReviewChoice::Change(change),
                _ => {}
            },
            "e" | "edit" => {
                let before = Arc::clone(&text);
                let edited = at_terminal(move |input| input.edit(&before, "plan")).await;
                match edited {
                    Ok(Some(Ok(edited))) => {
                        let (loaded, plan) = check(&edited);
                        diagnostics::show(&loaded.diagnostics, &loaded.texts, printer);
                        if let Some(plan) = plan {
                            show(&plan, printer);
                            text = edited.into();
                            is_edited = true;
                        } else {
                            printer.status("the edited plan has errors; the previous one is kept");
                        }
                    }
                    Ok(Some(Err(error))) => printer.quote(&format!("error: {error}")),
                    Ok(None) | Err(_) => return ReviewChoice::Reject,
                }
            }
            _ => {}
        }
    }
}

/// Formats the goal for a model that changes a plan.
pub(crate) fn changed_goal(goal: &str, plan: &str, change: &str) -> String {
    format!("{goal}\n\nA plan for that is:\n{plan}\nThe person asks for a change: {change}")
}

/// Asks for the passphrase that decisions require, if one is set.
async fn confirm(store: Option<&Store>) -> Result<(), CommandError> {
    PassphraseCheck::open(store)?.confirm_async().await
}

/// Asks a question on the terminal; `None` if there is no answer. Dropping the future withdraws the question.
async fn ask(question: &'static str) -> Option<String> {
    let answer = at_terminal(move |input| input.ask(question)).await.ok()??;
    Some(answer.trim().to_owned())
}
