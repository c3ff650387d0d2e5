//! `planwright chat`: a conversation with a model that has the tools, and plans.

mod acts;
mod call_counter;
mod calls;
mod chat_file;
mod context;
mod delegates;
mod input;
mod output;
mod plans;
mod review;
mod streamed;
mod text;
mod tool_definitions;
mod turn;

use std::io::IsTerminal;
use std::path::Path;

use planwright::config::Config;

use self::chat_file::Chat;
use self::context::ChatContext;
use self::input::{Input, InputEvent};
use super::args::{Approve, ChatArguments, Protocol};
use super::error::CommandError;
use super::exit::Exit;
use super::printer::Printer;
use super::settings::{self, Settings};
use super::signals::Signals;
use super::{approvals, model, telemetry};

/// `planwright chat [MESSAGE]`
pub(crate) async fn command(
    arguments: &ChatArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    if arguments.list {
        return chat_file::list(arguments.format, printer);
    }
    if let (Protocol::Tools, Some(flag)) = (arguments.protocol, arguments.acts.named()) {
        return Err(CommandError::new(format!(
            "`{flag}` is for conversations in the way of the acts"
        ))
        .hint("say --protocol acts"));
    }
    let is_streamed = arguments.stream.is_wanted(&arguments.consent)?;
    if arguments.stream.stream && arguments.protocol == Protocol::Acts {
        return Err(CommandError::new(
            "`--protocol acts` runs solutions, and writes no plans to stream",
        )
        .hint("leave out `--stream`"));
    }
    let Settings { config, .. } = settings::load(Path::new("."))?;
    if arguments.consent.approve == Approve::Plan(None) && approvals::terminal().is_err() {
        return Err(
            CommandError::new("there is no terminal to approve plans on")
                .hint("say --approve all, or --approve none"),
        );
    }
    let model = model::open(&arguments.model, &config)?;
    let mut chat = match &arguments.resume {
        Some(id) => chat_file::find(id)?,
        None => Chat::new(model.name(), arguments.protocol),
    };
    if arguments.resume.is_some() && chat.protocol() != arguments.protocol {
        return Err(
            CommandError::new("the conversation was held in the other way")
                .hint("say the same --protocol as when it began"),
        );
    }
    let mut signals = Signals::new()?;
    let context = tokio::select! {
        context = ChatContext::open(arguments, &config, model, chat.calls, printer) => ChatContext { is_streamed, ..context? },
        () = signals.next() => return Ok(Exit::Interrupted),
    };
    let exit = talk(&context, &mut chat, &config, &mut signals).await;
    telemetry::close(context.telemetry.clone()).await;
    context.toolbox.close().await;
    if context.keeps() && chat.is_begun() {
        printer.quote(&format!(
            "go on with `planwright chat --resume {}`",
            chat.short()
        ));
    }
    exit
}

/// Takes turns until there is nothing more to be said.
async fn talk(
    context: &ChatContext<'_>,
    chat: &mut Chat,
    config: &Config,
    signals: &mut Signals,
) -> Result<Exit, CommandError> {
    let mut input = Input::new(context.arguments.message.clone());
    let mut exit = Exit::Success;
    loop {
        let words = match input.next(signals).await {
            InputEvent::Words(words) => words,
            InputEvent::End => return Ok(exit),
            InputEvent::Interrupted => return Ok(Exit::Interrupted),
        };
        exit = match context.arguments.protocol {
            Protocol::Tools => turn::take(context, chat, words, signals).await?,
            Protocol::Acts => acts::take(context, chat, config, words, signals).await?,
        };
        if exit == Exit::Interrupted && !std::io::stdin().is_terminal() {
            return Ok(exit);
        }
    }
}
