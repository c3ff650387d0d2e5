//! Runs a journal again without calling anything: a run that is told the same must decide the same.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use planwright_core::check::CheckedPlan;
use planwright_core::{Hashing, StepId, Value};

use super::effect::{Effect, Input};
use super::guarding::NO_TASK;
use super::history::{Choice, History};
use super::state::{Run, Stretch};
use super::summary::RunSummary;
use crate::approval::Decision;
use crate::event::Address;
use crate::journal::{Entry, Record};
use crate::options::RunOptions;
use crate::schedule::{TaskId, Timer};

/// With what one of the processes that drove a run began.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The plan.
    pub plan: CheckedPlan,
    /// The options, with the durations that were known then.
    pub options: RunOptions,
    /// What was said about steps, by address.
    pub choices: Vec<(Arc<str>, Choice)>,
    /// The steps that another plan took the place of: what was done for them before does not count.
    pub forgotten: Vec<StepId>,
    /// How long no process drove the run before it, if that is known; nothing of it counts for the first one.
    pub idle: Option<Duration>,
    /// Whether [no earlier consent counts](History::revoke_consent) from here on.
    pub revokes_consent: bool,
    /// The longer plans that came later, in order.
    pub extensions: VecDeque<CheckedPlan>,
}

/// What came out of a replay.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What the run came to. Secrets are not in a journal, so they are not in here.
    pub summary: RunSummary,
    /// How many decisions were compared.
    pub decisions: usize,
    /// How many processes have driven the run.
    pub processes: usize,
}

/// Why a journal could not be replayed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError<E> {
    /// What a process began with cannot be had.
    #[error("{0}")]
    Opening(E),
    /// The journal does not begin with an opening.
    #[error("the journal does not begin with the opening of a run")]
    NoOpening,
    /// The plan grew, and the longer one is not known.
    #[error("the plan was extended at turn {turn}, and the longer plan is not known")]
    Extension {
        /// When.
        turn: u64,
    },
    /// The journal tells of a step that the run does not have.
    #[error("the journal tells of `{at}` at turn {turn}, which the run does not have")]
    UnknownAddress {
        /// Which.
        at: String,
        /// When.
        turn: u64,
    },
    /// The run would decide otherwise now.
    #[error("the run decides otherwise at turn {turn}")]
    Diverged {
        /// When.
        turn: u64,
        /// What the journal says.
        written: Box<Record>,
        /// What the run does now; nothing where it does nothing.
        now: Option<Box<Record>>,
    },
}

/// Runs a journal again. `open` says with what each process began, by the digest and the header of its opening.
///
/// # Errors
///
/// Where the run would now decide otherwise than it did, or why that cannot be said.
pub fn replay<E>(
    run: &Arc<str>,
    entries: &[Entry],
    mut open: impl FnMut(&str, &Value) -> Result<Opening, E>,
) -> Result<Replayed, ReplayError<E>> {
    let mut history = History::default();
    let mut decisions = 0;
    let mut processes = 0;
    let mut summary = None;
    let mut rest = entries;
    while let Some((first, behind)) = rest.split_first() {
        let Record::Opened { digest, header, .. } = &first.record else {
            return Err(ReplayError::NoOpening);
        };
        let length = behind
            .iter()
            .position(|entry| matches!(entry.record, Record::Opened { .. }))
            .unwrap_or(behind.len());
        let (process, next) = behind.split_at(length);
        let opening = open(digest, header).map_err(ReplayError::Opening)?;
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
        let mut machine = Run::new(Arc::clone(run), opening.plan, opening.options)
            .remembering()
            .after(Arc::new(chosen));
        machine.replayed_questions = Some(questions(process));
        let mut player = Player::new(machine, opening.extensions);
        player.play(first, process)?;
        decisions += player.compared;
        processes += 1;
        summary = Some(player.run.summary());
        history.add(first);
        for entry in process {
            history.add(entry);
        }
        rest = next;
    }
    summary
        .map(|summary| Replayed {
            summary,
            decisions,
            processes,
        })
        .ok_or(ReplayError::NoOpening)
}

/// Plays what one process was told to a run of its own.
struct Player {
    run: Run,
    extensions: VecDeque<CheckedPlan>,
    tasks: HashMap<Arc<Address>, TaskId, Hashing>,
    /// How many tasks are in the table.
    known: usize,
    effects: Vec<Effect>,
    /// What the run has decided and the journal has not told of yet.
    decided: VecDeque<(Duration, Box<Record>)>,
    compared: usize,
}

