//! The gateway's own tools: one table of their names, modes, definitions and handlers.

pub(crate) mod arguments;
pub(crate) mod call_records;
mod find;
pub(crate) mod snapshot;
mod table;

pub(crate) use table::{CallFailure, Condition, GatewayTool, MOVE_TO_STAGE, instructions};
