//! Replay of a journal without any calls: the same inputs must lead to the same decisions.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use planwright_core::check::CheckedPlan;
use planwright_core::{Hashing, PlanDigest, StepId, Value};

use crate::address::Address;
use crate::approval::Decision;
use crate::id::RunId;
use crate::journal::{Entry, Record};
use crate::options::RunOptions;
use crate::run::calls::attempts::RUN_TIMER_TASK;
use crate::run::calls::flow::is_flow_refusal;
use crate::run::effects::{Effect, RunInput};
use crate::run::journaling::history::History;
use crate::run::journaling::state::RecordedConsent;
use crate::run::outcome::Choice;
use crate::run::report::summary::RunSummary;
use crate::run::run_machine::RunMachine;
use crate::schedule::TimeSlice;
use crate::schedule::{TaskId, Timer};

/// The settings that one process of a run began with.
#[derive(Clone, Debug)]
pub struct ReplayHeader {
    /// The plan.
    pub plan: CheckedPlan,
    /// The options, with the durations known at that time.
    pub options: RunOptions,
    /// Choices about steps, by address.
    pub choices: Vec<(Arc<str>, Choice)>,
    /// The steps that a new plan replaced: their history does not count.
    pub forgotten: Vec<StepId>,
    /// The time without a process before this one, if it is known; ignored for the first process.
    pub idle: Option<Duration>,
    /// True if [earlier consent is revoked](History::revoke_consent) at this point.
    pub revokes_consent: bool,
    /// The extended plans that followed, in order.
    pub extensions: VecDeque<CheckedPlan>,
}

/// The result of a replay.
#[derive(Clone, Debug)]
pub struct ReplayReport {
    /// The summary of the run. Secrets are not in a journal, so they are not in here.
    pub summary: RunSummary,
    /// The number of compared decisions.
    pub decisions: usize,
    /// The number of processes that have driven the run.
    pub processes: usize,
}

/// The reason why a replay failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReplayError<E> {
    /// The settings of a process cannot be loaded.
    #[error("{0}")]
    ReplayHeader(E),
    /// The journal does not begin with an opening record.
    #[error("the journal does not start with an opening entry")]
    NoOpening,
    /// The plan was extended, and the extended plan is not known.
    #[error("the plan was extended at turn {turn}, and the longer plan is not known")]
    Extension {
        /// The turn.
        turn: u64,
    },
    /// The journal names a step that the run does not have.
    #[error("the journal has an entry for `{at}` at turn {turn}, which the plan does not have")]
    UnknownAddress {
        /// The address.
        at: String,
        /// The turn.
        turn: u64,
    },
    /// The run decides differently now.
    #[error("the replay diverges at turn {turn}")]
    Diverged {
        /// The turn.
        turn: u64,
        /// The record in the journal.
        written: Box<Record>,
        /// The record of the replay; `None` if it has none.
        now: Option<Box<Record>>,
    },
}

/// Replays a journal. `open` loads the settings of each process by the digest and the header of its opening record.
///
/// # Errors
///
/// The first difference from the recorded decisions, or the reason why the replay is not possible.
pub fn replay<E>(
    run: &RunId,
    entries: &[Entry],
    mut open: impl FnMut(&PlanDigest, &Value) -> Result<ReplayHeader, E>,
) -> Result<ReplayReport, ReplayError<E>> {
    let mut history = History::default();
    let mut decisions = 0;
    let mut processes = 0;
    let mut summary = None;
    let mut rest = entries;
    while let Some((first, others)) = rest.split_first() {
        let Record::Opened { digest, header, .. } = &first.record else {
            return Err(ReplayError::NoOpening);
        };
        // Each opening record begins the part of another process.
        let length = others
            .iter()
            .position(|entry| matches!(entry.record, Record::Opened { .. }))
            .unwrap_or(others.len());
        let (process, next) = others.split_at(length);
        let opening = open(digest, header).map_err(ReplayError::ReplayHeader)?;
        // A pause precedes every process except the first.
        if processes > 0 {
            history.add_pause(opening.idle);
        }
        if opening.revokes_consent {
            history.revoke_consent();
        }
        for step in &opening.forgotten {
            history.forget(step);
        }
        let chosen = opening
            .choices
            .into_iter()
            .fold(history.clone(), |history, (step, choice)| {
                history.with_choice(step, choice)
            });
        let mut machine = RunMachine::new(run.clone(), opening.plan, opening.options)
            .journaled()
            .after(Arc::new(chosen));
        machine.journal.replay_consent(recorded_consent(process));
        let mut replayer = Replayer::new(machine, opening.extensions);
        replayer.play(first, process)?;
        decisions += replayer.compared;
        processes += 1;
        summary = Some(replayer.run.summary());
        history.add(first);
        for entry in process {
            history.add(entry);
        }
        rest = next;
    }
    summary
        .map(|summary| ReplayReport {
            summary,
            decisions,
            processes,
        })
        .ok_or(ReplayError::NoOpening)
}

