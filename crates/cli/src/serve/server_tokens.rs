//! The tokens that other servers have issued.

use planwright::mcp::Tokens;

use crate::environment;

/// The user's file of tokens. Without a folder for it, they are forgotten at the end.
pub(crate) fn of_user() -> Tokens {
    match environment::data_folder() {
        Some(folder) => Tokens::in_file(folder.join("server-tokens.json")),
        None => Tokens::in_memory(),
    }
}
