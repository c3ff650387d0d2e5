//! `planwright wrap`: puts the gateway in front of the servers of a client.

pub(crate) mod command;
pub(crate) mod edit;
pub(crate) mod own_rules;
pub(crate) mod place;
pub(crate) mod report;
pub(crate) mod rules;
#[cfg(test)]
pub(crate) mod tests;
