//! `planwright approve` and `planwright reject`: decisions about the waiting calls of a stored run. The process that drives the run, now or
//! later, applies them.

use std::collections::BTreeSet;
use std::sync::Arc;

use planwright::call_view::{self, CallView, visible};
use planwright::core::{Tool, Value};
use planwright::dialects::document::nearest;
use planwright::engine::Decision;
use planwright::engine::RunId;
use planwright::engine::approval::CallSubject;
use planwright::engine::event::Address;
use planwright::engine::run::{History, MASK};
use planwright::format::{OPEN_CALL_SCHEMA, OpenCallV1, WaitingV1};
use planwright::stored::{Decider, OpenQuestion, StoredRun, StoredRunError, argument_violations};
use planwright::terminal_text;
use planwright_store::{Store, StoreError};

use super::passphrase::PassphraseCheck;
use crate::args::{
    ApproveArguments, Format, QuestionArguments, RejectArguments, RunFormat, StoreArguments,
};
use crate::error::{CommandError, Exit};
use crate::runs::selector::find_run;
use crate::runs::store;
use crate::system::terminal_input::{NoAnswer, ask_at_terminal};
use crate::view::output;
use crate::view::printer::Printer;

/// `planwright approve RUN STEP`
pub(crate) fn approve(
    arguments: &ApproveArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let args = arguments.args.as_deref().map(changed_args).transpose()?;
    let chosen = ChosenCalls::find(&arguments.question, &arguments.store, printer)?;
    if arguments.show {
        return show(&chosen, arguments, printer);
    }
    if let Some(args) = &args {
        match &*chosen.calls {
            [chosen_call] => chosen_call.check(args)?,
            several => {
                return Err(CommandError::new(format!(
                    "`--args` applies to one call, but {} are waiting",
                    several.len()
                ))
                .hint("name the step of that call"));
            }
        }
    }
    for chosen_call in &chosen.calls {
        printer.quote(&chosen_call.call.view().text());
    }
    if let Some(args) = &args {
        printer.quote("with these arguments instead:");
        for line in call_view::arguments(args) {
            printer.quote(&format!("  {line}"));
        }
    }
    if !arguments.digest.is_empty() {
        check_digests(&chosen.calls, &arguments.digest)?;
    } else if !ask_approval(&chosen.calls)? {
        printer.status("nothing was decided");
        return Ok(Exit::Waiting);
    }
    decide(&chosen, &Decision::Approve { args }, "approved", printer)
}

/// `planwright reject RUN STEP`
pub(crate) fn reject(arguments: &RejectArguments, printer: Printer) -> Result<Exit, CommandError> {
    let chosen = ChosenCalls::find(&arguments.question, &arguments.store, printer)?;
    let because = arguments.because.clone();
    decide(&chosen, &Decision::Reject { because }, "rejected", printer)
}

fn changed_args(text: &str) -> Result<Value, CommandError> {
    let form = "write them as {\"NAME\": VALUE, …}";
    let args = Value::from_written_json(text)
        .map_err(|error| CommandError::new(format!("`--args` is not JSON: {error}")).hint(form))?;
    if args.as_object().is_none() {
        let kind = args.kind();
        return Err(CommandError::new(format!("`--args` is a {kind}, not an object")).hint(form));
    }
    Ok(args)
}

/// Prints the calls with all of their arguments.
fn show(
    chosen: &ChosenCalls,
    arguments: &ApproveArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let calls = || chosen.calls.iter().map(|chosen_call| &chosen_call.call);
    if arguments.format == Format::Json {
        match (&*chosen.calls, &*arguments.question.steps) {
            ([chosen_call], [_]) => {
                output::json(&chosen_call.call.to_wire(), RunFormat::Json, printer)?;
            }
            _ => {
                let calls = calls().map(OpenCall::to_wire).collect();
                output::json(&WaitingV1::new(calls), RunFormat::Json, printer)?;
            }
        }
        return Ok(Exit::Success);
    }
    for (index, call) in calls().enumerate() {
        if index > 0 {
            printer.data_line("");
        }
        show_whole(call, printer)?;
    }
    Ok(Exit::Success)
}

