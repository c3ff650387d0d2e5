//! The agent loop: request a solution, validate it, run it, apply its results, repeat.

use std::sync::Arc;

use planwright_core::{Catalog, CheckContext, CheckedPlan, Lookup, Value};
use planwright_engine::RunId;
use planwright_engine::{RunStatus, RunSummary};
use tokio::time::Instant;

use super::host::{Agent, AgentEnd, AgentLimit, AgentOutcome};
use super::host::{AgentEvent, AgentRun, ResumeOutcome, SolutionOutcome};
use super::messages::{call_error_message, error_message};
use super::prompt::{SolutionReply, SolutionRequest};
use super::results::apply_results;
use super::solution::{Solution, has_reference, unescape};
use super::solution::{SolutionValidator, ValidSolution, output_errors};
use super::state::{AgentState, CallStatus, PendingSolution, SolutionCall};

/// The end of a round.
enum Round {
    Continue,
    End(AgentEnd, Option<Value>),
}

impl Agent<'_> {
    /// Starts or continues a loop and runs it to its end. Completed calls are not repeated.
    pub async fn resume(&self, mut state: AgentState) -> AgentOutcome {
        let begin = Instant::now();
        let before = state.time;
        let catalog = select_tools(self.check.catalog, state.tools.as_deref());
        let check = CheckContext {
            catalog: &catalog,
            ..self.check
        };
        let agent_loop = AgentLoop {
            agent: Agent { check, ..*self },
            deadline: self
                .bounds
                .time
                // Earlier processes have used up part of the time.
                .map(|time| begin + time.saturating_sub(before)),
        };
        let (end, output) = loop {
            let round = agent_loop.round(&mut state).await;
            state.time = before + begin.elapsed();
            let stored = self.listener.save(&state);
            match (round, stored) {
                // Without a stored state, a restarted process would repeat calls.
                (_, Err(reason)) => break (AgentEnd::NotStored(reason), None),
                (Round::End(end, output), _) => break (end, output),
                (Round::Continue, _) => {}
            }
        };
        AgentOutcome { end, output, state }
    }
}

/// Returns the named tools of a catalog, or all of them.
fn select_tools(catalog: &Catalog, names: Option<&[Arc<str>]>) -> Catalog {
    let Some(names) = names else {
        return catalog.clone();
    };
    let tools = names.iter().filter_map(|name| match catalog.find(name) {
        Lookup::Found(tool) => Some((*tool).clone()),
        // The tools of an earlier process may not exist any more.
        Lookup::Ambiguous(_) | Lookup::Unknown => None,
    });
    tools.collect()
}

struct AgentLoop<'a> {
    agent: Agent<'a>,
    deadline: Option<Instant>,
}

