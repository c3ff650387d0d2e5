//! The loop: ask, judge, run, take over what came of it, and again.

use std::fmt;
use std::sync::Arc;

use planwright_core::{Catalog, CheckContext, CheckedPlan, Lookup, Schema, Value};
use planwright_engine::{RunStatus, RunSummary};
use tokio::time::Instant;

use super::ask::{Answer, Asking};
use super::bounds::{AgentBound, AgentBounds};
use super::judge::{Judge, Sound, faults};
use super::listener::{AgentEvent, AgentListener};
use super::outcome::{AgentEnd, AgentOutcome};
use super::runner::{AgentRun, Ran, Resumed, Runner};
use super::settling::{error, error_of, refusal, settle};
use super::solution::{Solution, plainly, refers};
use super::state::{AgentState, CallRecord, CallStatus, Pending};
use crate::model::Model;

/// Everything that a loop needs beside where it stands.
#[derive(Clone, Copy)]
pub struct Agent<'a> {
    /// Who finds solutions.
    pub model: &'a dyn Model,
    /// Who runs them.
    pub runner: &'a dyn Runner,
    /// What they are checked against. What the context says of tools chooses among its catalog.
    pub check: CheckContext<'a>,
    /// The form of the output.
    pub output: Option<&'a Schema>,
    /// How much it may take.
    pub bounds: &'a AgentBounds,
    /// Who hears of it, and keeps where it stands.
    pub listener: &'a dyn AgentListener,
}

/// Whether a loop goes on.
enum Step {
    On,
    End(AgentEnd, Option<Value>),
}

impl Agent<'_> {
    /// Begins a loop, or goes on with one, to its end. What is done is not done again.
    pub async fn go_on(&self, mut state: AgentState) -> AgentOutcome {
        let begin = Instant::now();
        let before = state.time;
        let catalog = chosen(self.check.catalog, state.tools.as_deref());
        let check = CheckContext {
            catalog: &catalog,
            ..self.check
        };
        let looping = Looping {
            agent: Agent { check, ..*self },
            until: self
                .bounds
                .time
                .map(|time| begin + time.saturating_sub(before)),
        };
        let (end, output) = loop {
            let step = looping.round(&mut state).await;
            state.time = before + begin.elapsed();
            let kept = self.listener.keep(&state);
            match (step, kept) {
                (_, Err(why)) => break (AgentEnd::Unkept(why), None),
                (Step::End(end, output), _) => break (end, output),
                (Step::On, _) => {}
            }
        };
        AgentOutcome { end, output, state }
    }
}

/// The tools that the context names; all of them where it names none.
fn chosen(catalog: &Catalog, names: Option<&[Arc<str>]>) -> Catalog {
    let Some(names) = names else {
        return catalog.clone();
    };
    let tools = names.iter().filter_map(|name| match catalog.find(name) {
        Lookup::Found(tool) => Some((*tool).clone()),
        _ => None,
    });
    tools.collect()
}

struct Looping<'a> {
    agent: Agent<'a>,
    until: Option<Instant>,
}

