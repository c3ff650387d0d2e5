//! `planwright approve` and `planwright reject`: decisions about calls of a run that another process drives, or will.

use std::io::{BufRead, BufReader, Write};

use planwright::call_view::{self, visible};
use planwright::core::Value;
use planwright::engine::Decision;
use planwright::terminal_text;

use super::passphrase::PassphraseCheck;
use super::question::{OpenCall, Question};
use crate::args::{ApproveArguments, Format, RejectArguments, RunFormat};
use crate::error::{CommandError, Exit};
use crate::runs::run_storage;
use crate::view::output;
use crate::view::printer::{Printer, terminal};

/// `planwright approve RUN STEP`
pub(crate) fn approve(
    arguments: &ApproveArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let args = arguments.args.as_deref().map(changed_args).transpose()?;
    let question = Question::find(&arguments.question, &arguments.store, printer)?;
    if arguments.show {
        return show(&question, arguments.format, printer);
    }
    if let Some(args) = &args {
        question.check(args)?;
    }
    printer.quote(&question.call.view().text());
    if let Some(args) = &args {
        printer.quote("with these arguments instead:");
        for line in call_view::arguments(args) {
            printer.quote(&format!("  {line}"));
        }
    }
    match &arguments.digest {
        Some(digest) => is_meant(&question.call, digest)?,
        None if is_agreed(&question.call)? => {}
        None => {
            printer.status("nothing was decided");
            return Ok(Exit::Waiting);
        }
    }
    PassphraseCheck::open(Some(question.store()))?.confirm()?;
    decide(&question, Decision::Approve { args }, "approved", printer)
}

/// `planwright reject RUN STEP`
pub(crate) fn reject(arguments: &RejectArguments, printer: Printer) -> Result<Exit, CommandError> {
    let question = Question::find(&arguments.question, &arguments.store, printer)?;
    PassphraseCheck::open(Some(question.store()))?.confirm()?;
    let because = arguments.because.clone();
    decide(&question, Decision::Reject { because }, "rejected", printer)
}

fn changed_args(text: &str) -> Result<Value, CommandError> {
    let form = "write them as {\"NAME\": VALUE, …}";
    let args = Value::from_json(text)
        .map_err(|error| CommandError::new(format!("`--args` is not JSON: {error}")).hint(form))?;
    if args.as_object().is_none() {
        let kind = args.kind();
        return Err(CommandError::new(format!("`--args` is a {kind}, not an object")).hint(form));
    }
    Ok(args)
}

/// Prints a call with all of its arguments.
fn show(question: &Question, format: Format, printer: Printer) -> Result<Exit, CommandError> {
    let call = &question.call;
    if format == Format::Json {
        output::json(&call.to_wire(), RunFormat::Json, printer)?;
        return Ok(Exit::Success);
    }
    let lines = call.view().lines();
    let args = call_view::arguments(&call.subject.args).len();
    let heading = lines.get(..lines.len().saturating_sub(args));
    printer.data_line(&heading.unwrap_or_default().join("\n"));
    let whole = serde_json::to_string_pretty(&call.subject.args);
    let whole = whole.map_err(|error| CommandError::new(error.to_string()))?;
    for line in whole.lines() {
        printer.data_line(&format!("  {}", visible(line)));
    }
    printer.data_line(&format!("digest: {}", run_storage::digest(&call.digest)));
    Ok(Exit::Success)
}

/// Checks that the digest is that of the call.
fn is_meant(call: &OpenCall, digest: &str) -> Result<(), CommandError> {
    if call.digest.starts_with(digest) {
        return Ok(());
    }
    Err(CommandError::new(format!(
        "the digest `{}` does not stand for this call",
        visible(digest)
    ))
    .hint(format!("look at the call: {}", call.look())))
}

/// Asks at the terminal whether the call that is shown may be made.
fn is_agreed(call: &OpenCall) -> Result<bool, CommandError> {
    let Ok(terminal) = terminal() else {
        return Err(
            CommandError::new("there is no terminal to approve the call on").hint(format!(
                "look at the call with {}, then approve it with `--digest DIGEST`",
                call.look()
            )),
        );
    };
    let mut lines = BufReader::new(&terminal).lines();
    loop {
        let asked = write!(&terminal, "approve this call? [y]es, [n]o: ")
            .and_then(|()| (&terminal).flush());
        let answer = asked.ok().and_then(|()| lines.next()?.ok());
        match answer.as_deref().map(str::trim) {
            Some("y" | "yes" | "Y") => return Ok(true),
            Some("n" | "no" | "N") | None => return Ok(false),
            Some(_) => {}
        }
    }
}

fn decide(
    question: &Question,
    decision: Decision,
    done: &str,
    printer: Printer,
) -> Result<Exit, CommandError> {
    question.decide(decision)?;
    let call = &question.call;
    printer.quote(&format!(
        "`{}` is {done}: {}",
        terminal_text::one_line(&call.at.to_string()),
        terminal_text::one_line(&call.subject.qualified_name())
    ));
    if question.is_driven {
        printer.quote("the process that has the run continues by itself if it waits for this");
    } else {
        run_storage::left(&call.run, true, printer);
    }
    Ok(Exit::Success)
}
