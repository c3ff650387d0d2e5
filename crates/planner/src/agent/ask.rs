//! Requests for a solution: asks again with all errors until it is valid or the tries are used up.

use planwright_core::Diagnostics;
use tokio::time::Instant;

use super::host::AgentEvent;
use super::outcome::{AgentEnd, AgentLimit};
use super::prompt::{
    AGENT_INSTRUCTIONS, DELEGATES_NOTE, INSTANCES_NOTE, output_solution_schema, round_prompt,
};
use super::run_loop::Agent;
use super::solution::Solution;
use super::state::AgentState;
use super::validate::{SolutionValidator, ValidSolution};
use crate::create::{assistant_text, extract, parse_decline};
use crate::model::{Message, ModelError, ModelRequest, Reply, answer};
use crate::prompt::error_list;

/// Request to correct an invalid solution.
const RETRY_REQUEST: &str = "Answer with the whole solution again, {\"calls\": [...], \"output\": ...}, all of this mended, and without any words around it.";

/// The outcome of a request for a solution.
pub(super) enum SolutionReply {
    Valid(ValidSolution),
    None(AgentEnd),
}

/// A request for the solution of one round.
pub(super) struct SolutionRequest<'a> {
    pub(super) agent: &'a Agent<'a>,
    pub(super) deadline: Option<Instant>,
}

impl SolutionRequest<'_> {
    pub(super) async fn solution(&self, state: &mut AgentState) -> SolutionReply {
        let agent = self.agent;
        let bounds = agent.bounds;
        let prompt = round_prompt(
            state,
            agent.check.catalog,
            agent.check.library,
            agent.output,
            bounds.tool_tokens,
            bounds.context_tokens,
        );
        let mut messages = vec![Message::User(prompt)];
        let mut last = AgentEnd::Unsound(Diagnostics::new());
        for _ in 0..bounds.tries.get() {
            if bounds.asks.is_some_and(|max| state.asked >= max.get()) {
                return SolutionReply::None(AgentEnd::Bound(AgentLimit::Asks));
            }
            // Counted before the reply arrives, so that failed requests count as well.
            state.asked += 1;
            let reply = match self.ask(state, &messages).await {
                Ok(reply) => reply,
                Err(end) => return SolutionReply::None(end),
            };
            let (reply, cut_off) = match reply.completed_or_cut_off(agent.model.name()) {
                Ok(reply) => reply,
                Err(error) => return SolutionReply::None(AgentEnd::Model(error)),
            };
            if cut_off.is_none()
                && let Some(reason) = parse_decline(&reply.text)
            {
                return SolutionReply::None(AgentEnd::Declined(reason));
            }
            let validator = SolutionValidator {
                memory: &state.memory,
                completed: &state.completed,
                check: agent.check,
                output: agent.output,
            };
            let validated = Solution::read(&reply, bounds.max_reply_bytes)
                .map_err(|diagnostic| Diagnostics::from_iter([*diagnostic]))
                .and_then(|solution| validator.validate(solution));
            let diagnostics = match validated {
                Ok(solution) => return SolutionReply::Valid(solution),
                Err(diagnostics) => diagnostics,
            };
            agent.listener.hear(AgentEvent::Unsound {
                diagnostics: &diagnostics,
            });
            messages.push(Message::Assistant {
                text: assistant_text(&reply.text, extract(&reply.text), bounds.max_reply_bytes),
                calls: Vec::new(),
            });
            messages.push(Message::User(error_list(&diagnostics) + RETRY_REQUEST));
            // If the last reply was cut off, that explains its errors.
            last = cut_off.map_or(AgentEnd::Unsound(diagnostics), AgentEnd::Model);
        }
        SolutionReply::None(last)
    }

    async fn ask(&self, state: &mut AgentState, messages: &[Message]) -> Result<Reply, AgentEnd> {
        let bounds = self.agent.bounds;
        let library = self.agent.check.library;
        let mut system = AGENT_INSTRUCTIONS.to_owned();
        if !state.memory.instances.is_empty() {
            system += INSTANCES_NOTE;
        }
        if library.names().next().is_some() {
            system += DELEGATES_NOTE;
        }
        let moment = self.agent.moment.text();
        if !moment.is_empty() {
            system += "\n\n";
            system += &moment;
        }
        let request = ModelRequest {
            answer: Some(output_solution_schema(self.agent.output)),
            temperature: bounds.temperature,
            max_tokens: bounds.max_tokens,
            ..ModelRequest::new(system, messages.iter().cloned())
        };
        let reply = answer(self.agent.model, request);
        let reply: Result<Reply, ModelError> = match self.deadline {
            None => reply.await,
            Some(deadline) => match tokio::time::timeout_at(deadline, reply).await {
                Ok(reply) => reply,
                Err(_) => return Err(AgentEnd::Bound(AgentLimit::Time)),
            },
        };
        match reply {
            Ok(reply) => {
                state.usage += reply.usage;
                Ok(reply)
            }
            Err(error) => {
                // Failed requests cost as well.
                state.usage += error.usage;
                Err(AgentEnd::Model(error))
            }
        }
    }
}