impl Player {
    fn new(run: Run, extensions: VecDeque<CheckedPlan>) -> Self {
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
        self.run.stretch = stretch(entries);
        self.run.start(&mut self.effects);
        let mut turn = first.turn;
        self.end_turn();
        for (index, entry) in entries.iter().enumerate() {
            if entry.turn != turn {
                self.end_turn();
                turn = entry.turn;
            }
            if matches!(entry.record, Record::Chosen { .. }) {
                // It was known when the process began.
            } else if entry.record.is_told() {
                self.run.stretch = stretch(entries.get(index + 1..).unwrap_or_default());
                match entry.record {
                    Record::Paused { .. } => self.run.pause(&mut self.effects),
                    Record::WentOn => self.run.go_on(&mut self.effects),
                    _ => {
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

    /// Starts what may start. Called before the decisions of a turn are compared, and harmless when nothing is new.
    fn end_turn(&mut self) {
        self.run.proceed(&mut self.effects);
        self.collect();
    }

    fn collect(&mut self) {
        for effect in self.effects.drain(..) {
            if let Effect::Remember { at, record } = effect
                && !record.is_told()
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
            // What starts is decided at the end of a turn, when all that it was told is known.
            self.end_turn();
        }
        if self.decided.is_empty() && self.run.is_stuck() {
            self.run.handle(Input::GiveUp, entry.at, &mut self.effects);
            self.collect();
        }
        match self.decided.pop_front() {
            Some((at, record)) if at == entry.at && is_same(&record, &entry.record) => Ok(()),
            Some((_, record)) => Err(diverged(entry, Some(record))),
            None => Err(diverged(entry, None)),
        }
    }

    fn input<E>(&mut self, entry: &Entry) -> Result<Input, ReplayError<E>> {
        Ok(match &entry.record {
            Record::Answered {
                at,
                attempt,
                result,
            } => {
                let task = self.task(at, entry.turn)?;
                let before = self.run.work(task).map_or(0, |work| work.attempts_before);
                Input::AttemptEnded {
                    task,
                    attempt: attempt.saturating_sub(before),
                    result: result.clone(),
                }
            }
            Record::Decided {
                at,
                approved,
                changed_args,
                because,
            } => Input::Decided {
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
                Input::TimerFired(self.task(at, entry.turn)?, *timer)
            }
            Record::Extended { .. } => {
                let plan = self.extensions.pop_front();
                Input::Extend(plan.ok_or(ReplayError::Extension { turn: entry.turn })?)
            }
            Record::Closed => Input::Close,
            Record::Cancelled => Input::Cancel,
            Record::OutOfTime => Input::TimerFired(NO_TASK, Timer::Run),
            // An opening begins the next process, and everything else is decided, not told.
            _ => return Err(ReplayError::NoOpening),
        })
    }

    fn task<E>(&mut self, at: &Arc<Address>, turn: u64) -> Result<TaskId, ReplayError<E>> {
        for (index, work) in self.run.work.iter().enumerate().skip(self.known) {
            let id = TaskId(u32::try_from(index).unwrap_or(u32::MAX));
            self.tasks.insert(Arc::clone(&work.address), id);
        }
        self.known = self.run.work.len();
        self.tasks
            .get(at)
            .copied()
            .ok_or_else(|| ReplayError::UnknownAddress {
                at: at.to_string(),
                turn,
            })
    }
}

/// The places that a process asked about.
fn questions(process: &[Entry]) -> HashSet<Arc<Address>, Hashing> {
    let asked = process.iter().filter_map(|entry| match &entry.record {
        Record::Asked { at, .. } => Some(Arc::clone(at)),
        _ => None,
    });
    asked.collect()
}

/// Whether a run decides what the journal says. What consent was bound to is left out: neither secrets nor the definitions of
/// tools are in a journal, so a replay cannot compute it.
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

/// A record of a call without the digest that consent was bound to.
fn unbound(record: &Record) -> Record {
    let mut record = record.clone();
    if let Record::Sent { consent, .. } = &mut record {
        *consent = None;
    }
    record
}

/// How much the run had done before it was told the next of `entries`: everything, unless it was told while it was computing.
fn stretch(entries: &[Entry]) -> Stretch {
    let told =
        |entry: &&Entry| entry.record.is_told() && !matches!(entry.record, Record::Chosen { .. });
    match entries.iter().find(told).map(|entry| &entry.record) {
        Some(Record::Paused { after }) => Stretch::Until(*after),
        _ => Stretch::All,
    }
}

fn diverged<E>(entry: &Entry, now: Option<Box<Record>>) -> ReplayError<E> {
    ReplayError::Diverged {
        turn: entry.turn,
        written: Box::new(entry.record.clone()),
        now,
    }
}
