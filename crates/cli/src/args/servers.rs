//! Options of the commands about servers, of `doctor` and of `man`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::shared::OPTIONS;
use super::{Format, StoreArguments, ToolArguments};

/// `servers`
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServersArguments {
    /// The action; without one, the servers are listed.
    #[command(subcommand)]
    pub(crate) command: Option<ServersCommand>,
    #[command(flatten)]
    pub(crate) listing: ListServersArguments,
}

/// The action on servers.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ServersCommand {
    /// List the servers, without starting any.
    List(ListServersArguments),
    /// Start servers, and report the number of their tools, or why they do not start.
    ///
    /// Exit status: 0 all started, 1 one did not, 2 usage.
    Test {
        /// The servers; all if not given.
        #[arg(value_name = "NAME", help_heading = OPTIONS)]
        names: Vec<String>,
        #[command(flatten)]
        listing: ListServersArguments,
    },
    /// Add a server to the `mcp.json` that commands here use, or write one. A trusted file stays trusted.
    Add(AddServerArguments),
}

/// The file of servers.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServersFileArguments {
    /// An `mcp.json`; else the nearest `mcp.json` or `.mcp.json` from here upwards, then the one in the user's settings.
    #[arg(help_heading = OPTIONS, long, value_name = "FILE")]
    pub(crate) servers: Option<PathBuf>,
}

impl ServersFileArguments {
    /// Returns the file as a source of tools.
    pub(crate) fn tools(&self) -> ToolArguments {
        ToolArguments {
            servers: self.servers.clone(),
            ..ToolArguments::default()
        }
    }
}

/// `servers list`
#[derive(Args, Clone, Debug)]
pub(crate) struct ListServersArguments {
    #[command(flatten)]
    pub(crate) file: ServersFileArguments,
    /// Output format.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// `servers add`
#[derive(Args, Clone, Debug)]
pub(crate) struct AddServerArguments {
    /// The name of the server.
    #[arg(value_name = "NAME", help_heading = OPTIONS)]
    pub(crate) name: String,
    /// The command that starts it, with its arguments, after `--`.
    #[arg(value_name = "COMMAND", help_heading = OPTIONS, last = true, conflicts_with = "address")]
    pub(crate) command: Vec<String>,
    /// The address of a server that runs already.
    #[arg(help_heading = OPTIONS, long, value_name = "URL", group = "address")]
    pub(crate) url: Option<String>,
    /// The OpenAPI 3 document of an HTTP API, whose operations become tools.
    #[arg(help_heading = OPTIONS, long, value_name = "FILE|URL", group = "address")]
    pub(crate) openapi: Option<String>,
    /// The address of the API; default: the one that its document names.
    #[arg(help_heading = OPTIONS, long, value_name = "URL", requires = "openapi")]
    pub(crate) base_url: Option<String>,
    /// A variable of the server's environment. `'${NAME}'` stands for the variable of that name when the server is started.
    #[arg(help_heading = OPTIONS, long, value_name = "NAME=VALUE", conflicts_with = "address")]
    pub(crate) env: Vec<String>,
    /// A header of the requests to the address, or to the API.
    #[arg(help_heading = OPTIONS, long = "header", value_name = "NAME=VALUE", requires = "address")]
    pub(crate) headers: Vec<String>,
    #[command(flatten)]
    pub(crate) file: ServersFileArguments,
}

/// `doctor`
#[derive(Args, Clone, Debug)]
pub(crate) struct DoctorArguments {
    #[command(flatten)]
    pub(crate) listing: ListServersArguments,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `man`
#[derive(Args, Clone, Debug)]
pub(crate) struct ManArguments {
    /// The folder to write the pages to, one for each command; without one, the main page is printed.
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}
