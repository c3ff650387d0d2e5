//! Output of runs for people and programs.

pub(crate) mod diagnostics;
pub(crate) mod live;
pub(crate) mod output;
pub(crate) mod pager;
pub(crate) mod paragraph;
pub(crate) mod printer;
pub(crate) mod text_report;
