//! The approver of calls that asks the person at the terminal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use indexmap::IndexMap;
use planwright::call_view::{self, CallView, visible};
use planwright::core::Value;
use planwright::engine::Decision;
use planwright::engine::approval::{ApprovalRequest, Approver};
use planwright::engine::event::Address;

use super::passphrase::PassphraseCheck;
use crate::system::editor;
use crate::system::terminal_input::{TerminalInput, at_terminal};
use crate::view::live::Live;
use crate::view::paragraph::filled;
use crate::view::printer::{Printer, counted};

/// The answers to a question about a call, with their meanings.
const ANSWERS: &[(&str, &str)] = &[
    ("y", "make the call with these arguments"),
    ("n", "reject it: its step fails"),
    (
        STEP,
        "show the waiting calls of this step, one per item, and decide about all of them at once",
    ),
    (
        "c",
        "change the arguments, in the editor of `VISUAL` or `EDITOR`, or as one line of JSON; the changed call is asked about again",
    ),
    ("a", "show all arguments in full, as JSON"),
    (
        "l",
        "decide later: the run continues with everything that does not need the call, then waits",
    ),
];

/// The answer that decides about several items of a loop.
const STEP: &str = "s";

/// Asks the person at the terminal, one question at a time.
pub(super) struct TerminalApprover {
    printer: Printer,
    live: Arc<Live>,
    passphrase: PassphraseCheck,
    /// The lock of the terminal: one question at a time.
    turn: Arc<tokio::sync::Mutex<()>>,
    waiting: Arc<Mutex<WaitingCalls>>,
}

/// An approver that lists each call as waiting while another approver decides about it. The call is listed as soon as `decide` is called,
/// before the returned future is polled, so all calls of a step are listed before the first question about one of them.
pub(super) struct ListingApprover {
    waiting: Arc<Mutex<WaitingCalls>>,
    approver: Arc<dyn Approver>,
}

/// The calls that wait for an answer, by their digests, and the answers that one decision gave to several calls.
#[derive(Default)]
struct WaitingCalls {
    calls: IndexMap<String, ApprovalRequest>,
    answers: HashMap<String, Decision>,
}

impl TerminalApprover {
    pub(super) fn new(
        printer: Printer,
        live: Arc<Live>,
        passphrase: PassphraseCheck,
        turn: Arc<tokio::sync::Mutex<()>>,
    ) -> Self {
        Self {
            printer,
            live,
            passphrase,
            turn,
            waiting: Arc::default(),
        }
    }

    /// Wraps `approver` so that its calls are listed as waiting: the person at the terminal can then decide about all calls of a step together.
    pub(super) fn listing(&self, approver: Arc<dyn Approver>) -> ListingApprover {
        ListingApprover {
            waiting: Arc::clone(&self.waiting),
            approver,
        }
    }
}

impl Approver for ListingApprover {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        let entry = WaitingCall::add(&self.waiting, request.clone());
        Box::pin(async move {
            let decision = self.approver.decide(request).await;
            drop(entry);
            decision
        })
    }
}

impl Approver for TerminalApprover {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        Box::pin(async move {
            let _turn = self.turn.lock().await;
            let answer = lock(&self.waiting).answers.remove(&request.digest());
            if let Some(answer) = answer {
                return answer;
            }
            let live = Arc::clone(&self.live);
            let prompt = CallPrompt {
                printer: self.printer,
                passphrase: self.passphrase.clone(),
                waiting: Arc::clone(&self.waiting),
                request,
            };
            let asked = at_terminal(move |input| live.suspend(|| prompt.ask(LineReader { input })));
            asked.await.unwrap_or(Decision::Later)
        })
    }
}

/// A guard of a waiting call. Dropping it removes the call.
struct WaitingCall {
    waiting: Arc<Mutex<WaitingCalls>>,
    digest: String,
}