fn show_whole(call: &OpenCall, printer: Printer) -> Result<(), CommandError> {
    let whole = serde_json::to_string_pretty(&call.subject.args);
    let whole = whole.map_err(|error| CommandError::new(error.to_string()))?;
    let arguments = whole.lines().map(|line| visible(line).into_owned());
    printer.data_line(&call.view().lines_with(arguments).join("\n"));
    printer.data_line(&format!("digest: {}", store::short_digest(&call.digest)));
    Ok(())
}

/// Checks that each call has one of the digests, and that each digest is that of a call.
fn check_digests(chosen: &[ChosenCall], digests: &[String]) -> Result<(), CommandError> {
    let is_of = |call: &OpenCall, digest: &str| call.digest.starts_with(digest);
    let mut calls = chosen.iter().map(|chosen_call| &chosen_call.call);
    let without_digest = calls
        .clone()
        .find(|call| !digests.iter().any(|digest| is_of(call, digest)));
    let unknown = digests
        .iter()
        .find(|digest| !calls.clone().any(|call| is_of(call, digest)));
    let message = match (&chosen, unknown, without_digest) {
        (_, None, None) => return Ok(()),
        ([_], Some(digest), _) => {
            format!("the digest `{}` is not that of this call", visible(digest))
        }
        (_, Some(digest), _) => format!(
            "the digest `{}` is not that of any of these calls",
            visible(digest)
        ),
        (_, None, Some(call)) => format!("there is no digest for the call of `{}`", call.at),
    };
    let look = match (chosen, calls.next()) {
        ([_], Some(call)) => call.show_command(),
        (_, Some(call)) => format!("`planwright approve {} --show`", store::short_id(&call.run)),
        (_, None) => return Ok(()),
    };
    let error = CommandError::new(message);
    Err(match chosen {
        [_] => error.hint(format!("look at the call: {look}")),
        _ => error.hint(format!("look at the calls: {look}")),
    })
}

/// Asks at the terminal whether the calls that are shown may be made.
fn ask_approval(chosen: &[ChosenCall]) -> Result<bool, CommandError> {
    let text = match chosen {
        [chosen_call] => {
            let call = chosen_call.call.view().brief();
            format!("approve {call}? [y]es, [n]o: ")
        }
        several => format!("approve these {} calls? [y]es, [n]o: ", several.len()),
    };
    let is_agreed = ask_at_terminal(move |input| input.agrees(&text));
    is_agreed.map_err(|no_answer| match no_answer {
        NoAnswer::Terminal(_) => no_terminal(chosen),
        NoAnswer::Interrupted => no_answer.into(),
    })
}

fn no_terminal(chosen: &[ChosenCall]) -> CommandError {
    match chosen {
        [chosen_call] => {
            CommandError::new("there is no terminal to approve the call on").hint(format!(
                "look at the call with {}, then approve it with `--digest DIGEST`",
                chosen_call.call.show_command()
            ))
        }
        several => {
            let run = several
                .first()
                .map(|chosen_call| store::short_id(&chosen_call.call.run));
            CommandError::new("there is no terminal to approve the calls on").hint(format!(
                "look at the calls with `planwright approve {} --show`, then approve them with a `--digest DIGEST` for each",
                run.unwrap_or_default()
            ))
        }
    }
}

fn decide(
    chosen: &ChosenCalls,
    decision: &Decision,
    done: &str,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let decider = PassphraseCheck::open(Some(&chosen.store))?.decider()?;
    chosen.decide(decision, &decider)?;
    for chosen_call in &chosen.calls {
        let call = &chosen_call.call;
        printer.quote(&format!(
            "`{}` is {done}: {}",
            terminal_text::one_line(&call.at.to_string()),
            terminal_text::one_line(&call.subject.qualified_name())
        ));
    }
    report_next(&chosen.run, chosen.is_driven, printer);
    Ok(Exit::Success)
}

/// Prints how the run `run` continues after a decision.
pub(super) fn report_next(run: &RunId, is_driven: bool, printer: Printer) {
    if is_driven {
        printer.message(&format!(
            "the process that drives the run continues automatically; a call that it has put off is made after `planwright resume {}`",
            store::short_id(run)
        ));
    } else {
        store::print_resume_hint(run, true, printer);
    }
}

