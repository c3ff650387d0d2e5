//! Output of runs for people and programs.

pub(crate) mod live;
pub(crate) mod output;
pub(crate) mod text_report;