impl WaitingCall {
    fn add(waiting: &Arc<Mutex<WaitingCalls>>, request: ApprovalRequest) -> Self {
        let digest = request.digest();
        lock(waiting).calls.insert(digest.clone(), request);
        Self {
            waiting: Arc::clone(waiting),
            digest,
        }
    }
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        let mut waiting = lock(&self.waiting);
        waiting.calls.shift_remove(&self.digest);
        waiting.answers.remove(&self.digest);
    }
}

fn lock(waiting: &Mutex<WaitingCalls>) -> MutexGuard<'_, WaitingCalls> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The dialogue with the person about one call.
struct CallPrompt {
    printer: Printer,
    passphrase: PassphraseCheck,
    waiting: Arc<Mutex<WaitingCalls>>,
    request: ApprovalRequest,
}

/// A reader of the lines that the person types.
struct LineReader<'a> {
    input: &'a mut TerminalInput,
}

impl LineReader<'_> {
    /// Asks one question, and returns the answer; `None` at the end of the input, and if the call no longer waits.
    fn ask(&mut self, question: &str) -> Option<String> {
        let line = self.read(&filled(question, Printer::status_width(), 2));
        line.map(|line| line.trim().to_lowercase())
    }

    /// Asks for a line, without trimming it.
    fn read(&mut self, question: &str) -> Option<String> {
        self.input.ask(&format!("{question} "))
    }
}

impl CallPrompt {
    fn ask(&self, mut reader: LineReader<'_>) -> Decision {
        self.printer
            .quote(&format!("\n{}", CallView::of(&self.request).text()));
        let step_choice = if self.request.at.item.is_some() {
            "all of this [s]tep, "
        } else {
            ""
        };
        // The arguments above may be longer than the screen, so the question itself names the call.
        let call = CallView::of(&self.request).brief();
        let mut changed: Option<Value> = None;
        loop {
            let with = if changed.is_some() {
                " with these arguments"
            } else {
                ""
            };
            let question = format!(
                "make {call}{with}? [y]es, [n]o, {step_choice}[c]hange, [a]rguments in full, [l]ater, [?]:"
            );
            let Some(answer) = reader.ask(&question) else {
                return Decision::Later;
            };
            let args = changed.as_ref().unwrap_or(&self.request.shown);
            let decision = match answer.as_str() {
                "y" | "yes" => {
                    let args = changed.clone();
                    self.confirmed(Decision::Approve { args }, &mut reader)
                }
                "n" | "no" => Some(Decision::Reject { because: None }),
                "l" | "later" => Some(Decision::Later),
                "s" | "step" if self.request.at.item.is_some() => {
                    self.decide_step(changed.as_ref(), &mut reader)
                }
                "a" | "all" => {
                    for line in pretty_json(args).lines() {
                        self.printer.quote(&format!("  {}", visible(line)));
                    }
                    None
                }
                "c" | "change" => {
                    let Some(edited) = self.edited(args, &mut reader) else {
                        return Decision::Later;
                    };
                    match edited {
                        Ok(args) => changed = self.show_changed(args),
                        Err(error) => self.printer.quote(&format!("  {error}")),
                    }
                    None
                }
                "" => None,
                _ => {
                    self.explain();
                    None
                }
            };
            if let Some(decision) = decision {
                return decision;
            }
        }
    }

    /// Asks for the passphrase, if one is set, and returns `decision`; `None` if the passphrase is not confirmed.
    fn confirmed(&self, decision: Decision, reader: &mut LineReader<'_>) -> Option<Decision> {
        match self.passphrase.confirm_at(reader.input) {
            Ok(()) => Some(decision),
            Err(error) => {
                self.printer.quote(&format!("  {error}"));
                None
            }
        }
    }

    /// Prints the answers with their meanings.
    fn explain(&self) {
        let is_item = self.request.at.item.is_some();
        for (answer, meaning) in ANSWERS {
            if *answer != STEP || is_item {
                let room = Printer::status_width().saturating_sub(5);
                self.printer
                    .status(&format!("  {answer}  {}", filled(meaning, room, 5)));
            }
        }
    }

