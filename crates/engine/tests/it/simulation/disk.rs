//! A slow journal whose process may die before or after a commit, or whose disk fails.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_engine::journal::{Entry, Record};
use planwright_engine::{Journal, JournalError};
use tokio::sync::Notify;

use super::chance::Chance;
use super::world::World;

/// A fault of one of the batches of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The process dies before the batch is stored.
    DiesBefore,
    /// The process dies after the batch is stored and before that is reported.
    DiesAfter,
    /// The batch cannot be stored.
    Fails,
}

/// The data that survives a process.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    entries: Vec<Entry>,
    intents: HashSet<(String, u32)>,
    settled: HashSet<String>,
}

impl Disk {
    pub(super) fn entries(&self) -> Vec<Entry> {
        self.0.lock().unwrap().entries.clone()
    }

    fn keep(&self, entries: Vec<Entry>) {
        let mut kept = self.0.lock().unwrap();
        for entry in entries {
            match &entry.record {
                Record::Sent { at, attempt, .. } => {
                    kept.intents.insert((at.to_string(), *attempt));
                }
                Record::Settled { at, .. } => {
                    kept.settled.insert(at.to_string());
                }
                _ => {}
            }
            kept.entries.push(entry);
        }
    }

    /// Returns true if the intent of this attempt is stored.
    pub(super) fn intends(&self, address: &str, attempt: u32) -> bool {
        let intent = (address.to_owned(), attempt);
        self.0.lock().unwrap().intents.contains(&intent)
    }

    /// Returns true if the end of a whole step is stored.
    pub(super) fn settled(&self, step: &str) -> bool {
        self.0.lock().unwrap().settled.contains(step)
    }
}

/// The journal of one process.
pub(super) struct ProcessJournal {
    disk: Disk,
    world: World,
    chance: Mutex<Chance>,
    /// The batch that fails.
    fault: Option<(u64, Fault)>,
    batches: Mutex<u64>,
    /// Each commit waits for the one before.
    order: Arc<tokio::sync::Mutex<()>>,
    death: Arc<Notify>,
}

impl ProcessJournal {
    pub(super) fn new(
        disk: Disk,
        world: World,
        chance: Chance,
        fault: Option<(u64, Fault)>,
        death: Arc<Notify>,
    ) -> Self {
        Self {
            disk,
            world,
            chance: Mutex::new(chance),
            fault,
            batches: Mutex::new(0),
            order: Arc::default(),
            death,
        }
    }
}

impl Journal for ProcessJournal {
    fn append(&self, entries: Vec<Entry>) -> BoxFuture<'static, Result<(), JournalError>> {
        let number = {
            let mut batches = self.batches.lock().unwrap();
            *batches += 1;
            *batches
        };
        let takes = Duration::from_millis(self.chance.lock().unwrap().below(20));
        let fault = self
            .fault
            .and_then(|(at, fault)| (at <= number).then_some((at, fault)));
        let (disk, world) = (self.disk.clone(), self.world.clone());
        let (order, death) = (Arc::clone(&self.order), Arc::clone(&self.death));
        Box::pin(async move {
            let turn = order.lock().await;
            tokio::time::sleep(takes).await;
            match fault {
                // Nothing may be stored after a failed batch.
                Some((at, _)) if at < number => {
                    return Err(JournalError::new("the disk is gone"));
                }
                Some((_, Fault::Fails)) => return Err(JournalError::new("no space left")),
                Some((_, Fault::DiesBefore)) => {
                    death.notify_one();
                    std::future::pending::<()>().await;
                }
                Some((_, Fault::DiesAfter)) | None => {
                    world.kept(&entries);
                    disk.keep(entries);
                }
            }
            if fault.is_some() {
                death.notify_one();
                std::future::pending::<()>().await;
            }
            drop(turn);
            Ok(())
        })
    }
}