/// A call that waits for a decision, as commands show it.
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
        let questions = OpenQuestion::of(run, history).into_iter();
        let calls = questions.map(|question| Self {
            digest: question.digest(),
            run: question.run,
            at: question.at,
            subject: question.subject,
            reason: question.reason,
            changes: question.changes,
        });
        calls.collect()
    }

    /// The open calls of a stored run.
    pub(crate) fn of_stored(store: &Store, run: &RunId) -> Result<Vec<Self>, CommandError> {
        let history = StoredRun::read(store, run.as_str())?.history()?;
        Ok(Self::of(run, &history))
    }

    /// The open calls of a stored run without a decision so far.
    pub(crate) fn undecided(store: &Store, run: &RunId) -> Result<Vec<Self>, CommandError> {
        let mut open = Self::of_stored(store, run)?;
        let decided = decided_digests(store, run)?;
        open.retain(|call| !decided.contains(&call.digest));
        Ok(open)
    }

    /// The question that a decision answers.
    pub(super) fn question(&self) -> OpenQuestion {
        OpenQuestion::new(self.run.clone(), Arc::clone(&self.at), self.subject.clone())
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

    /// Formats the call with its digest and the command that decides about it.
    pub(crate) fn text(&self) -> String {
        format!(
            "{}\n  digest: {}\n  decide with `planwright approve {} {}`",
            self.view().text(),
            store::short_digest(&self.digest),
            store::short_id(&self.run),
            store::shell_word(&self.at)
        )
    }

    /// Returns the command that shows the whole call.
    pub(crate) fn show_command(&self) -> String {
        let run = store::short_id(&self.run);
        format!(
            "`planwright approve {run} --show {}`",
            store::argument(&self.at)
        )
    }

    /// Converts the call for other programs.
    pub(crate) fn to_wire(&self) -> OpenCallV1 {
        OpenCallV1 {
            schema: OPEN_CALL_SCHEMA,
            run: self.run.clone(),
            address: self.at.to_string(),
            server: self.subject.server.clone(),
            tool: Arc::clone(&self.subject.tool),
            args: self.subject.args.clone(),
            reason: self.reason.clone(),
            changes: self.changes.clone(),
            digest: self.digest.clone(),
        }
    }
}

/// The calls of a run that a command decides about.
struct ChosenCalls {
    store: Store,
    run: RunId,
    /// True if a process drives the run.
    is_driven: bool,
    /// The calls, at least one.
    calls: Vec<ChosenCall>,
}

/// A call that a command decides about.
struct ChosenCall {
    call: OpenCall,
    tool: Option<Tool>,
}

impl ChosenCalls {
    /// Finds the open calls that the arguments name.
    fn find(
        arguments: &QuestionArguments,
        stored: &StoreArguments,
        printer: Printer,
    ) -> Result<Self, CommandError> {
        let store = store::open(stored, printer)?;
        let info = find_run(&store, arguments.run.as_deref())?;
        let run = StoredRun::read(&store, info.id.as_str())?;
        let open = OpenCall::of(&info.id, &run.history()?);
        let decided = decided_digests(&store, &info.id)?;
        let positions =
            select_calls(&arguments.steps, &open, &decided, &info.id).map_err(|error| {
                if run.imported.is_some() {
                    error.hint(
                        "the run was imported, so its questions are asked again when it is resumed",
                    )
                } else {
                    error
                }
            })?;
        let tools: Vec<_> = run
            .process
            .iter()
            .flat_map(|process| &process.tools)
            .collect();
        let mut calls = Vec::new();
        for (_, call) in open
            .into_iter()
            .enumerate()
            .filter(|(index, _)| positions.contains(index))
        {
            let mut known = tools.iter().filter(|known| {
                *known.server == *call.subject.server && *known.name == *call.subject.tool
            });
            let tool = known.next().map(|known| Tool::from(*known));
            calls.push(ChosenCall { call, tool });
        }
        Ok(Self {
            is_driven: info.holder.is_some(),
            run: info.id,
            store,
            calls,
        })
    }

