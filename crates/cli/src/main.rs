//! The program `planwright`: everything that knows clap, terminals, environment variables and exit statuses.

mod approval;
mod args;
mod chat;
mod error;
mod inspect;
mod learn;
mod planning;
mod run;
mod runs;
mod serve;
mod setup;
mod system;
mod tools;
mod view;

use std::process::ExitCode;
use std::str::FromStr;

use planwright::mcp::{SUPERVISE, supervise};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::error::Exit;
use crate::tools::open_servers::ServerUse;
use crate::view::printer::Printer;
use args::{Command, parse};
use error::CommandError;

/// Plans consist of many small allocations, and the system's allocator took a quarter of the time of a large run.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == SUPERVISE) {
        // Not a command for people: this process supervises a server for another process.
        return ExitCode::from(supervise(arguments));
    }
    match setup::complete::complete() {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(error) => error.exit(),
    }
    let arguments = match parse() {
        Ok(arguments) => arguments,
        Err(exit) => return exit,
    };
    let printer = Printer::new(arguments.color).with_pager(!arguments.no_pager);
    // A client that starts a server does not see its output, so warnings are logged. Faulty requests of clients are answered, not logged.
    // For all other commands, the only log by default is the warning that they wait for the store.
    let default = match &arguments.command {
        Command::Serve(_) | Command::Worker(_) => "warn,rmcp=error",
        _ => "off,planwright_store=warn",
    };
    let logging = start_logs(arguments.log.as_deref(), default);
    let exit = match logging.and_then(|()| run(arguments.command, printer)) {
        Ok(exit) => exit,
        Err(error) => {
            printer.error(&error);
            error.exit()
        }
    };
    // The status of the command would hide that a part of the output was not written.
    let is_incomplete = exit != Exit::Interrupted && Printer::has_lost_data();
    let exit = if is_incomplete { Exit::Internal } else { exit };
    ExitCode::from(exit.code())
}

/// The variable that selects the log level without the flag.
const LOG_VARIABLE: &str = "PLANWRIGHT_LOG";

