//! Options of the gateway and of its tokens, and of the commands that set Planwright up.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use planwright_serve::{CompatProfile, GatewayMode, listen_address};

use super::shared::{OPTIONS, time_limit, word};
use super::{Format, ModelArguments, StoreArguments, ToolArguments};
use crate::error::CommandError;

/// `serve`
#[derive(Args, Clone, Debug)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    /// The tools that clients see.
    #[arg(help_heading = OPTIONS, long, value_parser = word(MODES), default_value = "plan")]
    mode: GatewayMode,
    /// Offer the tools for plans in addition to those of the servers; with `--mode plain`.
    #[arg(help_heading = OPTIONS, long)]
    with_plans: bool,
    /// Offer the tools of another system instead of Planwright's, for prompts written for it; with `--mode plan` or `--mode plain`.
    #[arg(help_heading = OPTIONS, long, value_parser = word(PROFILES), value_name = "SYSTEM", conflicts_with = "with_plans")]
    pub(crate) face: Option<CompatProfile>,
    /// Serve over HTTP at this address, or at this port of the loopback address; default: standard input and
    /// output.
    #[arg(help_heading = OPTIONS, long, value_name = "ADDRESS", value_parser = listen_address)]
    pub(crate) listen: Option<SocketAddr>,
    /// The time that a call in a plan may take without progress, for steps and servers without a `timeout`; default: 5m, or
    /// `[serve] call_timeout`.
    #[arg(help_heading = OPTIONS, long, value_name = "TIME", value_parser = time_limit, allow_negative_numbers = true)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
    /// Store nothing on disk: runs end with the gateway.
    #[arg(help_heading = OPTIONS, long, conflicts_with = "store")]
    pub(crate) no_store: bool,
    /// Serve the page of runs as well, and print its address to standard error. With `--listen` and tokens, each client logs in
    /// with its token and sees its own runs; otherwise it is the page of `planwright ui`, for this machine only.
    #[arg(help_heading = OPTIONS, long, conflicts_with = "no_store")]
    pub(crate) ui: bool,
    /// Show the rules that apply to a client, with its tools and budgets, and serve nothing: `token:NAME`, `subject:NAME`, or the claims
    /// of an access token as JSON.
    #[arg(help_heading = OPTIONS, long, value_name = "CLIENT", conflicts_with_all = ["listen", "ui"])]
    pub(crate) explain: Option<String>,
    /// The format of the explanation.
    #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text, requires = "explain")]
    pub(crate) format: Format,
}

/// `health`
#[derive(Args, Clone, Debug)]
pub(crate) struct HealthArguments {
    /// The address of the gateway, or its port of the loopback address, as `serve --listen` takes it.
    #[arg(value_name = "ADDRESS", default_value = "8000", value_parser = listen_address, help_heading = OPTIONS)]
    pub(crate) address: SocketAddr,
}

/// `ui`
#[derive(Args, Clone, Debug)]
pub(crate) struct UiArguments {
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    /// The port; default: a free one.
    #[arg(help_heading = OPTIONS, long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Print the address without opening it.
    #[arg(help_heading = OPTIONS, long)]
    pub(crate) no_open: bool,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// `worker`
#[derive(Args, Clone, Debug)]
pub(crate) struct WorkerArguments {
    /// The address to listen at for requests of Restate. A program that reaches it can call all tools of the worker.
    #[arg(help_heading = OPTIONS, long, value_name = "ADDRESS", value_parser = listen_address, default_value = "127.0.0.1:9080")]
    pub(crate) listen: SocketAddr,
    /// Register the worker with the admin interface of Restate at this address, such as `http://localhost:9070`.
    #[arg(help_heading = OPTIONS, long, value_name = "URL")]
    pub(crate) register: Option<String>,
    /// The address at which Restate reaches the worker; default: the address that it listens at.
    #[arg(help_heading = OPTIONS, long, value_name = "URL", requires = "register")]
    pub(crate) advertise: Option<String>,
    #[command(flatten)]
    pub(crate) tools: ToolArguments,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

/// The values of `--mode`. `--with-plans` turns the third mode into the fourth.
const MODES: &[(&str, &str, GatewayMode)] = &[
    (
        "plan",
        "Tools to submit plans, and to search the tools that plans may call",
        GatewayMode::Plan,
    ),
    (
        "search",
        "`search_tools` and `call_tool`",
        GatewayMode::Search,
    ),
    (
        "plain",
        "Every tool of every server, unchanged",
        GatewayMode::Plain,
    ),
];

/// The values of `--face`.
const PROFILES: &[(&str, &str, CompatProfile)] = &[
    (
        "concierge",
        "`execute_plan`, and the tools for stages, as Concierge has them",
        CompatProfile::Concierge,
    ),
    (
        "agentle",
        "`execute_tool_plan`, as agentle4j has it",
        CompatProfile::Agentle,
    ),
    (
        "mcp-cli",
        "`plan_execute`, for plans that are saved",
        CompatProfile::McpCli,
    ),
];

impl ServeArguments {
    /// Rejects options that have no effect in this mode.
    pub(crate) fn check(&self) -> Result<(), CommandError> {
        let is_search = self.mode == GatewayMode::Search;
        // Plain tools are those of servers, passed on unchanged; the built-in tools are for plans only.
        let is_bare = self.mode() == GatewayMode::Plain && self.face.is_none();
        let bare = "omit `--mode`, or add `--with-plans`: plans can call these tools";
        let idle = [
            (
                is_search && self.face.is_some(),
                "--face",
                "leave `--mode` out",
            ),
            (
                is_search && self.with_plans,
                "--with-plans",
                "omit `--mode`, or use `--mode plain`",
            ),
            (is_bare && self.tools.simulate.is_some(), "--simulate", bare),
            (
                is_bare && self.tools.workspace.is_some(),
                "--workspace",
                bare,
            ),
        ];
        let mode = if is_search { "search" } else { "plain" };
        match idle.into_iter().find(|(is_idle, ..)| *is_idle) {
            None => Ok(()),
            Some((_, flag, hint)) => {
                let error = format!("`{flag}` cannot be used with `--mode {mode}`");
                Err(CommandError::new(error).hint(hint))
            }
        }
    }