    /// Stores the decision about all calls that were shown, or about none.
    fn decide(&self, decision: &Decision, decider: &Decider) -> Result<(), CommandError> {
        let asked = self
            .calls
            .iter()
            .map(|ChosenCall { call, .. }| call.question());
        let asked: Vec<OpenQuestion> = asked.collect();
        let asked: Vec<&OpenQuestion> = asked.iter().collect();
        let decided =
            OpenQuestion::decide_all(&asked, &self.store, decision, decider, store::now());
        decided.map_err(|error| match error {
            StoredRunError::Store(StoreError::Decided { .. }) => {
                CommandError::new(error.to_string()).hint("a decision cannot be changed")
            }
            other => other.into(),
        })
    }
}

/// Returns the digests of the calls of a run about which a decision is stored.
fn decided_digests(store: &Store, run: &RunId) -> Result<BTreeSet<String>, CommandError> {
    let decisions = store.decisions(run.as_str()).map_err(store::explain)?;
    Ok(decisions
        .into_iter()
        .map(|decision| decision.digest)
        .collect())
}

/// Returns the positions of the open calls that a person names by step or by a pattern with `*`; without `steps`, of all that
/// are undecided. A decided call must be named by its step.
fn select_calls(
    steps: &[String],
    open: &[OpenCall],
    decided: &BTreeSet<String>,
    run: &RunId,
) -> Result<BTreeSet<usize>, CommandError> {
    let is_undecided = |call: &OpenCall| !decided.contains(&call.digest);
    let mut chosen = BTreeSet::new();
    if steps.is_empty() {
        let undecided = open
            .iter()
            .enumerate()
            .filter(|(_, call)| is_undecided(call));
        chosen.extend(undecided.map(|(index, _)| index));
        if chosen.is_empty() {
            return Err(CommandError::new(format!(
                "no call of the run `{}` waits for a decision",
                store::short_id(run)
            ))
            .hint("`planwright waiting` lists the calls of all runs that do"));
        }
    }
    for wanted in steps {
        let addresses = open.iter().map(|call| &*call.at);
        let found =
            Address::find(wanted, addresses).map_err(|similar| ambiguous(wanted, &similar))?;
        let positions = open.iter().enumerate().filter(|(_, call)| match found {
            Some(at) => *call.at == *at,
            None => {
                wanted.contains('*') && is_undecided(call) && matches(wanted, &call.at.to_string())
            }
        });
        let positions: Vec<usize> = positions.map(|(index, _)| index).collect();
        if positions.is_empty() {
            return Err(no_waiting_call_error(run, wanted, open));
        }
        chosen.extend(positions);
    }
    Ok(chosen)
}

/// Returns true if `text` is `pattern`, in which `*` stands for any text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(text) = text.strip_prefix(before) else {
        return false;
    };
    let mut starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    starts.any(|at| matches(rest, &text[at..]))
}

impl ChosenCall {
    /// Checks that the tool takes arguments that a person wrote.
    pub(crate) fn check(&self, args: &Value) -> Result<(), CommandError> {
        if let Err(error) = self.call.subject.check_changed_args(args) {
            let error = CommandError::new(format!("the arguments cannot be used: {error}"));
            return Err(self.explain_secret(error));
        }
        let tool = self.tool.as_ref();
        let problems = tool.map_or_else(Vec::new, |tool| argument_violations(&tool.input, args));
        if problems.is_empty() {
            return Ok(());
        }
        let error = CommandError::new("the tool does not take these arguments");
        Err(problems.into_iter().fold(error, |error, problem| {
            error.hint(match &*problem.pointer {
                "" => problem.message,
                at => format!("{} at `{at}`", problem.message),
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
                store::short_id(&self.call.run)
            ))
    }
}

/// The error for a name that matches several steps of the run.
pub(crate) fn ambiguous(wanted: &str, similar: &[&Address]) -> CommandError {
    let names: Vec<String> = similar.iter().map(ToString::to_string).collect();
    CommandError::new(format!("`{wanted}` matches several steps of the run"))
        .hint(format!("name one of `{}`", names.join("`, `")))
}

fn no_waiting_call_error(run: &RunId, wanted: &str, open: &[OpenCall]) -> CommandError {
    let names: Vec<String> = open.iter().map(|call| call.at.to_string()).collect();
    let error = CommandError::new(format!(
        "no call of `{wanted}` waits for a decision in the run `{}`",
        store::short_id(run)
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