/// Enables the logs that `wanted` selects, else those of the environment, else the `default` ones.
fn start_logs(wanted: Option<&str>, default: &str) -> Result<(), CommandError> {
    let variable = system::environment::variable(LOG_VARIABLE).filter(|text| !text.is_empty());
    let text = wanted.or(variable.as_deref()).unwrap_or(default);
    let targets = Targets::from_str(text).map_err(|_| {
        CommandError::new(format!("`{text}` is not a log filter"))
            .hint("write a level (error, warn, info, debug, trace), or parts with levels: `warn,planwright=debug`")
    })?;
    let lines = layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(true);
    // A program that embeds this one as a library may have set a logger already.
    let _ = tracing_subscriber::registry()
        .with(lines)
        .with(targets)
        .try_init();
    Ok(())
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
        system::signals::survive_file_size_limit();
        match command {
            Command::Run(arguments) => Box::pin(run::session::run(&arguments, printer)).await,
            Command::Call(arguments) => Box::pin(run::call::call(&arguments, printer)).await,
            Command::Resume(arguments) => Box::pin(run::resume::resume(&arguments, printer)).await,
            Command::Revert(arguments) => Box::pin(run::revert::revert(&arguments, printer)).await,
            Command::Waiting(arguments) => approval::waiting::waiting(&arguments, printer),
            Command::Approve(arguments) if arguments.plan => {
                approval::plan::approve(&arguments, printer)
            }
            Command::Approve(arguments) => approval::decide::approve(&arguments, printer),
            Command::Reject(arguments) => approval::decide::reject(&arguments, printer),
            Command::Passphrase(arguments) => approval::passphrase::passphrase(&arguments, printer),
            Command::Runs(arguments) if arguments.watch => {
                Box::pin(runs::watch::watch(&arguments, printer)).await
            }
            Command::Runs(arguments) => runs::list::runs(&arguments, printer),
            Command::Logs(arguments) if arguments.follow => {
                Box::pin(runs::follow::logs(&arguments, printer)).await
            }
            Command::Logs(arguments) => runs::logs::logs(&arguments, printer),
            Command::Attach(arguments) => Box::pin(runs::follow::attach(&arguments, printer)).await,
            Command::Cancel(arguments) => runs::follow::cancel(&arguments, printer).await,
            Command::Diff(arguments) => runs::diff::diff(&arguments, printer),
            Command::Export(arguments) => runs::exchange::export(&arguments, printer),
            Command::Import(arguments) => runs::exchange::import(&arguments, printer),
            Command::Prune(arguments) => runs::exchange::prune(&arguments, printer),
            Command::Replay(arguments) => runs::replay::replay(&arguments, printer),
            Command::Check(arguments) if arguments.watch => {
                Box::pin(inspect::check::watch(&arguments, printer)).await
            }
            Command::Check(arguments) => {
                let server_use = if arguments.refresh {
                    ServerUse::FreshLists
                } else {
                    ServerUse::Lists
                };
                interruptible(inspect::check::check(&arguments, server_use, printer)).await
            }
            Command::Explain(arguments) => inspect::explain::explain(&arguments, printer),
            Command::Flow(arguments) => {
                interruptible(inspect::flow::flow(&arguments, printer)).await
            }
            Command::Lsp(arguments) => interruptible(inspect::lsp::lsp(&arguments, printer)).await,
            Command::Show(arguments) => {
                interruptible(inspect::commands::show(&arguments, printer)).await
            }
            Command::Convert(arguments) => {
                interruptible(inspect::convert::convert(&arguments, printer)).await
            }
            Command::Create(arguments) => {
                interruptible(planning::create::command(&arguments, printer)).await
            }
            Command::Ask(arguments) => Box::pin(planning::ask::command(&arguments, printer)).await,
            Command::Chat(arguments) => Box::pin(chat::command::command(&arguments, printer)).await,
            Command::Save(arguments) => runs::exchange::save(&arguments, printer),
            Command::Learn(arguments) => {
                interruptible(learn::command::learn(&arguments, printer)).await
            }
            Command::List(arguments) => runs::exchange::list(&arguments, printer),
            Command::Delete(arguments) => runs::exchange::delete(&arguments, printer),
            Command::Tools(arguments) => {
                interruptible(inspect::commands::tools(&arguments, printer)).await
            }
            Command::Servers(arguments) => {
                interruptible(tools::servers::servers(&arguments, printer)).await
            }
            Command::Doctor(arguments) => {
                interruptible(setup::doctor::doctor(&arguments, printer)).await
            }
            Command::Config(arguments) => setup::settings::command(&arguments, printer),
            Command::Init(arguments) => setup::settings::init(&arguments, printer),
            Command::Wrap(arguments) => setup::wrap::command::wrap(&arguments, printer),
            Command::Trust(arguments) => {
                interruptible(tools::changed_tools::trust(&arguments, printer)).await
            }
            Command::Serve(arguments) => Box::pin(serve::command::serve(&arguments, printer)).await,
            Command::Health(arguments) => {
                interruptible(serve::health::health(&arguments, printer)).await
            }
            Command::Ui(arguments) => Box::pin(serve::ui::ui(&arguments, printer)).await,
            Command::Worker(arguments) => {
                Box::pin(serve::worker::worker(&arguments, printer)).await
            }
            Command::Login(arguments) => {
                interruptible(serve::token::login(&arguments, printer)).await
            }
            Command::Token(arguments) => serve::token::token(&arguments, printer),
            Command::Demo(arguments) => Box::pin(run::demo::demo(&arguments, printer)).await,
            Command::Dates(arguments) => planning::dates::dates(&arguments, printer),
            Command::Completions { shell } => setup::complete::completions(shell, printer),
            Command::Man(arguments) => setup::man::man(&arguments, printer),
        }
    });
    // A thread that waits for an answer must not keep the process alive.
    runtime.shutdown_background();
    exit
}

/// Runs a future until it completes or a signal arrives. Processes that it has started, such as servers, end with it.
async fn interruptible(
    command: impl Future<Output = Result<Exit, CommandError>>,
) -> Result<Exit, CommandError> {
    let signal = system::signals::Signals::new()?.exit_after_first();
    let command = Box::pin(command);
    tokio::select! {
        exit = command => exit,
        _ = signal => Ok(Exit::Interrupted),
    }
}
