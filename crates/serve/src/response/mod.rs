//! Responses to clients: their form, their size, and the media attached to them.

pub(crate) mod answer;
pub(crate) mod budget;
pub(crate) mod content;
pub(crate) mod format;