    /// Shows changed arguments and returns them; `None` if they are those of the call.
    fn show_changed(&self, args: Value) -> Option<Value> {
        if args == self.request.shown {
            self.printer
                .quote("the arguments are those of the call, unchanged");
            return None;
        }
        self.printer.quote("with these arguments instead:");
        for line in call_view::arguments(&args) {
            self.printer.quote(&format!("  {line}"));
        }
        Some(args)
    }

    /// Asks for arguments that replace `args`; `None` at the end of the input, and if the call no longer waits.
    fn edited(&self, args: &Value, reader: &mut LineReader<'_>) -> Option<Result<Value, String>> {
        let text = match editor::configured() {
            Some(_) => match reader.input.edit(&pretty_json(args), "arguments")? {
                Ok(text) => text,
                Err(error) => return Some(Err(error)),
            },
            None => reader.read("arguments as JSON:")?,
        };
        let args = match Value::from_written_json(&text) {
            Ok(args) => args,
            Err(error) => return Some(Err(format!("invalid JSON: {error}"))),
        };
        if args.as_object().is_none() {
            return Some(Err(format!("expected an object, found a {}", args.kind())));
        }
        let checked = self.request.check_changed_args(&args);
        Some(match checked {
            Ok(()) => Ok(args),
            Err(error) => Err(error.to_string()),
        })
    }

    /// Shows the waiting calls of all items of the step, and asks for one decision about them; `None` if the person decides about each call.
    /// `changed` are the arguments that the person gave the call of this question.
    fn decide_step(
        &self,
        changed: Option<&Value>,
        reader: &mut LineReader<'_>,
    ) -> Option<Decision> {
        let whole = whole_step(&self.request.at);
        let mut calls: Vec<(String, ApprovalRequest)> = lock(&self.waiting)
            .calls
            .iter()
            .filter(|(_, call)| call.run == self.request.run && whole_step(&call.at) == whole)
            .map(|(digest, call)| (digest.clone(), call.clone()))
            .collect();
        calls.sort_by_key(|(_, call)| call.at.item);
        let own = self.request.digest();
        for (digest, call) in &calls {
            let args = changed.filter(|_| *digest == own);
            let lines = CallView::of(call)
                .lines_with(call_view::arguments(args.unwrap_or(&call.subject.args)));
            self.printer.quote(&format!("\n{}", lines.join("\n")));
        }
        let question = format!(
            "make these {}? [y]es, [n]o, [o]ne by one:",
            counted(calls.len(), "call")
        );
        let decision = loop {
            match reader.ask(&question).as_deref() {
                Some("y" | "yes") => {
                    let args = changed.cloned();
                    break self.confirmed(Decision::Approve { args }, reader)?;
                }
                Some("n" | "no") => break Decision::Reject { because: None },
                Some("o" | "one") => return None,
                Some(_) => {}
                None => return Some(Decision::Later),
            }
        };
        // The changed arguments are those of one call.
        let for_others = match &decision {
            Decision::Approve { .. } => Decision::Approve { args: None },
            other => other.clone(),
        };
        let mut waiting = lock(&self.waiting);
        for (digest, _) in calls {
            // A call that was withdrawn meanwhile needs no answer.
            if waiting.calls.contains_key(&digest) && digest != own {
                waiting.answers.insert(digest, for_others.clone());
            }
        }
        Some(decision)
    }
}

/// Formats arguments as JSON in several lines.
fn pretty_json(args: &Value) -> String {
    // Writing a value cannot fail: its keys are texts.
    serde_json::to_string_pretty(args).unwrap_or_default()
}

/// The address of the step that an item or a round belongs to.
fn whole_step(at: &Address) -> Address {
    Address {
        item: None,
        round: None,
        ..at.clone()
    }
}
