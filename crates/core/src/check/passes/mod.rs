//! The passes of a check. Each reports every problem of its kind, some for the whole plan and some for a step at a time.

pub(super) mod arguments;
pub(super) mod cycles;
pub(super) mod inputs;
mod meant;
pub(super) mod names;
pub(super) mod order;
pub(super) mod path_texts;
pub(super) mod policy;
pub(super) mod positional;
pub(super) mod references;
pub(super) mod seen;
pub(super) mod slot_schemas;
pub(super) mod slots;
pub(super) mod undo;
