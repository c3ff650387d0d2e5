//! Consent that is given once to a whole plan, or by another process.

use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright::core::check::CheckedPlan;
use planwright::core::expression::EvaluationLimits;
use planwright::engine::Decision;
use planwright::engine::approval::{ApprovalRequest, Approver};
use planwright::engine::run::preview;
use planwright::stored::tools_of;
use planwright::{drawing, terminal_text};

use super::passphrase::PassphraseCheck;
use crate::error::CommandError;
use crate::runs::run_storage;
use crate::view::live::Live;
use crate::view::printer::{Printer, terminal};
use crate::view::text_report;

/// Asks about a whole plan, unless `digest` names the one that is approved: whether it may be run. `own` is the digest that approves it.
pub(crate) fn to_plan(
    plan: &CheckedPlan,
    own: &str,
    digest: Option<&str>,
    passphrase: &PassphraseCheck,
    printer: Printer,
) -> Result<bool, CommandError> {
    if let Some(digest) = digest {
        return if own.starts_with(digest) {
            passphrase.confirm().map(|()| true)
        } else {
            Err(CommandError::new(format!(
                "the plan is not the one that was approved: its digest is `{}`",
                run_storage::digest(own)
            ))
            .hint("look at it again: `planwright run PLAN --dry-run`"))
        };
    }
    let Ok(terminal) = terminal() else {
        return Err(
            CommandError::new("there is no terminal to approve the plan on").hint(format!(
                "look at it with `--dry-run`, then say `--approve plan:{}`",
                run_storage::digest(own)
            )),
        );
    };
    show(plan, printer);
    let mut lines = BufReader::new(&terminal).lines();
    loop {
        let asked = write!(
            &terminal,
            "run this plan, with all its calls? [y]es, [n]o: "
        )
        .and_then(|()| (&terminal).flush());
        let answer = asked.ok().and_then(|()| lines.next()?.ok());
        match answer.as_deref().map(str::trim) {
            Some("y" | "yes" | "Y") => return passphrase.confirm().map(|()| true),
            Some("n" | "no" | "N") | None => return Ok(false),
            Some(_) => {}
        }
    }
}

/// Shows a plan to the person who approves it: its graph, every call with all its arguments, the effects of its tools.
pub(crate) fn show(plan: &CheckedPlan, printer: Printer) {
    // The drawing has escaped foreign text already: to escape it again would show its colours as text.
    printer.status(drawing::text(plan, &printer.status_style()).trim_end());
    printer.quote(text_report::dry_run(&preview(plan, &EvaluationLimits::default())).trim_end());
    for line in effects(plan) {
        printer.quote(&line);
    }
}

/// Returns the effects of a plan's tools, as far as they can be trusted.
fn effects(plan: &CheckedPlan) -> Vec<String> {
    let tools = tools_of(plan);
    let width = tools
        .iter()
        .map(|tool| tool.qualified_name().chars().count())
        .max();
    tools
        .iter()
        .map(|tool| {
            let name = tool.qualified_name();
            let name = terminal_text::one_line(&name).into_owned();
            let says = &tool.annotations;
            let may = if !says.trusted {
                "may do anything"
            } else if says.read_only {
                "only reads"
            } else if says.destructive {
                "may destroy"
            } else if says.idempotent {
                "has effects, which a second call would not add to"
            } else {
                "has effects"
            };
            format!("  {name:width$}  {may}", width = width.unwrap_or(0))
        })
        .collect()
}

/// Agrees to every call: the plan as a whole was approved.
pub(crate) struct WholePlan;

impl Approver for WholePlan {
    fn decide(&self, _: ApprovalRequest) -> BoxFuture<'_, Decision> {
        Box::pin(std::future::ready(Decision::Approve { args: None }))
    }
}

/// Prints the commands with which another process can decide about a call, and leaves the decision to it.
pub(crate) struct Announced {
    pub(crate) run: String,
    pub(crate) live: Arc<Live>,
    pub(crate) printer: Printer,
}

impl Approver for Announced {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        let (run, step) = (run_storage::short(&self.run), request.at.to_string());
        self.live.suspend(|| {
            self.printer.quote(&format!(
                "`{step}` waits: `planwright approve {run} {word}`, or `planwright reject {run} {word}`",
                word = run_storage::shell_word(&step)
            ));
        });
        Box::pin(std::future::ready(Decision::Later))
    }
}
