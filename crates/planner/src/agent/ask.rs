//! Asking for a solution, again with everything that was wrong, until it is sound or the tries are used up.

use planwright_core::Diagnostics;
use tokio::time::Instant;

use super::bounds::AgentBound;
use super::judge::{Judge, Sound};
use super::listener::AgentEvent;
use super::looping::Agent;
use super::outcome::AgentEnd;
use super::protocol::{DELEGATES, INSTANCES, PROTOCOL, solution_schema};
use super::solution::Solution;
use super::state::AgentState;
use super::telling;
use crate::create::{declined, extract, said};
use crate::model::{Message, ModelError, ModelRequest, Reply, answer};
use crate::prompt::wrong;

/// What is said to a model whose solution is not sound.
const MEND: &str = "Answer with the whole solution again, {\"calls\": [...], \"output\": ...}, all of this mended, and without any words around it.";

/// What came of asking.
pub(super) enum Answer {
    Sound(Sound),
    None(AgentEnd),
}

/// Asks for the solution of one round.
pub(super) struct Asking<'a> {
    pub(super) agent: &'a Agent<'a>,
    pub(super) until: Option<Instant>,
}

impl Asking<'_> {
    pub(super) async fn solution(&self, state: &mut AgentState) -> Answer {
        let agent = self.agent;
        let bounds = agent.bounds;
        let request = telling::request(
            state,
            agent.check.catalog,
            agent.check.library,
            agent.output,
            bounds.tool_tokens,
            bounds.context_tokens,
        );
        let mut messages = vec![Message::User(request)];
        let mut last = AgentEnd::Unsound(Diagnostics::new());
        for _ in 0..bounds.tries.get() {
            if bounds.asks.is_some_and(|most| state.asked >= most.get()) {
                return Answer::None(AgentEnd::Bound(AgentBound::Asks));
            }
            state.asked += 1;
            let reply = match self.ask(state, &messages).await {
                Ok(reply) => reply,
                Err(end) => return Answer::None(end),
            };
            let (reply, cut_off) = match reply.completed_or_cut(agent.model.name()) {
                Ok(answer) => answer,
                Err(error) => return Answer::None(AgentEnd::Model(error)),
            };
            if cut_off.is_none()
                && let Some(words) = declined(&reply.text)
            {
                return Answer::None(AgentEnd::Declined(words));
            }
            let judge = Judge {
                world: &state.world,
                done: &state.done,
                check: agent.check,
                output: agent.output,
            };
            let proven = Solution::read(&reply, bounds.reply_bytes)
                .map_err(|finding| Diagnostics::from_iter([*finding]))
                .and_then(|solution| judge.prove(solution));
            let findings = match proven {
                Ok(sound) => return Answer::Sound(sound),
                Err(findings) => findings,
            };
            agent.listener.hear(AgentEvent::Unsound {
                findings: &findings,
            });
            messages.push(Message::Assistant {
                text: said(&reply.text, extract(&reply.text), bounds.reply_bytes),
                calls: Vec::new(),
            });
            messages.push(Message::User(wrong(&findings) + MEND));
            last = cut_off.map_or(AgentEnd::Unsound(findings), AgentEnd::Model);
        }
        Answer::None(last)
    }

    async fn ask(&self, state: &mut AgentState, messages: &[Message]) -> Result<Reply, AgentEnd> {
        let bounds = self.agent.bounds;
        let library = self.agent.check.library;
        let mut system = PROTOCOL.to_owned();
        if !state.world.instances.is_empty() {
            system += INSTANCES;
        }
        if library.names().next().is_some() {
            system += DELEGATES;
        }
        let request = ModelRequest {
            answer: Some(solution_schema(self.agent.output)),
            temperature: bounds.temperature,
            max_tokens: bounds.max_tokens,
            ..ModelRequest::new(system, messages.iter().cloned())
        };
        let asked = answer(self.agent.model, request);
        let answered: Result<Reply, ModelError> = match self.until {
            None => asked.await,
            Some(until) => match tokio::time::timeout_at(until, asked).await {
                Ok(answered) => answered,
                Err(_) => return Err(AgentEnd::Bound(AgentBound::Time)),
            },
        };
        match answered {
            Ok(reply) => {
                state.usage += reply.usage;
                Ok(reply)
            }
            Err(error) => {
                state.usage += error.usage;
                Err(AgentEnd::Model(error))
            }
        }
    }
}
