//! A turn: the person writes a message, the model calls tools as needed, and answers.

use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use futures::future::join_all;
use indexmap::IndexMap;
use planwright::core::Value;
use planwright::planner::model::{
    Delivery, Message, ModelCall, ModelError, ModelRequest, Reply, ReplyChunk,
};
use planwright::terminal_text;

use super::calls::CallHandler;
use super::chat_file::{Chat, ChatPlan, Conversation};
use super::context::ChatContext;
use super::output::TurnEnd;
use super::tool_definitions::{SYSTEM, offers};
use crate::args::RunFormat;
use crate::error::{CommandError, Exit};
use crate::planning::dates::PlanningDay;
use crate::planning::progress::Waiting;
use crate::system::signals::Signals;
use crate::view::printer::Printer;

/// The result of a call that the person cancelled.
const GIVEN_UP: &str = "error: the person gave this up before it was done";

/// The end of a turn.
enum End {
    Answer { text: String, is_shown: bool },
    Bound(&'static str),
    Model { error: ModelError, is_shown: bool },
    Interrupted,
}

/// Takes a turn that begins with `words`.
pub(super) async fn take(
    context: &ChatContext<'_>,
    chat: &mut Chat,
    words: String,
    signals: &mut Signals,
) -> Result<Exit, CommandError> {
    chat.name(&words);
    let day = context.known.day(&words);
    say(chat, Message::User(words));
    keep(context, chat)?;
    let end = rounds(context, chat, &day, signals).await?;
    let ended = TurnEnd::of(&chat.id, chat.usage);
    let (ended, exit) = match end {
        End::Answer { text, is_shown } => {
            let answer = Some(Value::from(text));
            (
                TurnEnd {
                    answer,
                    is_shown,
                    ..ended
                },
                Exit::Success,
            )
        }
        End::Bound(what) => {
            let message = Some(format!("nothing is left of the {what} that it may take"));
            (
                TurnEnd {
                    end: "bound",
                    message,
                    ..ended
                },
                Exit::Failed,
            )
        }
        End::Model { error, is_shown } => {
            let help = error.help.as_ref().map(|help| format!("\n  hint: {help}"));
            let message = Some(format!("{error}{}", help.unwrap_or_default()));
            let said = error.said.into();
            (
                TurnEnd {
                    end: "model",
                    message,
                    said,
                    is_shown,
                    ..ended
                },
                Exit::Failed,
            )
        }
        End::Interrupted => (
            TurnEnd {
                end: "interrupted",
                ..ended
            },
            Exit::Interrupted,
        ),
    };
    context.shown.ended(ended)?;
    Ok(exit)
}

/// Sends requests to the model and runs its calls until there is an answer.
async fn rounds(
    context: &ChatContext<'_>,
    chat: &mut Chat,
    day: &PlanningDay,
    signals: &mut Signals,
) -> Result<End, CommandError> {
    let system: Arc<str> = format!("{SYSTEM}\n\n{}", day.moment().text()).into();
    let bounds = &context.arguments.bounds;
    for round in 1..=bounds.rounds.get() {
        let tokens = chat.usage.input_tokens + chat.usage.output_tokens;
        if bounds.tokens.is_some_and(|most| tokens >= most) {
            return Ok(End::Bound("tokens"));
        }
        let cost = bounds.cost.zip(chat.usage.cost);
        if cost.is_some_and(|(most, cost)| cost >= most) {
            return Ok(End::Bound("money"));
        }
        context
            .shown
            .event("asked", [("round", Value::from(round))]);
        let mut request = ModelRequest::new(Arc::clone(&system), messages(chat));
        request.tools = offers(&context.tools);
        let ModelAnswer { reply, is_shown } = tokio::select! {
            said = ask(context, request) => said,
            () = signals.next() => return Ok(End::Interrupted),
        };
        let reply = reply.and_then(|reply| reply.completed(context.model.name()));
        let reply = match reply {
            Ok(reply) => reply,
            Err(error) => {
                chat.usage += error.usage;
                return Ok(End::Model { error, is_shown });
            }
        };
        chat.usage += reply.usage;
        say(chat, reply.message());
        if reply.calls.is_empty() {
            keep(context, chat)?;
            return Ok(End::Answer {
                text: reply.text,
                is_shown,
            });
        }
        if !is_shown && !reply.text.trim().is_empty() {
            context.shown.aside(&reply.text);
        }
        // Calls in flight are stored, so that a resumed conversation knows them after a crash.
        keep(context, chat)?;
        let is_interrupted = call(context, chat, &reply.calls, signals).await;
        chat.calls = context.backend.made();
        keep(context, chat)?;
        if is_interrupted {
            return Ok(End::Interrupted);
        }
    }
    Ok(End::Bound("rounds"))
}

/// Makes the calls of one answer side by side. Whether the person gave them up.
async fn call(
    context: &ChatContext<'_>,
    chat: &mut Chat,
    calls: &[ModelCall],
    signals: &mut Signals,
) -> bool {
    let Conversation::Tools { plans, .. } = &mut chat.conversation else {
        return false;
    };
    let plans: Mutex<IndexMap<String, ChatPlan>> = Mutex::new(std::mem::take(plans));
    let results: Mutex<Vec<Option<String>>> = Mutex::new(vec![None; calls.len()]);
    let calling = CallHandler {
        context,
        plans: &plans,
        usage: Mutex::default(),
    };
    let all = calls.iter().enumerate().map(|(index, call)| {
        let (calling, results) = (&calling, &results);
        async move {
            let result = calling.answer(call).await;
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(place) = results.get_mut(index) {
                *place = Some(result);
            }
        }
    });
    let is_interrupted = tokio::select! {
        _ = join_all(all) => false,
        () = signals.next() => true,
    };
    chat.usage += calling
        .usage
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    chat.usage += context.toolbox.take_extraction_usage();
    if let Conversation::Tools { plans: stored, .. } = &mut chat.conversation {
        *stored = plans.into_inner().unwrap_or_else(PoisonError::into_inner);
    }
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (call, result) in calls.iter().zip(results) {
        let text = result.unwrap_or_else(|| GIVEN_UP.to_owned());
        say(
            chat,
            Message::ToolResult {
                call: call.id.clone(),
                text,
            },
        );
    }
    is_interrupted
}

fn messages(chat: &Chat) -> Vec<Message> {
    match &chat.conversation {
        Conversation::Tools { messages, .. } => messages.clone(),
        Conversation::Acts(_) => Vec::new(),
    }
}

fn say(chat: &mut Chat, message: Message) {
    if let Conversation::Tools { messages, .. } = &mut chat.conversation {
        messages.push(message);
    }
}

fn keep(context: &ChatContext<'_>, chat: &Chat) -> Result<(), CommandError> {
    if context.keeps() { chat.keep() } else { Ok(()) }
}

/// The words of the model, and whether they are on the screen already.
struct ModelAnswer {
    pub(crate) reply: Result<Reply, ModelError>,
    pub(crate) is_shown: bool,
}

/// Asks the model. On a terminal its words are shown as they come.
async fn ask(context: &ChatContext<'_>, mut request: ModelRequest) -> ModelAnswer {
    let name = context.model.name();
    let mut words = WordPrinter {
        waiting: Some(Waiting::new(&format!("{name} thinks"))),
        printer: context.printer,
        last: None,
    };
    let is_live = context.arguments.format == RunFormat::Text && Printer::shows_data();
    if is_live {
        request.delivery = Delivery::Live;
    }
    let mut pieces = context.model.ask(request);
    let reply = loop {
        match pieces.next().await {
            Some(Ok(ReplyChunk::Text(text))) if is_live => words.show(&text),
            Some(Ok(ReplyChunk::Text(_))) => {}
            Some(Ok(ReplyChunk::Done(reply))) => break Ok(reply),
            Some(Err(error)) => break Err(error),
            None => break Err(ModelError::interrupted(name)),
        }
    };
    ModelAnswer {
        reply,
        is_shown: words.last.is_some(),
    }
}

/// WordPrinter on the screen. However it ends, the line does.
struct WordPrinter {
    /// Until the first of them.
    waiting: Option<Waiting>,
    printer: Printer,
    /// The letter that was shown last.
    last: Option<char>,
}

impl WordPrinter {
    fn show(&mut self, text: &str) {
        // Blank lines before the first word are no answer yet.
        let text = match self.last {
            Some(_) => text,
            None => text.trim_start(),
        };
        let Some(last) = text.chars().last() else {
            return;
        };
        if let Some(waiting) = self.waiting.take() {
            waiting.end();
        }
        self.last = Some(last);
        self.printer.data(&terminal_text::lines(text));
    }
}

impl Drop for WordPrinter {
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            waiting.end();
        }
        if self.last.is_some_and(|last| last != '\n') {
            self.printer.data("\n");
        }
    }
}
