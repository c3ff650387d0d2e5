//! Export and import of runs as `planwright.run-export/1`, a self-contained text for a store on another machine.
//!
//! The format is JSON Lines: a header with the run's metadata, the large values, the entries, the decisions, and a footer
//! that counts them, so that a truncated file is detected.

mod export;
mod import;

pub use export::EXPORT_FORMAT;
pub use import::ImportOutcome;
