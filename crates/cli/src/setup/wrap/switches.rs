//! Settings of a client beside its entries that decide which servers it starts: `mcp.allowed` and `mcp.excluded` of Gemini CLI.

use planwright::core::Value;

use super::edit::ObjectText;
use super::place::{PathEnvironment, ServerListPlace, read};
use crate::error::CommandError;

/// The servers that a client may start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Switches {
    /// The only servers that it starts, by file; none if there is no such list.
    allowed: Vec<Vec<String>>,
    excluded: Vec<String>,
    /// True if the file with the servers is the user's own.
    is_own: bool,
}

impl Switches {
    /// Reads the switches of the client of `place` in all its files.
    pub(crate) fn of(
        place: &ServerListPlace,
        around: &PathEnvironment,
    ) -> Result<Self, CommandError> {
        let mut switches = Self {
            is_own: place.is_own(around),
            ..Self::default()
        };
        let client = place.client.filter(|client| client.name == "gemini-cli");
        let places = client.map(|client| client.places(around));
        for place in places.into_iter().flatten() {
            let Some(text) = read(&place.file)? else {
                continue;
            };
            // A file that is not JSON is reported when its servers are read.
            let object = ObjectText::find(&text, &["mcp"]).ok().flatten();
            let names = |field: &str| -> Vec<String> {
                let member = object.as_ref().and_then(|object| object.get(field));
                let names = member.and_then(|member| member.value.as_list());
                let names = names.unwrap_or_default().iter();
                let names = names.filter_map(Value::as_text);
                names.map(str::to_owned).collect()
            };
            switches.excluded.extend(names("excluded"));
            let allowed = names("allowed");
            if !allowed.is_empty() {
                switches.allowed.push(allowed);
            }
        }
        Ok(switches)
    }

    /// Returns the reason why a server has to stay with the client; `None` if it can move.
    pub(crate) fn stays(&self, name: &str, server: &Value) -> Option<String> {
        let reason = self.reason(name);
        reason.or_else(|| super::report::reason(name, server, self.is_own))
    }

    /// Fails if the client does not start the gateway's `entry`.
    pub(crate) fn check(&self, entry: &str) -> Result<(), CommandError> {
        let Some(reason) = self.reason(entry) else {
            return Ok(());
        };
        let message = format!("the gateway's entry `{entry}` would not start: {reason}");
        Err(CommandError::new(message)
            .hint("change that setting of the client, then try again: nothing was changed"))
    }

    /// Returns the reason why the client does not start a server; `None` if it does.
    fn reason(&self, name: &str) -> Option<String> {
        let has = |names: &[String]| names.iter().any(|known| known == name);
        if has(&self.excluded) {
            return Some("the client excludes it: `mcp.excluded` names it".to_owned());
        }
        let is_left_out = self.allowed.iter().any(|names| !has(names));
        is_left_out.then(|| "the client does not start it: `mcp.allowed` lacks it".to_owned())
    }
}
