//! `planwright wrap`: puts the gateway in front of the servers of a client.

pub(crate) mod client;
mod client_forms;
pub(crate) mod command;
mod converted;
pub(crate) mod edit;
mod form;
mod lists;
mod overview;
pub(crate) mod own_rules;
pub(crate) mod place;
pub(crate) mod report;
pub(crate) mod rules;
mod switches;
#[cfg(test)]
pub(crate) mod tests;
