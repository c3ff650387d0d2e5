//! Commands that ask a model for a plan or an answer, and `planwright dates`.

pub(crate) mod answer;
pub(crate) mod ask;
mod ask_stream;
pub(crate) mod create;
pub(crate) mod dates;
pub(crate) mod model;
pub(crate) mod progress;
