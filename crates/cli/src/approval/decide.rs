//! `planwright approve` and `planwright reject`: decisions about calls of a run that another process drives, or will. They answer the
//! calls of a stored run that a person was asked about without an answer so far.

use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;

use planwright::call_view::{self, CallView, visible};
use planwright::core::place::push_pointer_segment;
use planwright::core::schema::{FaultKind, part_at};
use planwright::core::{Tool, Value};
use planwright::dialects::document::nearest;
use planwright::engine::Decision;
use planwright::engine::RunId;
use planwright::engine::approval::CallSubject;
use planwright::engine::event::Address;
use planwright::engine::run::{History, MASK, holds_mask};
use planwright::format::{OPEN_CALL_SCHEMA, OpenCallV1};
use planwright::stored::StoredRun;
use planwright::terminal_text;
use planwright_store::{NewDecision, Store, StoreError};

use super::passphrase::PassphraseCheck;
use crate::args::{
    ApproveArguments, Format, QuestionArguments, RejectArguments, RunFormat, StoreArguments,
};
use crate::error::{CommandError, Exit};
use crate::runs::store;
use crate::system::environment;
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
    printer.data_line(&format!("digest: {}", store::digest(&call.digest)));
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
        store::left(&call.run, true, printer);
    }
    Ok(Exit::Success)
}

/// A call that waits for a decision.
pub(crate) struct OpenCall {
    /// The run.
    pub(crate) run: RunId,
    /// The calling step, item or round.
    pub(crate) at: Arc<Address>,
    /// The call that the decision is about.
    pub(crate) subject: CallSubject,
    /// The digest of the call.
    pub(crate) digest: String,
    reason: Option<Arc<str>>,
    changes: Vec<String>,
}

impl OpenCall {
    /// The open calls of a run, by address.
    pub(crate) fn of(run: &RunId, history: &History) -> Vec<Self> {
        let mut calls: Vec<Self> = history
            .steps()
            .filter_map(|(at, past)| {
                let subject = past.open_question()?;
                Some(Self {
                    run: run.clone(),
                    at: Arc::clone(at),
                    subject: subject.clone(),
                    digest: subject.digest(run, at),
                    reason: past.reason.clone(),
                    changes: history.changes_since_question(at, subject, true),
                })
            })
            .collect();
        calls.sort_by_key(|call| call.at.to_string());
        calls
    }

    /// The open calls of a stored run.
    pub(crate) fn of_stored(store: &Store, run: &RunId) -> Result<Vec<Self>, CommandError> {
        let history = StoredRun::read(store, run.as_str())?.history()?;
        Ok(Self::of(run, &history))
    }

    /// The call as a person sees it.
    pub(crate) fn view(&self) -> CallView<'_> {
        CallView {
            at: &self.at,
            subject: &self.subject,
            reason: self.reason.as_deref(),
            changes: &self.changes,
        }
    }

    /// The lines of the view, with the digest and the command that decides.
    pub(crate) fn text(&self) -> String {
        format!(
            "{}\n  digest: {}\n  decide with `planwright approve {} {}`",
            self.view().text(),
            store::digest(&self.digest),
            store::short(&self.run),
            store::shell_word(&self.at)
        )
    }

    /// The command that shows all of it.
    pub(crate) fn look(&self) -> String {
        let run = store::short(&self.run);
        format!(
            "`planwright approve {run} {} --show`",
            store::shell_word(&self.at)
        )
    }

    /// The call for other programs.
    pub(crate) fn to_wire(&self) -> OpenCallV1 {
        OpenCallV1 {
            schema: OPEN_CALL_SCHEMA,
            run: self.run.clone(),
            address: self.at.to_string(),
            server: Arc::clone(&self.subject.server),
            tool: Arc::clone(&self.subject.tool),
            args: self.subject.args.clone(),
            reason: self.reason.clone(),
            changes: self.changes.clone(),
            digest: self.digest.clone(),
        }
    }
}

/// A call of a run that a command decides about.
struct Question {
    store: Store,
    /// True if a process drives the run.
    is_driven: bool,
    /// The call.
    pub(crate) call: OpenCall,
    tool: Option<Tool>,
}

