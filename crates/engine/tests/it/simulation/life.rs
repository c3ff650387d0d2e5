//! The life of one run: processes that drive it, die, and are followed by others, until it is done.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::check::CheckedPlan;
use planwright_core::{Object, Value};
use planwright_engine::approval::{ApprovalRequest, Approver};
use planwright_engine::backend::ErrorKind;
use planwright_engine::journal::Record;
use planwright_engine::run::{Choice, History, ReplayHeader, StepSummary, replay};
use planwright_engine::{
    Decision, Engine, RunOptions, RunStatus, RunSummary, SpawnRequest, StepStatus,
};
use tokio::sync::Notify;

use super::plans;
use super::world::Chance;
use super::world::World;
use super::world::{Disk, Fault, ProcessJournal};

const RUN: &str = "run";

/// Counts of what happened in all lives, to prove that the simulation covers it.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    died: u64,
    failed_commits: u64,
    unknown: u64,
    retried: u64,
    set: u64,
    skipped: u64,
    put_off: u64,
    drained: u64,
    succeeded: u64,
    failed: u64,
}

impl Seen {
    pub(super) fn add(&mut self, more: &Self) {
        for (sum, more) in self.counts_mut().into_iter().zip(more.counts()) {
            *sum += more;
        }
    }

    pub(super) fn must_have_seen_everything(&self) {
        assert!(self.counts().iter().all(|count| *count > 0), "{self:?}");
    }

    fn counts(&self) -> [u64; 10] {
        [
            self.died,
            self.failed_commits,
            self.unknown,
            self.retried,
            self.set,
            self.skipped,
            self.put_off,
            self.drained,
            self.succeeded,
            self.failed,
        ]
    }

    fn counts_mut(&mut self) -> [&mut u64; 10] {
        [
            &mut self.died,
            &mut self.failed_commits,
            &mut self.unknown,
            &mut self.retried,
            &mut self.set,
            &mut self.skipped,
            &mut self.put_off,
            &mut self.drained,
            &mut self.succeeded,
            &mut self.failed,
        ]
    }
}

/// Approves most calls, and leaves the others undecided.
struct Person {
    chance: std::sync::Mutex<Chance>,
}

impl Approver for Person {
    fn decide(&self, _: ApprovalRequest) -> BoxFuture<'_, Decision> {
        let decision = match self.chance.lock().unwrap().below(10) {
            0..3 => Decision::Later,
            3 => Decision::Reject { because: None },
            _ => Decision::Approve { args: None },
        };
        Box::pin(std::future::ready(decision))
    }
}

/// A run from its first process to its last.
struct Life {
    chance: Chance,
    plan: CheckedPlan,
    options: RunOptions,
    disk: Disk,
    world: World,
    /// The choices made for each process.
    choices: Vec<Vec<(Arc<str>, Choice)>>,
    seen: Seen,
}

/// Simulates one life and returns the counts.
pub(super) fn live(mut chance: Chance, disk: &Disk) -> Seen {
    let mut life = Life {
        plan: plans::plan(&mut chance),
        options: plans::options(&mut chance),
        world: World::new(chance.of("world"), disk.clone()),
        disk: disk.clone(),
        choices: Vec::new(),
        seen: Seen::default(),
        chance,
    };
    let mut choices = Vec::new();
    // Each process makes progress or dies, so few are needed; a life without end would be a defect.
    for _ in 0..60 {
        let summary = life.process(choices);
        choices = match summary {
            None => Vec::new(),
            Some(summary) => {
                check_values(&summary);
                match life.follow(&summary) {
                    Some(choices) => choices,
                    None => {
                        life.prove();
                        return life.seen;
                    }
                }
            }
        };
    }
    panic!("the run never ends");
}

impl Life {
    /// Drives the run until it ends, waits, or its process dies.
    fn process(&mut self, choices: Vec<(Arc<str>, Choice)>) -> Option<RunSummary> {
        let number = self.choices.len();
        let mut chance = self.chance.of(("process", number));
        let fault = chance.happens(70).then(|| {
            let batch = 1 + chance.below(12);
            let fault = match chance.below(5) {
                0 => Fault::Fails,
                1 | 2 => Fault::DiesBefore,
                _ => Fault::DiesAfter,
            };
            (batch, fault)
        });
        let death = Arc::new(Notify::new());
        let journal = ProcessJournal::new(
            self.disk.clone(),
            self.world.clone(),
            chance.of("commits"),
            fault,
            Arc::clone(&death),
        );
        let engine = Engine::new(self.world.clone())
            .with_options(self.options.clone())
            .with_approver(Arc::new(Person {
                chance: std::sync::Mutex::new(chance.of("person")),
            }));
        let history = choices.iter().cloned().fold(
            History::new(&self.disk.entries()),
            |history, (step, choice)| history.with_choice(step, choice),
        );
        let header = Value::from(number as u64);
        let start = SpawnRequest::new(RUN.parse().unwrap(), self.plan.clone())
            .with_journal(Arc::new(journal), header)
            .after(history);
        self.choices.push(choices);
        let mut chance_of_drain = chance.of("drain");
        // After some time, with a limit that the calls in flight may exceed.
        let drain = chance_of_drain.happens(20).then(|| {
            let [after, limit] = [500, 2000].map(|maximum| chance_of_drain.below(maximum));
            [after, limit].map(Duration::from_millis)
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let summary = runtime.block_on(async {
            let (handle, _events) = engine.spawn(start);
            if let Some([after, limit]) = drain {
                let canceller = handle.canceller();
                tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    canceller.drain(limit);
                });
            }
            tokio::select! {
                summary = handle => Some(summary),
                () = death.notified() => None,
            }
        });
        match &summary {
            None => self.seen.died += 1,
            Some(summary) if summary.journal_error.is_some() => self.seen.failed_commits += 1,
            Some(_) => {}
        }
        summary
    }