    /// The tools that clients see.
    pub(crate) fn mode(&self) -> GatewayMode {
        match self.mode {
            GatewayMode::Plain if self.with_plans => GatewayMode::PlainWithPlans,
            mode => mode,
        }
    }
}

/// `login`
#[derive(Args, Clone, Debug)]
pub(crate) struct LoginArguments {
    /// The server, as the `mcp.json` calls it.
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,
    /// An `mcp.json`; else the nearest `mcp.json` or `.mcp.json` from here upwards, then the one in the user's settings, once trusted.
    #[arg(long, value_name = "FILE")]
    pub(crate) servers: Option<PathBuf>,
    /// Forget the tokens of the server.
    #[arg(long)]
    pub(crate) remove: bool,
}

/// `token`
#[derive(Args, Clone, Debug)]
pub(crate) struct TokenArguments {
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
}

/// The action on tokens.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token for a client, and print it. It cannot be shown again: only its hash is stored.
    ///
    /// Once a token exists, `serve --listen` refuses requests without one. Each token is a separate client, whose runs
    /// are hidden from others.
    Create {
        /// The name of the client: letters, digits, `_`, `-` and `.`.
        #[arg(value_name = "NAME", help_heading = OPTIONS)]
        name: String,
    },
    /// List the clients that have a token.
    List {
        /// Output format.
        #[arg(help_heading = OPTIONS, long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Revoke a client's token. Running servers refuse it at once.
    Revoke {
        /// The client.
        #[arg(value_name = "NAME", help_heading = OPTIONS)]
        name: String,
    },
}

/// `wrap`
#[derive(Args, Clone, Debug)]
pub(crate) struct WrapArguments {
    /// The client: `claude-code`, `claude-desktop`, `cursor`, `vscode`, `codex`, `gemini-cli`, `goose`, `zed`, `windsurf`, `cline` or
    /// `continue`; or the file in which a client lists its servers. Without it, the lists of the known clients are shown.
    #[arg(value_name = "CLIENT|FILE")]
    pub(crate) target: Option<String>,
    /// Put the servers back. Servers that were added to either file since then stay. Exit status 1 if one of the files is gone.
    #[arg(long, requires = "target")]
    pub(crate) undo: bool,
    /// Show what would change; change nothing.
    #[arg(long, requires = "target")]
    pub(crate) dry_run: bool,
    /// Only the servers of this scope; all that the client has for this folder if not given.
    #[arg(long, value_enum, value_name = "SCOPE", requires = "target")]
    pub(crate) scope: Option<WrapScope>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// The owner of the servers in a client's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WrapScope {
    /// The user, in every folder.
    User,
    /// The project, for everyone who works in its folder.
    Project,
    /// The user, in this folder; Claude Code has such servers.
    Local,
}

impl WrapScope {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }
}

/// `init`
#[derive(Args, Clone, Debug)]
pub(crate) struct InitArguments {
    /// The folder.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Replace an existing `planwright.toml`.
    #[arg(long)]
    pub(crate) force: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}
