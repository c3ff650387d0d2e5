//! The program `planwright`: everything that knows clap, terminals, environment variables and exit statuses.

mod app;
mod approvals;
mod args;
mod ask;
mod changed_tools;
mod chat;
mod commands;
mod config;
mod consent;
mod convert;
mod create;
mod dates;
mod decide;
mod demo;
mod diagnostics;
mod diff;
mod durations;
mod environment;
mod error;
mod estimate;
mod exchange;
mod exit;
mod guards;
mod init;
mod json;
mod limits;
mod logging;
mod model;
mod passphrase;
mod printer;
mod question;
#[cfg(test)]
mod reference;
mod run;
mod run_storage;
mod runs;
mod serve;
mod settings;
mod signals;
mod store;
mod telemetry;
mod text_file;
mod toolbox;
mod view;
mod wrap;

use std::process::ExitCode;

use clap::Parser;
use planwright::mcp::{SUPERVISE, supervise};

use args::{Arguments, Command};
use error::CommandError;
use exit::Exit;
use printer::Printer;

/// The system's allocator took a quarter of the time of a large run: plans are many small parts.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut own = std::env::args_os().skip(1);
    if own.next().is_some_and(|first| first == SUPERVISE) {
        // Not for people: this process stands between another one and a server.
        return ExitCode::from(supervise(own));
    }
    let arguments = Arguments::parse();
    let printer = Printer::new(arguments.color);
    // A client that starts a server does not see its output, so warnings are logged. Faulty requests of clients are answered, not logged.
    let usual = matches!(arguments.command, Command::Serve(_)).then_some("warn,rmcp=error");
    let logging = logging::start(arguments.log.as_deref(), usual);
    let exit = match logging.and_then(|()| run(arguments.command, printer)) {
        Ok(exit) => exit,
        Err(error) => {
            printer.quote(&format!("error: {error}"));
            for hint in error.hints() {
                printer.quote(&format!("  hint: {hint}"));
            }
            error.exit()
        }
    };
    let exit = match exit {
        Exit::Success if Printer::has_lost_data() => Exit::Internal,
        exit => exit,
    };
    ExitCode::from(exit.code())
}

fn run(command: Command, printer: Printer) -> Result<Exit, CommandError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| {
            CommandError::new(format!("cannot start: {}", error::reason(&error))).internal(error)
        })?;
    let exit = runtime.block_on(async {
        signals::survive_file_size_limit();
        match command {
            Command::Run(arguments) => Box::pin(app::run(&arguments, printer)).await,
            Command::Resume(arguments) => Box::pin(run::resume::resume(&arguments, printer)).await,
            Command::Approve(arguments) => decide::approve(&arguments, printer),
            Command::Reject(arguments) => decide::reject(&arguments, printer),
            Command::Passphrase(arguments) => passphrase::passphrase(&arguments, printer),
            Command::Runs(arguments) => runs::list::runs(&arguments, printer),
            Command::Logs(arguments) => runs::logs::logs(&arguments, printer),
            Command::Diff(arguments) => diff::diff(&arguments, printer),
            Command::Export(arguments) => exchange::export(&arguments, printer),
            Command::Import(arguments) => exchange::import(&arguments, printer),
            Command::Prune(arguments) => exchange::prune(&arguments, printer),
            Command::Replay(arguments) => run::replay::replay(&arguments, printer),
            Command::Check(arguments) => interruptible(commands::check(&arguments, printer)).await,
            Command::Show(arguments) => interruptible(commands::show(&arguments, printer)).await,
            Command::Convert(arguments) => {
                interruptible(convert::convert(&arguments, printer)).await
            }
            Command::Create(arguments) => interruptible(create::command(&arguments, printer)).await,
            Command::Ask(arguments) => Box::pin(ask::command(&arguments, printer)).await,
            Command::Chat(arguments) => Box::pin(chat::command(&arguments, printer)).await,
            Command::Save(arguments) => runs::stored_plans::save(&arguments, printer),
            Command::List(arguments) => runs::stored_plans::list(&arguments, printer),
            Command::Delete(arguments) => runs::stored_plans::delete(&arguments, printer),
            Command::Tools(arguments) => interruptible(commands::tools(&arguments, printer)).await,
            Command::Config(arguments) => config::command(&arguments, printer),
            Command::Init(arguments) => init::init(&arguments, printer),
            Command::Wrap(arguments) => wrap::wrap(&arguments, printer),
            Command::Trust(arguments) => {
                interruptible(serve::trust::command(&arguments, printer)).await
            }
            Command::Serve(arguments) => Box::pin(serve::command::serve(&arguments, printer)).await,
            Command::Login(arguments) => {
                interruptible(serve::login::command(&arguments, printer)).await
            }
            Command::Token(arguments) => serve::token::command(&arguments, printer),
            Command::Demo(arguments) => Box::pin(demo::demo(&arguments, printer)).await,
            Command::Dates(arguments) => dates::dates(&arguments, printer),
            Command::Completions { shell } => Ok(commands::completions(shell, printer)),
        }
    });
    // A question without an answer must not keep the process alive.
    runtime.shutdown_background();
    exit
}

/// Does something until it is done or a signal comes. What it has started, such as servers, ends with it.
async fn interruptible(
    command: impl Future<Output = Result<Exit, CommandError>>,
) -> Result<Exit, CommandError> {
    let signal = signals::Signals::new()?.insist();
    let command = Box::pin(command);
    tokio::select! {
        exit = command => exit,
        _ = signal => Ok(Exit::Interrupted),
    }
}
