//! The journal of a run: its records, the history read from them, and replay.

pub(super) mod history;
pub(super) mod records;
pub(super) mod replay;
pub(super) mod state;
