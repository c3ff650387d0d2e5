//! The arguments of `token`.

use clap::{Args, Subcommand};

use super::{Format, OPTIONS};

/// `token`
#[derive(Args, Clone, Debug)]
pub(crate) struct TokenArguments {
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
}

/// The action on tokens.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token for a client, and print it. It is shown this once: only its hash is stored.
    ///
    /// From the first token on, `serve --listen` takes no request without one. Each token is a client of its own, whose runs
    /// no other sees.
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