/// Feeds the inputs of one process into a new run.
struct Replayer {
    run: RunMachine,
    extensions: VecDeque<CheckedPlan>,
    tasks: HashMap<Arc<Address>, TaskId, Hashing>,
    /// The number of tasks in the table.
    known: usize,
    effects: Vec<Effect>,
    /// Decisions of the run that have not been compared yet.
    decided: VecDeque<(Duration, Box<Record>)>,
    compared: usize,
}

impl Replayer {
    fn new(run: RunMachine, extensions: VecDeque<CheckedPlan>) -> Self {
        Self {
            run,
            extensions,
            tasks: HashMap::default(),
            known: 0,
            effects: Vec::new(),
            decided: VecDeque::new(),
            compared: 0,
        }
    }

    fn play<E>(&mut self, first: &Entry, entries: &[Entry]) -> Result<(), ReplayError<E>> {
        // The replay stops at the command at which the process paused, so it makes its decisions in the same order.
        self.run.set_time_slice(time_slice(entries));
        self.run.start(&mut self.effects);
        let mut turn = first.turn;
        self.end_turn();
        for (index, entry) in entries.iter().enumerate() {
            if entry.turn != turn {
                self.end_turn();
                turn = entry.turn;
            }
            if matches!(entry.record, Record::Chosen { .. }) {
                // Choices were set when the process began.
            } else if entry.record.is_input() {
                self.run
                    .set_time_slice(time_slice(entries.get(index + 1..).unwrap_or_default()));
                match entry.record {
                    Record::Paused { .. } => self.run.pause(&mut self.effects),
                    Record::Resumed => self.run.resume_work(&mut self.effects),
                    Record::Opened { .. }
                    | Record::Sent { .. }
                    | Record::Answered { .. }
                    | Record::Aborted { .. }
                    | Record::Asked { .. }
                    | Record::Decided { .. }
                    | Record::Chosen { .. }
                    | Record::TimerFired { .. }
                    | Record::Extended { .. }
                    | Record::Closed
                    | Record::Draining
                    | Record::Cancelled
                    | Record::OutOfTime
                    | Record::Settled { .. }
                    | Record::Ended { .. } => {
                        let input = self.input(entry)?;
                        self.run.handle(input, entry.at, &mut self.effects);
                    }
                }
                self.collect();
            } else {
                self.compare(entry)?;
            }
        }
        Ok(())
    }

    /// Starts what is ready. It is called before the decisions of a turn are compared, and has no effect if nothing is
    /// new.
    fn end_turn(&mut self) {
        self.run.proceed(&mut self.effects);
        self.collect();
    }

    fn collect(&mut self) {
        for effect in self.effects.drain(..) {
            if let Effect::AppendRecord { at, record } = effect
                && !record.is_input()
            {
                self.decided.push_back((at, record));
            }
        }
    }

    fn compare<E>(&mut self, entry: &Entry) -> Result<(), ReplayError<E>> {
        self.compared += 1;
        if let Record::Ended { status } = &entry.record {
            let now = self.run.summary().status;
            return if now == *status {
                Ok(())
            } else {
                Err(diverged(
                    entry,
                    Some(Box::new(Record::Ended { status: now })),
                ))
            };
        }
        if self.decided.is_empty() {
            // Calls start at the end of a turn, when all its inputs are known.
            self.end_turn();
        }
        // The driver ended the stuck run by itself, without an input in the journal.
        if self.decided.is_empty() && self.run.is_stuck() {
            self.run
                .handle(RunInput::EndAsStuck, entry.at, &mut self.effects);
            self.collect();
        }
        match self.decided.pop_front() {
            Some((at, record)) if at == entry.at && is_same(&record, &entry.record) => Ok(()),
            Some((_, record)) => Err(diverged(entry, Some(record))),
            None => Err(diverged(entry, None)),
        }
    }

