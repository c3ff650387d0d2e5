//! The gateway command, and the tokens and trust that it relies on.

pub(crate) mod command;
pub(crate) mod page;
pub(crate) mod token;
pub(crate) mod ui;
pub(crate) mod view;
