//! `planwright chat`: a conversation with a model that has the tools, and plans.

mod acts;
mod calls;
mod context;
mod counted;
mod delegates;
mod input;
mod kept;
mod offers;
mod plans;
mod review;
mod shown;
mod streamed;
mod turn;
mod words;

use std::io::IsTerminal;
use std::path::Path;

use planwright::config::Config;

use self::context::ChatContext;
use self::input::{Heard, Input};
use self::kept::Chat;
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
        return kept::list(arguments.format, printer);
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
        Some(id) => kept::find(id)?,
        None => Chat::new(model.name(), arguments.protocol),
    };
    if arguments.resume.is_some() && chat.protocol() != arguments.protocol {
        return Err(
            CommandError::new("the conversation was held in the other way")
                .hint("say the same --protocol as when it began"),
        );
    }
    let mut signals = Signals::new()?;
    let desk = tokio::select! {
        desk = ChatContext::open(arguments, &config, model, chat.calls, printer) => ChatContext { is_streamed, ..desk? },
        () = signals.next() => return Ok(Exit::Interrupted),
    };
    let exit = talk(&desk, &mut chat, &config, &mut signals).await;
    telemetry::close(desk.telemetry.clone()).await;
    desk.toolbox.close().await;
    if desk.keeps() && chat.is_begun() {
        printer.quote(&format!(
            "go on with `planwright chat --resume {}`",
            chat.short()
        ));
    }
    exit
}

/// Takes turns until there is nothing more to be said.
async fn talk(
    desk: &ChatContext<'_>,
    chat: &mut Chat,
    config: &Config,
    signals: &mut Signals,
) -> Result<Exit, CommandError> {
    let mut input = Input::new(desk.arguments.message.clone());
    let mut exit = Exit::Success;
    loop {
        let words = match input.next(signals).await {
            Heard::Words(words) => words,
            Heard::End => return Ok(exit),
            Heard::Interrupted => return Ok(Exit::Interrupted),
        };
        exit = match desk.arguments.protocol {
            Protocol::Tools => turn::take(desk, chat, words, signals).await?,
            Protocol::Acts => acts::take(desk, chat, config, words, signals).await?,
        };
        if exit == Exit::Interrupted && !std::io::stdin().is_terminal() {
            return Ok(exit);
        }
    }
}
