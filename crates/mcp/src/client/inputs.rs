use std::sync::Arc;

use futures::future::try_join_all;
use planwright_core::{Object, Value};
use planwright_engine::backend::ToolError;

use super::caller::Caller;
use super::desk::Desk;

/// Sends the input requests of `result` to the caller, concurrently, and returns the responses. Without a caller, an
/// elicitation is declined, and any other request fails.
pub(super) async fn answer(
    result: &Value,
    desk: &Desk,
    caller: Option<&Arc<dyn Caller>>,
) -> Result<Object, ToolError> {
    let questions = result.get("inputRequests").and_then(Value::as_object);
    let answers = questions
        .into_iter()
        .flatten()
        .map(async |(key, question)| {
            let method = question.get("method").and_then(Value::as_text);
            let method = method.unwrap_or("something unknown");
            let params = question.get("params").cloned().unwrap_or_default();
            let answer = match caller {
                Some(caller) if desk.can_be_asked(method) => caller.ask(method, params).await.ok(),
                _ => None,
            };
            match answer {
                Some(answer) => Ok((Arc::clone(key), answer)),
                None if method == "elicitation/create" => {
                    let no = Value::object([("action", Value::from("decline"))]);
                    Ok((Arc::clone(key), no))
                }
                None => {
                    let message = format!("the tool asks for `{method}`, which is not offered");
                    Err(ToolError::tool(message, Value::Null))
                }
            }
        });
    Ok(try_join_all(answers).await?.into_iter().collect())
}
