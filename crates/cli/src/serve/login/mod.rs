//! `planwright login`: a person lets us into a server that wants to know who they are.

mod browser;

use std::sync::Arc;
use std::time::Duration;

use planwright::mcp::{
    ConnectOptions, Connections, HttpConfig, ServerConfig, ServerTransport, ServersConfig,
};

use self::browser::Browser;
use crate::args::{LoginArguments, ToolArguments};
use crate::environment;
use crate::error::{CommandError, reason};
use crate::exit::Exit;
use crate::printer::Printer;
use crate::serve::server_tokens;
use crate::toolbox;

/// The time limit for the person.
const PATIENCE: Duration = Duration::from_mins(10);

/// `planwright login SERVER`
pub(crate) async fn command(
    arguments: &LoginArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let name = &arguments.server;
    let mut server = find(arguments, printer)?;
    let ServerTransport::Http(http) = &server.reach else {
        return Err(
            CommandError::new(format!("`{name}` is a program, which needs no login"))
                .hint("give it its keys with `env`"),
        );
    };
    if arguments.remove {
        return forget(name, http, printer);
    }
    let browser = Browser::open(http.oauth.callback_port, printer).await?;
    let browser = Arc::new(browser);
    server.start_timeout = Some(PATIENCE);
    let options = ConnectOptions {
        tokens: server_tokens::of_user(),
        consent: Some(Arc::clone(&browser) as _),
        ..ConnectOptions::default()
    };
    let config = ServersConfig {
        servers: vec![server],
        ..ServersConfig::default()
    };
    let connections = Connections::connect(&config, options).await;
    connections.shutdown().await;
    if let Some(failure) = connections.failures().first() {
        return Err(CommandError::new(failure.message.clone()).hint(failure.help.clone()));
    }
    let count = connections.tools().len();
    let outcome = if browser.was_asked() {
        format!("logged in to `{name}`; it offers {count} tools")
    } else {
        format!("`{name}` lets you in as it is; it offers {count} tools")
    };
    printer.quote(&outcome);
    Ok(Exit::Success)
}

fn find(arguments: &LoginArguments, printer: Printer) -> Result<ServerConfig, CommandError> {
    let name = &arguments.server;
    let tools = ToolArguments {
        servers: arguments.servers.clone(),
        ..ToolArguments::default()
    };
    let Some(found) = toolbox::servers_file(&tools, printer)? else {
        return Err(
            CommandError::new("there is no `mcp.json`").hint("name one with `--servers FILE`")
        );
    };
    let file = found.path.display().to_string();
    let (config, _) =
        ServersConfig::parse(&found.text, &file, &environment::variable).map_err(|error| {
            let help = error.help.clone();
            CommandError::new(error.to_string()).hint(help)
        })?;
    let is_it = |server: &Option<Arc<str>>| server.as_deref() == Some(name);
    if let Some(problem) = config
        .unusable
        .iter()
        .find(|problem| is_it(&problem.server))
    {
        return Err(CommandError::new(problem.to_string()).hint(problem.help.clone()));
    }
    let mut servers = config.servers.into_iter();
    servers
        .find(|server| *server.name == **name)
        .ok_or_else(|| {
            CommandError::new(format!("`{file}` has no server `{name}`"))
                .hint("name it as the file does")
        })
}

fn forget(name: &str, http: &HttpConfig, printer: Printer) -> Result<Exit, CommandError> {
    let was_there = server_tokens::of_user()
        .forget(&http.url)
        .map_err(|error| {
            CommandError::new(format!(
                "the file of tokens cannot be changed: {}",
                reason(&error)
            ))
        })?;
    let outcome = if was_there {
        format!("what `{name}` has given out is forgotten here")
    } else {
        format!("`{name}` has given out nothing")
    };
    printer.quote(&outcome);
    Ok(Exit::Success)
}