    fn input<E>(&mut self, entry: &Entry) -> Result<RunInput, ReplayError<E>> {
        Ok(match &entry.record {
            Record::Answered {
                at,
                attempt,
                result,
            } => {
                let task = self.task(at, entry.turn)?;
                let before = self
                    .run
                    .task_data(task)
                    .map_or(0, |data| data.earlier_attempts);
                RunInput::AttemptEnded {
                    task,
                    // The journal numbers attempts over all processes, the scheduler those of its own.
                    attempt: attempt.saturating_sub(before),
                    result: result.clone(),
                }
            }
            Record::Decided {
                at,
                approved,
                changed_args,
                because,
            } => RunInput::Decided {
                task: self.task(at, entry.turn)?,
                decision: if *approved {
                    Decision::Approve {
                        args: changed_args.clone(),
                    }
                } else {
                    Decision::Reject {
                        because: because.as_deref().map(str::to_owned),
                    }
                },
            },
            Record::TimerFired { at, timer } => {
                RunInput::TimerFired(self.task(at, entry.turn)?, *timer)
            }
            Record::Extended { .. } => {
                // The journal holds only the digest of an extended plan; the caller provides the plans.
                let plan = self.extensions.pop_front();
                RunInput::Extend(plan.ok_or(ReplayError::Extension { turn: entry.turn })?)
            }
            Record::Closed => RunInput::Close,
            Record::Draining => RunInput::Drain,
            Record::Cancelled => RunInput::Cancel,
            Record::OutOfTime => RunInput::TimerFired(RUN_TIMER_TASK, Timer::Run),
            // An opening record begins the next process; all other records are decisions.
            Record::Opened { .. }
            | Record::Sent { .. }
            | Record::Aborted { .. }
            | Record::Asked { .. }
            | Record::Chosen { .. }
            | Record::Paused { .. }
            | Record::Resumed
            | Record::Settled { .. }
            | Record::Ended { .. } => return Err(ReplayError::NoOpening),
        })
    }

    fn task<E>(&mut self, at: &Arc<Address>, turn: u64) -> Result<TaskId, ReplayError<E>> {
        for (index, data) in (self.known..).zip(self.run.tasks.since(self.known)) {
            let id = TaskId(u32::try_from(index).unwrap_or(u32::MAX));
            self.tasks.insert(Arc::clone(&data.address), id);
        }
        self.known = self.run.tasks.len();
        self.tasks
            .get(at)
            .copied()
            .ok_or_else(|| ReplayError::UnknownAddress {
                at: at.to_string(),
                turn,
            })
    }
}

/// The places at which a process needed or lacked consent.
fn recorded_consent(process: &[Entry]) -> RecordedConsent {
    let mut recorded = RecordedConsent::default();
    for entry in process {
        match &entry.record {
            Record::Asked { at, .. } => {
                recorded.asked.insert(Arc::clone(at));
            }
            Record::Sent {
                at,
                consent: Some(_),
                ..
            } => {
                recorded.consented.insert(Arc::clone(at));
            }
            Record::Settled {
                at,
                error: Some(error),
                ..
            } if is_flow_refusal(error) => {
                recorded.refused.insert(Arc::clone(at));
            }
            Record::Opened { .. }
            | Record::Sent { .. }
            | Record::Answered { .. }
            | Record::Aborted { .. }
            | Record::Decided { .. }
            | Record::Chosen { .. }
            | Record::TimerFired { .. }
            | Record::Extended { .. }
            | Record::Closed
            | Record::Draining
            | Record::Cancelled
            | Record::OutOfTime
            | Record::Paused { .. }
            | Record::Resumed
            | Record::Settled { .. }
            | Record::Ended { .. } => {}
        }
    }
    recorded
}

/// Returns true if a decision equals the recorded one. The binding of consent is ignored: neither secrets nor
/// definitions of tools are in a journal, so a replay cannot compute it.
fn is_same(now: &Record, written: &Record) -> bool {
    match (now, written) {
        (
            Record::Asked { at, subject, .. },
            Record::Asked {
                at: place,
                subject: asked,
                ..
            },
        ) => {
            at == place
                && (&subject.server, &subject.tool, &subject.args)
                    == (&asked.server, &asked.tool, &asked.args)
        }
        (Record::Sent { .. }, Record::Sent { .. }) => unbound(now) == unbound(written),
        _ => now == written,
    }
}

/// The record without the digest that consent is bound to.
fn unbound(record: &Record) -> Record {
    let mut record = record.clone();
    if let Record::Sent { consent, .. } = &mut record {
        *consent = None;
    }
    record
}

/// The amount of work before the next input of `entries`: all of it, unless that arrived while the run was computing.
fn time_slice(entries: &[Entry]) -> TimeSlice {
    let is_input =
        |entry: &&Entry| entry.record.is_input() && !matches!(entry.record, Record::Chosen { .. });
    match entries.iter().find(is_input).map(|entry| &entry.record) {
        Some(Record::Paused { after }) => TimeSlice::Until(*after),
        _ => TimeSlice::All,
    }
}

fn diverged<E>(entry: &Entry, now: Option<Box<Record>>) -> ReplayError<E> {
    ReplayError::Diverged {
        turn: entry.turn,
        written: Box::new(entry.record.clone()),
        now,
    }
}
