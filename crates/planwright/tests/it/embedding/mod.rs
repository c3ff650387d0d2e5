//! The library as programs embed it.

mod calling;
mod extending;
mod opening;
mod runtimes;
mod stopping;
mod support;
