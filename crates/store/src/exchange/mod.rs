//! Runs as files: one text that has everything of a run, for another store on another machine.
//!
//! A file is JSON in lines: what is known of the run as a whole, the large values, the entries, the decisions, and a
//! last line that counts them, so that a file that was cut off is noticed.

mod export;
mod import;
mod lines;

pub use import::Imported;
pub use lines::EXPORT_FORMAT;
