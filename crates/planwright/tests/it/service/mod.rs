//! The library as programs embed it.

mod bank;
mod bound;
mod calling;
mod consent;
mod extending;
mod identity;
mod opening;
mod passphrase;
mod requests;
mod reverting;
mod runtimes;
mod stopping;
mod stored;
mod support;
