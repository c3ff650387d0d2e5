//! Calls with several rounds of input requests and a state.

use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    RequestStateCodec,
};

/// The reply of a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reply<'a> {
    pub(super) responses: Option<&'a InputResponses>,
    pub(super) state: Option<&'a str>,
}

/// The key that seals states: not a secret, since only tests use the server.
const KEY: &[u8] = b"what seals the states of the server that only tests talk to";

/// The next input requests, or `None` if all are answered. With `is_sealed`, they carry a state.
///
/// # Errors
///
/// If the state was not sealed by this server.
pub(super) fn next(
    rounds: &[InputRequests],
    is_sealed: bool,
    reply: Reply<'_>,
) -> Result<Option<InputRequiredResult>, ErrorData> {
    let codec = RequestStateCodec::try_new(KEY)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let asked: usize = match reply.state {
        Some(state) if is_sealed => codec.open_json(state).map_err(|_| {
            ErrorData::invalid_params("the state is not sealed by this server", None)
        })?,
        _ => 0,
    };
    let is_answered = |round: &InputRequests| {
        let answers = |key| reply.responses.and_then(|responses| responses.get(key));
        (reply.state.is_some() || !is_sealed)
            && round
                .keys()
                .all(|key| answers(key).is_some_and(serde_json::Value::is_object))
    };
    let number = match rounds.get(asked) {
        Some(round) if is_answered(round) => asked + 1,
        _ => asked,
    };
    let Some(round) = rounds.get(number) else {
        return Ok(None);
    };
    let state = if is_sealed {
        let sealed = codec.seal_json(&number);
        Some(sealed.map_err(|error| ErrorData::internal_error(error.to_string(), None))?)
    } else {
        None
    };
    Ok(Some(InputRequiredResult::new(Some(round.clone()), state)))
}

/// The input requests that a client with `capabilities` can answer.
pub(super) fn within(round: &InputRequests, capabilities: &ClientCapabilities) -> InputRequests {
    let can_answer = |request: &InputRequest| match request {
        InputRequest::CreateMessage(_) => capabilities.sampling.is_some(),
        InputRequest::Elicitation(_) => capabilities.elicitation.is_some(),
        InputRequest::ListRoots(_) => capabilities.roots.is_some(),
        _ => false,
    };
    round
        .iter()
        .filter(|(_, request)| can_answer(request))
        .map(|(key, request)| (key.clone(), request.clone()))
        .collect()
}
