//! The commands that serve others: the gateway with its tokens and its health, the page, the worker of a workflow engine.

pub(crate) mod command;
pub(crate) mod explain;
pub(crate) mod health;
pub(crate) mod page;
pub(crate) mod reload;
pub(crate) mod token;
pub(crate) mod ui;
pub(crate) mod view;
pub(crate) mod worker;