impl Question {
    /// Finds the open call that the arguments name.
    pub(crate) fn find(
        arguments: &QuestionArguments,
        stored: &StoreArguments,
        printer: Printer,
    ) -> Result<Self, CommandError> {
        let store = store::open(stored, printer)?;
        let info = store.run(&arguments.run).map_err(store::explain)?;
        let run = StoredRun::read(&store, info.id.as_str())?;
        let mut open = OpenCall::of(&info.id, &run.history()?);
        let wanted = arguments.step.as_str();
        let addresses = open.iter().map(|call| &*call.at);
        let found =
            Address::find(wanted, addresses).map_err(|similar| ambiguous(wanted, &similar))?;
        let found = found.and_then(|at| open.iter().position(|call| *call.at == *at));
        let Some(index) = found else {
            let error = none_waits(&info.id, wanted, &open);
            return Err(if run.imported.is_some() {
                error.hint(
                    "the run was imported: what it had asked is asked again when it is resumed",
                )
            } else {
                error
            });
        };
        let call = open.swap_remove(index);
        let tools = run.process.iter().flat_map(|process| &process.tools);
        let mut tools = tools.filter(|known| {
            *known.server == *call.subject.server && *known.name == *call.subject.tool
        });
        Ok(Self {
            tool: tools.next().map(Tool::from),
            is_driven: info.holder.is_some(),
            call,
            store,
        })
    }

    /// The store that the run is in.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Checks that the tool takes arguments that a person wrote.
    pub(crate) fn check(&self, args: &Value) -> Result<(), CommandError> {
        if let Err(error) = self.call.subject.check_changed_args(args) {
            let error = CommandError::new(format!("the arguments cannot be used: {error}"));
            return Err(self.explain_secret(error));
        }
        let tool = self.tool.as_ref();
        let mut faults = tool.map_or_else(Vec::new, |tool| tool.input.validate(args));
        // The placeholder of a secret reveals nothing about it.
        faults.retain(|fault| {
            let part = part_at(args, &fault.path).unwrap_or(args);
            fault.kind != FaultKind::Wrong || !holds_mask(part)
        });
        if faults.is_empty() {
            return Ok(());
        }
        let error = CommandError::new("the tool does not take these arguments");
        Err(faults.iter().fold(error, |error, fault| {
            let mut pointer = String::new();
            for segment in &fault.path {
                push_pointer_segment(&mut pointer, segment);
            }
            error.hint(match &*pointer {
                "" => fault.message.clone(),
                at => format!("{} at `{at}`", fault.message),
            })
        }))
    }

    /// Adds the hint for a secret.
    fn explain_secret(&self, error: CommandError) -> CommandError {
        error
            .hint(format!(
                "write `{MASK}` as the call shows it, in the same place: the run has the secret"
            ))
            .hint(format!(
                "for another secret: `planwright resume {} --var NAME=VALUE`, or the variable of the environment that it is in",
                store::short(&self.call.run)
            ))
    }

    /// Stores the decision about the call that was shown.
    pub(crate) fn decide(&self, decision: Decision) -> Result<(), CommandError> {
        let new = NewDecision {
            at: Arc::clone(&self.call.at),
            digest: self.call.digest.clone(),
            decision,
            by: environment::variable("USER"),
            decided: store::now(),
        };
        let decided = self.store.decide(self.call.run.as_str(), &new);
        decided.map_err(|error| match error {
            StoreError::Decided { .. } => {
                CommandError::new(error.to_string()).hint("a decision stands once it is made")
            }
            other => store::explain(other),
        })
    }
}

/// The error of a text that may mean several steps of the run.
pub(crate) fn ambiguous(wanted: &str, similar: &[&Address]) -> CommandError {
    let names: Vec<String> = similar.iter().map(ToString::to_string).collect();
    CommandError::new(format!("`{wanted}` may mean several steps of the run"))
        .hint(format!("name one of `{}`", names.join("`, `")))
}

fn none_waits(run: &RunId, wanted: &str, open: &[OpenCall]) -> CommandError {
    let names: Vec<String> = open.iter().map(|call| call.at.to_string()).collect();
    let error = CommandError::new(format!(
        "no call of `{wanted}` waits for a decision in the run `{}`",
        store::short(run)
    ));
    if names.is_empty() {
        return error.hint("no call of the run waits for a decision");
    }
    match nearest(wanted, names.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!(
            "steps waiting for approval: `{}`",
            names.join("`, `")
        )),
    }
}