    /// The next action after a process has ended by itself; `None` if the run is done.
    fn follow(&mut self, summary: &RunSummary) -> Option<Vec<(Arc<str>, Choice)>> {
        if summary.journal_error.is_some() {
            return Some(Vec::new());
        }
        match summary.status {
            RunStatus::Succeeded => {
                self.seen.succeeded += 1;
                None
            }
            RunStatus::Failed if self.chance.happens(40) => {
                self.seen.failed += 1;
                None
            }
            RunStatus::Waiting => {
                let mut choices = Vec::new();
                self.decide(&summary.steps, &mut choices);
                if choices.is_empty() {
                    self.seen.put_off += 1;
                }
                Some(choices)
            }
            RunStatus::Cancelled => {
                self.seen.drained += 1;
                Some(Vec::new())
            }
            RunStatus::Failed => Some(Vec::new()),
        }
    }

    /// Checks what really happened, as a person would, and chooses for steps with an unknown outcome.
    fn decide(&mut self, steps: &[StepSummary], choices: &mut Vec<(Arc<str>, Choice)>) {
        for step in steps {
            self.decide(&step.parts, choices);
            if step.status != StepStatus::Unknown || !step.parts.is_empty() {
                continue;
            }
            self.seen.unknown += 1;
            let address = step.at.to_string();
            let choice = if self.world.calls(&address).done > 0 {
                self.seen.set += 1;
                let args = step.args.clone().unwrap_or_default();
                Choice::Set(World::answer(&args))
            } else if self.chance.happens(80) {
                self.seen.retried += 1;
                self.world.allow(&address);
                Choice::Retry
            } else {
                self.seen.skipped += 1;
                Choice::Skip
            };
            choices.push((Arc::from(address), choice));
        }
    }

    /// The replay of the journal reaches the same decisions.
    fn prove(&self) {
        let entries = self.disk.entries();
        if entries.is_empty() {
            return;
        }
        let replayed = replay(&RUN.parse().unwrap(), &entries, |_, header| {
            let number = usize::try_from(header.as_u64().unwrap()).unwrap();
            Ok::<_, Infallible>(ReplayHeader {
                plan: self.plan.clone(),
                options: self.options.clone(),
                choices: self.choices[number].clone(),
                forgotten: Vec::new(),
                idle: Some(std::time::Duration::ZERO),
                revokes_consent: false,
                extensions: VecDeque::new(),
            })
        });
        let replayed = replayed.unwrap_or_else(|error| panic!("{error:#?}"));
        let decided = entries
            .iter()
            .filter(|entry| !entry.record.is_input())
            .count();
        assert_eq!(replayed.decisions, decided);
        let mut is_draining = false;
        for entry in &entries {
            match &entry.record {
                Record::Opened { .. } => is_draining = false,
                Record::Draining => is_draining = true,
                Record::Sent { at, .. } => {
                    assert!(!is_draining, "`{at}` was sent by a draining run");
                }
                _ => {}
            }
        }
        let openings = entries
            .iter()
            .filter(|entry| matches!(entry.record, Record::Opened { .. }))
            .count();
        assert_eq!(replayed.processes, openings);
    }
}

/// Every value is the tool's output for the arguments, which are the outputs of earlier steps.
fn check_values(summary: &RunSummary) {
    for step in &summary.steps {
        let error = step.error.as_ref().map(|error| error.kind);
        assert_ne!(error, Some(ErrorKind::Internal), "{:?}", step.error);
        let Some(args) = &step.args else {
            continue;
        };
        let of = |id: &str| {
            summary
                .steps
                .iter()
                .find(|step| step.at.step.as_str() == id)
                .and_then(|step| step.output.clone())
        };
        let none = Object::default();
        for (key, value) in args.as_object().unwrap_or(&none) {
            if key.starts_with('s') {
                assert_eq!(Some(value), of(key).as_ref(), "`{}` of `{}`", key, step.at);
            }
        }
        let good = step.status == StepStatus::Succeeded && step.error.is_none();
        if good && step.parts.is_empty() {
            assert_eq!(step.output, Some(World::answer(args)), "`{}`", step.at);
        }
    }
}