impl Looping<'_> {
    async fn round(&self, state: &mut AgentState) -> Step {
        if state.is_shown() {
            return Step::End(AgentEnd::Shown, None);
        }
        if let Some(pending) = state.pending.clone() {
            return self.again(state, pending).await;
        }
        if let Some(bound) = self.used_up(state) {
            return Step::End(AgentEnd::Bound(bound), None);
        }
        state.rounds += 1;
        let round = state.rounds;
        self.agent.listener.hear(AgentEvent::Asked { round });
        let asking = Asking {
            agent: &self.agent,
            until: self.until,
        };
        let sound = match asking.solution(state).await {
            Answer::Sound(sound) => sound,
            Answer::None(end) => {
                // A round begins with a solution.
                state.rounds -= 1;
                return Step::End(end, None);
            }
        };
        self.agent.listener.hear(AgentEvent::Solution {
            calls: &sound.solution.calls,
            output: &sound.solution.output,
            plan: sound.plan.as_ref().map(|(plan, _)| plan),
        });
        if sound.solution.calls.is_empty() && sound.solution.output.is_null() {
            return Step::End(AgentEnd::NoCalls, None);
        }
        let is_repeated = state.last.as_ref() == Some(&sound.solution.value());
        state.last = Some(sound.solution.value());
        let earlier = state.clone();
        let step = self.begin(state, sound).await;
        let is_idle = earlier.world == state.world
            && earlier.plan == state.plan
            && earlier.errors == state.errors;
        match step {
            Step::On if is_repeated && is_idle => Step::End(AgentEnd::Stuck, None),
            step => step,
        }
    }

    /// What is used up, before the model is asked once more.
    fn used_up(&self, state: &AgentState) -> Option<AgentBound> {
        let bounds = self.agent.bounds;
        let usage = state.usage;
        let spent = [
            (AgentBound::Rounds, state.rounds >= bounds.rounds.get()),
            (
                AgentBound::Time,
                self.until.is_some_and(|until| Instant::now() >= until),
            ),
            (
                AgentBound::Asks,
                bounds.asks.is_some_and(|most| state.asked >= most.get()),
            ),
            (
                AgentBound::Tokens,
                bounds
                    .tokens
                    .is_some_and(|most| usage.input_tokens + usage.output_tokens >= most),
            ),
            (
                AgentBound::Cost,
                bounds
                    .cost
                    .zip(usage.cost)
                    .is_some_and(|(most, cost)| cost >= most),
            ),
        ];
        spent
            .into_iter()
            .find_map(|(bound, is_spent)| is_spent.then_some(bound))
    }

    /// Runs a solution, or shows it.
    async fn begin(&self, state: &mut AgentState, sound: Sound) -> Step {
        let Some((plan, text)) = sound.plan.clone() else {
            settle(state, &sound, None);
            return self.close(state, &sound, None);
        };
        let id: Arc<str> = format!("{}-{}", state.rounds, state.id).into();
        state.pending = Some(Pending {
            run: Arc::clone(&id),
            calls: sound.solution.calls.clone(),
            output: sound.solution.output.clone(),
            is_shown: state.world.is_lazy,
            is_begun: false,
        });
        if state.is_shown() {
            return Step::End(AgentEnd::Shown, None);
        }
        if let Err(why) = self.mark_begun(state) {
            return Step::End(AgentEnd::Unkept(why), None);
        }
        let run = self.run(id, plan, text);
        let ran = self.agent.runner.run(run).await;
        self.end(state, sound, ran)
    }

    fn run(&self, id: Arc<str>, plan: CheckedPlan, text: Arc<str>) -> AgentRun {
        AgentRun {
            id,
            plan,
            text,
            until: self.until,
        }
    }

    /// Goes on with a solution that was about to run.
    async fn again(&self, state: &mut AgentState, pending: Pending) -> Step {
        let solution = Solution::new(&pending.calls, pending.output);
        let sound = match self.judge(state).prove(solution) {
            Ok(sound) => sound,
            Err(findings) => {
                state.pending = None;
                return Step::End(AgentEnd::Unsound(findings), None);
            }
        };
        let Some((plan, text)) = sound.plan.clone() else {
            state.pending = None;
            settle(state, &sound, None);
            return self.close(state, &sound, None);
        };
        let run = self.run(Arc::clone(&pending.run), plan, text);
        let resumed = if pending.is_begun {
            self.agent.runner.resume(run.clone()).await
        } else {
            Resumed::NotBegun
        };
        match resumed {
            Resumed::Ran(ran) => self.end(state, sound, ran),
            Resumed::Unknown if !sound.is_repeatable => {
                in_doubt(state, &sound);
                Step::On
            }
            Resumed::NotBegun | Resumed::Unknown => {
                if let Err(why) = self.mark_begun(state) {
                    return Step::End(AgentEnd::Unkept(why), None);
                }
                let ran = self.agent.runner.run(run).await;
                self.end(state, sound, ran)
            }
        }
    }

    fn mark_begun(&self, state: &mut AgentState) -> Result<(), String> {
        if let Some(pending) = &mut state.pending {
            pending.is_begun = true;
        }
        self.agent.listener.keep(state)
    }

    fn judge<'a>(&'a self, state: &'a AgentState) -> Judge<'a> {
        Judge {
            world: &state.world,
            done: &state.done,
            check: self.agent.check,
            output: self.agent.output,
        }
    }

    /// Takes over what became of a solution.
    fn end(&self, state: &mut AgentState, sound: Sound, ran: Ran) -> Step {
        let (sound, summary) = match ran {
            Ran::Ended(summary) => (sound, summary),
            Ran::Changed { calls, summary } => {
                let judge = Judge {
                    done: &[],
                    ..self.judge(state)
                };
                let solution = Solution::new(&calls, sound.solution.output.clone());
                match judge.prove(solution) {
                    Ok(changed) => (changed, summary),
                    Err(findings) => return Step::End(AgentEnd::Unsound(findings), None),
                }
            }
            Ran::Refused(because) => {
                state.pending = None;
                let calls = sound.solution.calls.into_iter();
                state.plan = calls.map(CallRecord::refused).collect();
                state.errors = vec![refusal(&because)];
                return Step::On;
            }
            Ran::GivenUp => return Step::End(AgentEnd::Cancelled, None),
        };
        if let Some(error) = &summary.unkept {
            return Step::End(AgentEnd::Unkept(error.to_string()), None);
        }
        if summary.status == RunStatus::Waiting {
            return Step::End(AgentEnd::Waiting(Arc::clone(&summary.run)), None);
        }
        state.pending = None;
        settle(state, &sound, Some(&summary));
        if summary.status == RunStatus::Cancelled {
            let is_late = self.until.is_some_and(|until| Instant::now() >= until);
            let end = if is_late {
                AgentEnd::Bound(AgentBound::Time)
            } else {
                AgentEnd::Cancelled
            };
            return Step::End(end, None);
        }
        self.close(state, &sound, Some(&summary))
    }

    /// Ends the loop where the solution has an output that stands.
    fn close(&self, state: &mut AgentState, sound: &Sound, summary: Option<&RunSummary>) -> Step {
        let written = &sound.solution.output;
        if written.is_null() {
            return Step::On;
        }
        let has_failed = summary.is_some_and(|summary| summary.status != RunStatus::Succeeded);
        if has_failed {
            if state.errors.is_empty() {
                let messages = summary.into_iter().flat_map(|summary| &summary.warnings);
                let messages = messages.filter(|finding| finding.is_error());
                state.errors = messages
                    .map(|finding| error("output", &finding.message))
                    .collect();
            }
            return Step::On;
        }
        let output = match summary {
            Some(summary) => summary.output.clone(),
            None => plainly(written),
        };
        if output.is_null() {
            return Step::On;
        }
        let is_by_instance = refers(written) && !state.world.instances.is_empty();
        let parts = output.as_object().filter(|_| is_by_instance);
        let found: Vec<_> = match parts {
            Some(parts) => parts
                .values()
                .flat_map(|part| faults(part, self.agent.output))
                .collect(),
            None => faults(&output, self.agent.output).into_iter().collect(),
        };
        if found.is_empty() {
            return Step::End(AgentEnd::Output, Some(output));
        }
        let messages = found
            .iter()
            .map(|finding| error("output", &finding.to_string()));
        state.errors.extend(messages);
        Step::On
    }
}

/// Says of the calls of a run that nobody knows of that nobody knows of them.
fn in_doubt(state: &mut AgentState, sound: &Sound) {
    state.pending = None;
    let calls = sound.solution.calls.iter().zip(&sound.steps);
    let records = calls.map(|(call, step)| match step {
        None => CallRecord::new(call.clone(), CallStatus::Done),
        Some((_, Some(_))) => CallRecord::new(call.clone(), CallStatus::Unknown),
        Some((_, None)) => CallRecord {
            call: call.clone(),
            status: None,
            result: None,
        },
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
        .map(|record| error_of(&record.call, message.clone()))
        .collect();
}

impl fmt::Debug for Agent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("model", &self.model.name())
            .field("bounds", self.bounds)
            .finish_non_exhaustive()
    }
}
