//! `planwright approve RUN --plan`: the approval of the whole plan of a stored run.

use planwright::core::expression::EvaluationLimits;
use planwright::core::{CheckedPlan, PlanConsent};
use planwright::drawing;
use planwright::engine::run::{Choice, History, preview};
use planwright::stored::{OpenQuestion, StoredRun, StoredRunError, approve_plan};
use planwright::terminal_text;
use planwright_store::{RunInfo, Store, StoreError};

use super::approver;
use super::decide::{OpenCall, report_next};
use super::passphrase::PassphraseCheck;
use crate::args::ApproveArguments;
use crate::error::{CommandError, Exit};
use crate::runs::selector::find_run;
use crate::runs::store;
use crate::system::terminal_input::{NoAnswer, ask_at_terminal};
use crate::view::printer::Printer;
use crate::view::text_report;

/// The plan of a run, with the calls and choices that a person approves with it.
struct ShownPlan {
    plan: CheckedPlan,
    consent: PlanConsent,
    /// The calls that wait.
    waiting: Vec<OpenCall>,
    /// A line for each step whose outcome a person has set or skipped.
    choices: Vec<String>,
}

/// `planwright approve RUN --plan`
pub(crate) fn approve(
    arguments: &ApproveArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let info = find_run(&store, arguments.question.run.as_deref())?;
    let shown = ShownPlan::read(&store, &info)?;
    if arguments.show {
        shown.print(printer);
        return Ok(Exit::Success);
    }
    shown.show(printer);
    let is_own = |digest: &String| shown.consent.starts_with(digest.as_str());
    if !arguments.digest.iter().all(is_own) {
        return Err(CommandError::new(format!(
            "the plan is not the one that was approved: its digest is `{}`",
            store::short_digest(&shown.consent)
        ))
        .hint(look_at_plan(&info)));
    }
    if arguments.digest.is_empty() {
        let question = "approve this plan, with all its calls? [y]es, [n]o: ";
        match ask_at_terminal(move |input| input.agrees(question)) {
            Ok(true) => {}
            Ok(false) => {
                printer.status("nothing was decided");
                return Ok(Exit::Waiting);
            }
            Err(NoAnswer::Terminal(_)) => {
                let error = CommandError::new("there is no terminal to approve the plan on");
                return Err(error.hint(look_at_plan(&info)));
            }
            Err(interrupted @ NoAnswer::Interrupted) => return Err(interrupted.into()),
        }
    }
    let decider = PassphraseCheck::open(Some(&store))?.decider()?;
    let waiting: Vec<OpenQuestion> = shown.waiting.iter().map(OpenCall::question).collect();
    let waiting: Vec<&OpenQuestion> = waiting.iter().collect();
    let approved = (&shown.consent, &*waiting);
    approve_plan(&store, info.id.as_str(), approved, &decider, store::now()).map_err(|error| {
        match error {
            StoredRunError::Store(StoreError::PlanApproved { .. }) if !waiting.is_empty() => {
                CommandError::new(error.to_string())
                    .hint("approve only the calls: `planwright approve`")
            }
            other => other.into(),
        }
    })?;
    printer.status("the plan is approved, with all its calls");
    report_next(&info.id, info.holder.is_some(), printer);
    Ok(Exit::Success)
}

impl ShownPlan {
    fn read(store: &Store, info: &RunInfo) -> Result<Self, CommandError> {
        let stored = StoredRun::read(store, info.id.as_str())?;
        let Some(consent) = stored.plan_consent().cloned() else {
            return Err(CommandError::new(format!(
                "the plan of the run `{}` cannot be approved as a whole: it is still being written, or was imported",
                store::short_id(&info.id)
            ))
            .hint("approve its calls: `planwright approve`"));
        };
        Ok(Self {
            plan: stored.latest_plan()?,
            consent,
            waiting: OpenCall::undecided(store, &info.id)?,
            choices: choice_lines(&stored.history()?),
        })
    }

    /// Prints the plan as the result of the command.
    fn print(&self, printer: Printer) {
        printer.data(&drawing::text(&self.plan, &printer.style()));
        let steps = preview(&self.plan, &EvaluationLimits::default());
        printer.data(&text_report::dry_run(&steps));
        let effects = approver::effects(&self.plan);
        for line in effects.iter().chain(&self.choices) {
            printer.data_line(&terminal_text::lines(line));
        }
        for call in &self.waiting {
            printer.data_line(&terminal_text::lines(&call.view().text()));
        }
        printer.data_line(&format!("digest: {}", store::short_digest(&self.consent)));
    }

    /// Shows the plan to the person who approves it.
    fn show(&self, printer: Printer) {
        approver::show(&self.plan, printer);
        for line in &self.choices {
            printer.quote(line);
        }
        for call in &self.waiting {
            printer.quote(&call.view().text());
        }
    }
}

fn look_at_plan(info: &RunInfo) -> String {
    format!(
        "look at the plan with `planwright approve {} --plan --show`, then approve it with `--digest DIGEST`",
        store::short_id(&info.id)
    )
}

/// Returns the choices of earlier processes that replace outcomes of calls.
fn choice_lines(history: &History) -> Vec<String> {
    let chosen = history.steps().filter_map(|(at, past)| {
        let at = terminal_text::one_line(&at.to_string()).into_owned();
        match past.chosen.as_ref()? {
            Choice::Set(value) => {
                let value = terminal_text::one_line(&value.to_json()).into_owned();
                Some(format!("`{at}` was set to {value}"))
            }
            Choice::Skip => Some(format!("`{at}` was skipped")),
            Choice::Retry => None,
        }
    });
    let mut chosen: Vec<String> = chosen.collect();
    chosen.sort();
    chosen
}
