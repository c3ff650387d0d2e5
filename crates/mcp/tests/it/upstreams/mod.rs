//! The servers behind a gateway: each on its own, and everything as it came.

mod asking;
mod client;
mod everything;
mod lists;
mod passing;
mod resources;
mod starting;
mod support;
mod telling;
