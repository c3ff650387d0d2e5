//! `planwright token`: the clients that may connect to `serve` over HTTP. `planwright login SERVER`: the login of a person in the browser.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright::core::ServerName;
use planwright::mcp::{
    ConnectOptions, Connections, Consent, HttpConfig, ServerConfig, ServersConfig,
};
use planwright::terminal_text;
use planwright_serve::TokenFile;
use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::args::{Format, LoginArguments, RunFormat, TokenArguments, TokenCommand, ToolArguments};
use crate::error::{CommandError, Exit, reason};
use crate::system::environment;
use crate::tools::toolbox;
use crate::view::output;
use crate::view::printer::Printer;

/// The token file in the folder of the user's data.
pub(crate) fn user_file() -> Result<TokenFile, CommandError> {
    let folder = environment::data_folder().ok_or_else(|| {
        CommandError::new("there is no folder for tokens").hint("set HOME or XDG_DATA_HOME")
    })?;
    Ok(TokenFile::at(folder.join("tokens.json")))
}

/// A client in the output of `token list`.
#[derive(Debug, Serialize)]
struct TokenListing<'a> {
    name: &'a str,
    created: &'a str,
}

/// `planwright token`
pub(crate) fn token(arguments: &TokenArguments, printer: Printer) -> Result<Exit, CommandError> {
    let file = user_file()?;
    match &arguments.command {
        TokenCommand::Create { name } => {
            let token = file.create(name)?;
            printer.quote(&format!(
                "`{name}` has a token; it cannot be shown again, since only its hash is stored"
            ));
            printer.data_line(&token);
        }
        TokenCommand::Revoke { name } => {
            file.revoke(name)?;
            printer.quote(&format!("the token of `{name}` is revoked"));
        }
        TokenCommand::List { format } => {
            let tokens = file.read()?;
            let clients: Vec<TokenListing<'_>> = tokens
                .iter()
                .map(|token| TokenListing {
                    name: &token.name,
                    created: &token.created,
                })
                .collect();
            match format {
                Format::Json => output::json(&clients, RunFormat::Json, printer)?,
                Format::Text if clients.is_empty() => printer.status("no client has a token"),
                Format::Text => printer.data(&table(&clients)),
            }
        }
    }
    Ok(Exit::Success)
}

fn table(clients: &[TokenListing<'_>]) -> String {
    let widths = clients
        .iter()
        .map(|client| terminal_text::width(client.name));
    let width = widths.max().unwrap_or(0);
    let mut text = String::new();
    for client in clients {
        let name = terminal_text::padded(client.name, width);
        let _ = writeln!(text, "{name}  {}", terminal_text::one_line(client.created));
    }
    text
}

/// The time limit for the person.
const TIMEOUT: Duration = Duration::from_mins(10);

/// `planwright login SERVER`
pub(crate) async fn login(
    arguments: &LoginArguments,
    printer: Printer,
) -> Result<Exit, CommandError> {
    let name = &arguments.server;
    let mut server = find(arguments, printer)?;
    let http = server
        .reach
        .login()
        .map_err(|(reason, hint)| CommandError::new(format!("`{name}` {reason}")).hint(hint))?;
    if arguments.remove {
        return forget(name, http, printer);
    }
    let browser = Browser::open(http.oauth.callback_port, printer).await?;
    let browser = Arc::new(browser);
    server.start_timeout = Some(TIMEOUT);
    let options = ConnectOptions {
        tokens: environment::user_tokens(),
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
        format!("`{name}` needs no login; it offers {count} tools")
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
    let Some(found) = toolbox::servers_file(&tools, true, printer)? else {
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
    let is_it = |server: &Option<ServerName>| server.as_deref() == Some(name);
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
    let was_there = environment::user_tokens()
        .forget(&http.url)
        .map_err(|error| {
            CommandError::new(format!(
                "the file of tokens cannot be changed: {}",
                reason(&error)
            ))
        })?;
    let outcome = if was_there {
        format!("the stored tokens of `{name}` are deleted")
    } else {
        format!("there are no stored tokens of `{name}`")
    };
    printer.quote(&outcome);
    Ok(Exit::Success)
}

/// The path of the OAuth redirect.
const PATH: &str = "/callback";

/// The maximum size and duration of a browser's request. Some browsers open connections in advance and send nothing.
const REQUEST_LIMIT: usize = 16 << 10;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// The browser of the person at the terminal.
#[derive(Debug)]
struct Browser {
    listener: TcpListener,
    redirect: String,
    printer: Printer,
    was_asked: AtomicBool,
}

impl Browser {
    /// Listens on `port` of this machine, or on any free one.
    async fn open(port: Option<u16>, printer: Printer) -> Result<Self, CommandError> {
        let failure = |error| {
            CommandError::new(format!(
                "cannot listen for the OAuth redirect: {}",
                reason(&error)
            ))
            .hint("set another `callbackPort` in `oauth`")
        };
        let address = ("127.0.0.1", port.unwrap_or_default());
        let listener = TcpListener::bind(address).await.map_err(failure)?;
        let port = listener.local_addr().map_err(failure)?.port();
        Ok(Self {
            listener,
            redirect: format!("http://127.0.0.1:{port}{PATH}"),
            printer,
            was_asked: AtomicBool::new(false),
        })
    }

    /// Returns true if a person was asked.
    fn was_asked(&self) -> bool {
        self.was_asked.load(Ordering::Relaxed)
    }

    /// Waits for the redirect, and returns its query.
    async fn answer(&self) -> Result<String, String> {
        loop {
            let accepted = self.listener.accept().await;
            let (mut stream, _) = accepted.map_err(|error| error.to_string())?;
            let target = tokio::time::timeout(REQUEST_TIMEOUT, target(&mut stream)).await;
            let target = target.ok().flatten().unwrap_or_default();
            match target
                .strip_prefix(PATH)
                .and_then(|rest| rest.strip_prefix('?'))
            {
                Some(query) => {
                    say(
                        &mut stream,
                        "200 OK",
                        "Login complete. You can close this page.",
                    )
                    .await;
                    return Ok(query.to_owned());
                }
                None => say(&mut stream, "404 Not Found", "Not found.").await,
            }
        }
    }
}

impl Consent for Browser {
    fn redirect_uri(&self) -> String {
        self.redirect.clone()
    }

    fn ask<'a>(&'a self, server: &'a str, page: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            self.was_asked.store(true, Ordering::Relaxed);
            self.printer
                .quote(&format!("to log in to `{server}`, open"));
            self.printer
                .quote(&format!("  {}", terminal_text::one_line(page)));
            let query = self.answer().await?;
            Ok(format!("{}?{query}", self.redirect))
        })
    }
}

/// Returns the target of a browser's request.
async fn target(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let length = stream.read(&mut buffer).await.ok()?;
        if length == 0 || request.len() + length > REQUEST_LIMIT {
            return None;
        }
        request.extend_from_slice(&buffer[..length]);
    }
    let request = String::from_utf8(request).ok()?;
    let mut words = request.lines().next()?.split(' ');
    (words.next() == Some("GET")).then(|| words.next().map(str::to_owned))?
}

async fn say(stream: &mut TcpStream, status: &str, text: &str) {
    let length = text.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    );
    // The browser may have closed the connection.
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}