impl AgentLoop<'_> {
    async fn round(&self, state: &mut AgentState) -> Round {
        if state.is_shown() {
            return Round::End(AgentEnd::Shown, None);
        }
        if let Some(pending) = state.pending.clone() {
            return self.continue_pending(state, pending).await;
        }
        if let Some(limit) = self.reached_limit(state) {
            return Round::End(AgentEnd::Bound(limit), None);
        }
        state.rounds += 1;
        self.agent.listener.on_event(AgentEvent::Asked {
            round: state.rounds,
        });
        let request = SolutionRequest {
            agent: &self.agent,
            deadline: self.deadline,
        };
        let valid = match request.solution(state).await {
            SolutionReply::Valid(valid) => valid,
            SolutionReply::None(end) => {
                // A round counts once it has a solution, so that a resumed loop starts it anew.
                state.rounds -= 1;
                return Round::End(end, None);
            }
        };
        self.agent.listener.on_event(AgentEvent::Solution {
            calls: &valid.solution.calls,
            output: &valid.solution.output,
            plan: valid.plan.as_ref().map(|(plan, _)| plan),
        });
        if valid.solution.calls.is_empty() && valid.solution.output.is_null() {
            return Round::End(AgentEnd::NoCalls, None);
        }
        let is_repeated = state.last.as_ref() == Some(&valid.solution.value());
        state.last = Some(valid.solution.value());
        let earlier = state.clone();
        let round = self.begin(state, valid).await;
        // A model that repeats itself without any effect would do so until a limit is reached.
        let is_idle = earlier.memory == state.memory
            && earlier.plan == state.plan
            && earlier.errors == state.errors;
        match round {
            Round::Continue if is_repeated && is_idle => Round::End(AgentEnd::Stuck, None),
            round @ (Round::Continue | Round::End(..)) => round,
        }
    }

    /// Returns the first limit that is reached.
    fn reached_limit(&self, state: &AgentState) -> Option<AgentLimit> {
        let bounds = self.agent.bounds;
        let usage = state.usage;
        let limits = [
            (AgentLimit::Rounds, state.rounds >= bounds.rounds.get()),
            (
                AgentLimit::Time,
                self.deadline
                    .is_some_and(|deadline| Instant::now() >= deadline),
            ),
            (
                AgentLimit::Asks,
                bounds.asks.is_some_and(|max| state.asked >= max.get()),
            ),
            (
                AgentLimit::Tokens,
                bounds
                    .tokens
                    .is_some_and(|max| usage.input_tokens + usage.output_tokens >= max),
            ),
            (
                AgentLimit::Cost,
                bounds
                    .cost
                    // The cost of a model without known prices is unknown, and has no limit.
                    .zip(usage.cost)
                    .is_some_and(|(max, cost)| cost >= max),
            ),
        ];
        limits
            .into_iter()
            .find_map(|(limit, is_reached)| is_reached.then_some(limit))
    }

    /// Runs a solution, or stops to show it.
    async fn begin(&self, state: &mut AgentState, valid: ValidSolution) -> Round {
        let Some((plan, text)) = valid.plan.clone() else {
            apply_results(state, &valid, None);
            return self.close(state, &valid, None);
        };
        let id = match RunId::try_from(format!("{}-{}", state.rounds, state.id)) {
            Ok(id) => id,
            Err(error) => return Round::End(AgentEnd::NotStored(error.to_string()), None),
        };
        // The state is stored before the run starts, so that a restarted process knows the run's id and can resume it.
        state.pending = Some(PendingSolution {
            run: id.clone(),
            calls: valid.solution.calls.clone(),
            output: valid.solution.output.clone(),
            is_shown: state.memory.is_lazy,
            is_begun: false,
        });
        if state.is_shown() {
            return Round::End(AgentEnd::Shown, None);
        }
        // Without this mark, a restarted loop would assume that the run made no call, and start it again.
        if let Err(reason) = self.mark_begun(state) {
            return Round::End(AgentEnd::NotStored(reason), None);
        }
        let run = self.agent_run(id, plan, text);
        let ran = self.agent.runner.run(run).await;
        self.end(state, valid, ran)
    }

    fn agent_run(&self, id: RunId, plan: CheckedPlan, text: Arc<str>) -> AgentRun {
        AgentRun {
            id,
            plan,
            text,
            deadline: self.deadline,
        }
    }

    /// Continues with a solution that was pending when the loop stopped.
    async fn continue_pending(&self, state: &mut AgentState, pending: PendingSolution) -> Round {
        // The stored state has no checked plan, so the solution is validated again.
        let solution = Solution::new(&pending.calls, pending.output);
        let valid = match self.validator(state).validate(solution) {
            Ok(valid) => valid,
            Err(diagnostics) => {
                state.pending = None;
                return Round::End(AgentEnd::Unsound(diagnostics), None);
            }
        };
        let Some((plan, text)) = valid.plan.clone() else {
            state.pending = None;
            apply_results(state, &valid, None);
            return self.close(state, &valid, None);
        };
        let run = self.agent_run(pending.run.clone(), plan, text);
        let resumed = if pending.is_begun {
            self.agent.runner.resume(run.clone()).await
        } else {
            ResumeOutcome::NotStarted
        };
        match resumed {
            ResumeOutcome::Resumed(ran) => self.end(state, valid, ran),
            ResumeOutcome::Unknown if !valid.is_repeatable => {
                // Without a record of the run, its calls may or may not have happened.
                mark_unknown(state, &valid);
                Round::Continue
            }
            // Either no call was made, or every call may be repeated.
            ResumeOutcome::NotStarted | ResumeOutcome::Unknown => {
                if let Err(reason) = self.mark_begun(state) {
                    return Round::End(AgentEnd::NotStored(reason), None);
                }
                let ran = self.agent.runner.run(run).await;
                self.end(state, valid, ran)
            }
        }
    }

    fn mark_begun(&self, state: &mut AgentState) -> Result<(), String> {
        if let Some(pending) = &mut state.pending {
            pending.is_begun = true;
        }
        self.agent.listener.save(state)
    }

    fn validator<'a>(&'a self, state: &'a AgentState) -> SolutionValidator<'a> {
        SolutionValidator {
            memory: &state.memory,
            completed: &state.completed,
            check: self.agent.check_after(state),
            output: self.agent.output,
        }
    }

    /// Applies the outcome of a solution.
    fn end(&self, state: &mut AgentState, valid: ValidSolution, ran: SolutionOutcome) -> Round {
        let (valid, summary) = match ran {
            SolutionOutcome::Ended(summary) => (valid, summary),
            SolutionOutcome::Changed { calls, summary } => {
                let validator = SolutionValidator {
                    // All of these calls have run, so none counts as completed before.
                    completed: &[],
                    ..self.validator(state)
                };
                let solution = Solution::new(&calls, valid.solution.output.clone());
                match validator.validate(solution) {
                    Ok(changed) => (changed, summary),
                    Err(diagnostics) => {
                        return Round::End(AgentEnd::Unsound(diagnostics), None);
                    }
                }
            }
            SolutionOutcome::Refused(reason) => {
                state.pending = None;
                let calls = valid.solution.calls.into_iter();
                state.plan = calls.map(SolutionCall::refused).collect();
                state.errors = vec![error_message("refused", &reason)];
                return Round::Continue;
            }
            SolutionOutcome::Aborted => return Round::End(AgentEnd::Cancelled, None),
        };
        if let Some(error) = &summary.journal_error {
            return Round::End(AgentEnd::NotStored(error.to_string()), None);
        }
        // The solution stays pending, so that the loop resumes this run after the decision.
        if summary.status == RunStatus::Waiting {
            return Round::End(AgentEnd::Waiting(summary.run.clone()), None);
        }
        state.pending = None;
        apply_results(state, &valid, Some(&summary));
        if summary.status == RunStatus::Cancelled {
            // The runner cancels a run at its deadline.
            let is_timed_out = self
                .deadline
                .is_some_and(|deadline| Instant::now() >= deadline);
            let end = if is_timed_out {
                AgentEnd::Bound(AgentLimit::Time)
            } else {
                AgentEnd::Cancelled
            };
            return Round::End(end, None);
        }
        self.close(state, &valid, Some(&summary))
    }

    /// Ends the loop if the solution has a valid output.
    fn close(
        &self,
        state: &mut AgentState,
        valid: &ValidSolution,
        summary: Option<&RunSummary>,
    ) -> Round {
        let written = &valid.solution.output;
        if written.is_null() {
            return Round::Continue;
        }
        // The model wrote the output before it knew that a call would fail, so the output may be wrong.
        let has_failed = summary.is_some_and(|summary| summary.status != RunStatus::Succeeded);
        if has_failed {
            // A run can fail by its output alone, without a failed call.
            if state.errors.is_empty() {
                let messages = summary.into_iter().flat_map(|summary| &summary.warnings);
                let messages = messages.filter(|diagnostic| diagnostic.is_error());
                state.errors = messages
                    .map(|diagnostic| error_message("output", &diagnostic.message))
                    .collect();
            }
            return Round::Continue;
        }
        let output = match summary {
            Some(summary) => summary.output.clone(),
            None => unescape(written),
        };
        if output.is_null() {
            return Round::Continue;
        }
        // With several instances, a reference yields an object with one output for each.
        let is_by_instance = has_reference(written) && !state.memory.instances.is_empty();
        let parts = output.as_object().filter(|_| is_by_instance);
        let errors: Vec<_> = match parts {
            Some(parts) => parts
                .values()
                .flat_map(|part| output_errors(part, self.agent.output))
                .collect(),
            None => output_errors(&output, self.agent.output)
                .into_iter()
                .collect(),
        };
        if errors.is_empty() {
            return Round::End(AgentEnd::Output, Some(output));
        }
        let messages = errors
            .iter()
            .map(|diagnostic| error_message("output", &diagnostic.to_string()));
        state.errors.extend(messages);
        Round::Continue
    }
}

/// Marks the calls of an interrupted run as unknown.
fn mark_unknown(state: &mut AgentState, valid: &ValidSolution) {
    state.pending = None;
    let calls = valid.solution.calls.iter().zip(&valid.steps);
    let records = calls.map(|(call, step)| match step {
        None => SolutionCall::new(call.clone(), CallStatus::Done),
        Some((_, Some(_))) => SolutionCall::new(call.clone(), CallStatus::Unknown),
        Some((_, None)) => SolutionCall::not_run(call.clone()),
    });
    state.plan = records.collect();
    let unknown = state
        .plan
        .iter()
        .filter(|record| record.status == Some(CallStatus::Unknown));
    let message = Value::object([
        ("code", Value::from("interrupted")),
        (
            "message",
            Value::from("the work was interrupted, and it is not known whether this call happened"),
        ),
    ]);
    state.errors = unknown
        .map(|record| call_error_message(&record.call, message.clone()))
        .collect();
}
