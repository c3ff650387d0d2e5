//! Tests of the page's server, over a real port.

mod clients;
mod decisions;
mod documents;
mod events;
mod hostile;
mod sessions;
mod workbench;
mod world;
