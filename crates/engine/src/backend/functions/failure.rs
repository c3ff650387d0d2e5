//! Any error as the failure of a tool.

use std::error::Error;

use planwright_core::Value;

use crate::backend::ToolError;

/// `error` as it is where it is a tool's failure already, else its words and those of what lies behind it.
pub(super) fn failure(error: Box<dyn Error + Send + Sync>) -> ToolError {
    match error.downcast::<ToolError>() {
        Ok(failure) => *failure,
        Err(error) => {
            let mut message = error.to_string();
            let mut behind = error.source();
            while let Some(cause) = behind {
                message = format!("{message}: {cause}");
                behind = cause.source();
            }
            ToolError::tool(message, Value::Null)
        }
    }
}
