//! The gateway's own tools: one table of their names, modes, definitions and handlers.

pub(crate) mod arguments;
pub(crate) mod definitions;
mod find;
pub(crate) mod snapshot;
mod table;

use table::{
    CALL_TOOL, CHECK_PLAN, CREATE_PLAN, DESCRIBE_TOOLS, EXECUTE_PLAN, GET_RUN, RESUME_PLAN,
    SEARCH_TOOLS,
};
pub(crate) use table::{CallFailure, Condition, GatewayTool, MOVE_TO_STAGE};
