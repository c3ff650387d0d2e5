//! The process: environment, signals, files, logs and telemetry.

pub(crate) mod echo;
pub(crate) mod editor;
pub(crate) mod environment;
pub(crate) mod signals;
pub(crate) mod telemetry;
pub(crate) mod terminal_input;
pub(crate) mod text_file;
