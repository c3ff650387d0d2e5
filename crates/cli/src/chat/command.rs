//! `planwright chat`: opens a conversation and processes one input after the other.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use planwright::config::Config;

use super::chat_file::Chat;
use super::context::ChatContext;
use super::plan_command;
use crate::args::{Approve, ChatArguments, Protocol};
use crate::error::{CommandError, Exit};
use crate::planning::model;
use crate::setup::settings::{self, Settings};
use crate::system::signals::Signals;
use crate::system::telemetry;
use crate::view::printer::{Printer, terminal};

/// `planwright chat [MESSAGE]`
pub(crate) async fn command(
    arguments: &ChatArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    if arguments.list {
        return super::chat_file::list(arguments.format, printer);
    }
    if let (Protocol::Tools, Some(flag)) = (arguments.protocol, arguments.acts.named()) {
        return Err(
            CommandError::new(format!("`{flag}` needs `--protocol acts`"))
                .hint(format!("add `--protocol acts`, or leave out `{flag}`")),
        );
    }
    if arguments.no_plan_tools && arguments.protocol == Protocol::Acts {
        return Err(CommandError::new("`--protocol acts` has no plan tools")
            .hint("leave out `--no-plan-tools`"));
    }
    let is_streamed = arguments.stream.is_wanted(&arguments.consent)?;
    if arguments.stream.stream && arguments.protocol == Protocol::Acts {
        return Err(CommandError::new(
            "`--protocol acts` runs solutions, and writes no plans to stream",
        )
        .hint("leave out `--stream`"));
    }
    let Settings { config, .. } = settings::load(Path::new("."))?;
    if arguments.consent.approve == Approve::Plan(None) && terminal().is_err() {
        return Err(
            CommandError::new("there is no terminal to approve plans on")
                .hint("use `--approve all` or `--approve none`"),
        );
    }
    let model = model::open(&arguments.model, &config)?;
    let mut chat = match &arguments.resume {
        Some(id) => super::chat_file::find(id)?,
        None => Chat::new(model.name(), arguments.protocol),
    };
    if arguments.resume.is_some() && chat.protocol() != arguments.protocol {
        return Err(CommandError::new(
            "the conversation was started with a different `--protocol`",
        )
        .hint("use the same `--protocol` as before"));
    }
    let mut signals = Signals::new()?;
    let context = tokio::select! {
        context = ChatContext::open(arguments, &config, model, chat.calls, printer) => ChatContext { is_streamed, ..context? },
        _ = signals.next() => return Ok(Exit::Interrupted),
    };
    let exit = Box::pin(converse(&context, &mut chat, &config, &mut signals)).await;
    signals.leave_on_next();
    telemetry::close(context.telemetry.clone()).await;
    context.toolbox.servers.close().await;
    if context.is_stored() && chat.is_begun() {
        printer.quote(&format!(
            "resume with `planwright chat --resume {}`",
            chat.short()
        ));
    }
    exit
}

/// Runs turns until the input ends.
async fn converse(
    context: &ChatContext<'_>,
    chat: &mut Chat,
    config: &Config,
    signals: &mut Signals,
) -> Result<Exit, CommandError> {
    let mut input = ChatInput::new(context.arguments.message.clone());
    let mut exit = Exit::Success;
    loop {
        let words = match input.next(signals).await {
            InputEvent::Words(words) => words,
            InputEvent::End => return Ok(exit),
            InputEvent::Interrupted => return Ok(Exit::Interrupted),
        };
        context.runs.begin();
        if let Some(words) = plan_command::words(&words) {
            exit = Box::pin(plan_command::carry_out(context, chat, words, signals)).await?;
            continue;
        }
        exit = match context.arguments.protocol {
            Protocol::Tools => super::turn::run_turn(context, chat, words, signals).await?,
            Protocol::Acts => super::acts::run_turn(context, chat, config, words, signals).await?,
        };
        if exit == Exit::Interrupted && !std::io::stdin().is_terminal() {
            return Ok(exit);
        }
    }
}

/// The source of the input.
struct ChatInput {
    first: Option<String>,
}

/// An input.
enum InputEvent {
    Words(String),
    /// The end of the input.
    End,
    Interrupted,
}

impl ChatInput {
    fn new(first: Option<String>) -> Self {
        Self { first }
    }

    /// Waits for the next input that is not blank.
    async fn next(&mut self, signals: &mut Signals) -> InputEvent {
        if let Some(first) = self.first.take().filter(|words| !words.trim().is_empty()) {
            return InputEvent::Words(first);
        }
        loop {
            let line = tokio::task::spawn_blocking(line);
            let line = tokio::select! {
                line = line => line.ok().flatten(),
                _ = signals.next() => return InputEvent::Interrupted,
            };
            match line {
                None => return InputEvent::End,
                Some(line) if line.trim().is_empty() => {}
                Some(line) => return InputEvent::Words(line.trim().to_owned()),
            }
        }
    }
}

/// Reads the next line of standard input; `None` at its end.
fn line() -> Option<String> {
    let input = std::io::stdin();
    if input.is_terminal() && Printer::is_watched() {
        let mut terminal = std::io::stderr();
        // Input is read even if the prompt cannot be shown.
        let _ = write!(terminal, "> ").and_then(|()| terminal.flush());
    }
    let mut line = String::new();
    match input.lock().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}
