//! The record of servers whose entries were converted, from which they return as they were.

use planwright::core::Value;

use super::edit::{ConvertedServer, GATEWAY_SERVERS, ObjectText};
use super::place::{self, GatewayFiles};
use crate::error::CommandError;

/// The servers behind the gateway, in the form of the client if they were converted: its rules are in its own entries.
pub(super) fn behind(gateway_text: &str, converted: &[ConvertedServer]) -> Value {
    let found = ObjectText::find(gateway_text, GATEWAY_SERVERS)
        .ok()
        .flatten();
    let members = found.into_iter().flat_map(|object| object.members);
    Value::object(members.map(|member| {
        let known = converted.iter().find(|known| known.name == member.name);
        let entry = known.map_or(member.value, |known| known.original.clone());
        (member.name, entry)
    }))
}

/// Reads the record of converted servers.
pub(super) fn read_converted(
    gateway_files: &GatewayFiles,
    text: Option<&str>,
) -> Result<Vec<ConvertedServer>, CommandError> {
    let Some(text) = text else {
        return Ok(Vec::new());
    };
    serde_json::from_str(text).map_err(|error| {
        let file = gateway_files.entries.display();
        CommandError::new(format!("`{file}` has an invalid format: {error}"))
            .hint("delete it to convert the entries anew; comments in them are lost")
    })
}

/// Writes the record.
pub(super) fn write_converted(
    gateway_files: &GatewayFiles,
    converted: &[ConvertedServer],
) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(converted).map_err(|error| {
        CommandError::new(format!("cannot write the entries of the client: {error}"))
    })?;
    place::write_private(&gateway_files.entries, &text)
}
