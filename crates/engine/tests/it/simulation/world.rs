//! The outside world: a repeatable random generator, tools that record what was really done and check invariants, and a slow journal whose process or disk may fail.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use planwright_core::Value;
use planwright_engine::backend::{ErrorKind, RetryAdvice, ToolBackend, ToolCall};
use planwright_engine::journal::{Entry, Record};
use planwright_engine::{Journal, JournalError, ToolError, ToolOutput};
use tokio::sync::Notify;

/// A source of numbers that follow from a seed.
#[derive(Clone, Debug)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator of its own for `what`: the same for the same seed, whatever was drawn before.
    pub(super) fn of(&self, what: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        (self.0, what).hash(&mut hasher);
        Self(hasher.finish())
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// Returns true in `percent` of all cases.
    pub(super) fn happens(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

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
pub(super) struct Disk(Arc<Mutex<DiskContents>>);

#[derive(Debug, Default)]
struct DiskContents {
    entries: Vec<Entry>,
    intents: HashSet<(String, u32)>,
    settled: HashSet<String>,
}

impl Disk {
    pub(super) fn entries(&self) -> Vec<Entry> {
        self.0.lock().unwrap().entries.clone()
    }

    fn append(&self, entries: Vec<Entry>) {
        let mut contents = self.0.lock().unwrap();
        for entry in entries {
            match &entry.record {
                Record::Sent { at, attempt, .. } => {
                    contents.intents.insert((at.to_string(), *attempt));
                }
                Record::Settled { at, .. } => {
                    contents.settled.insert(at.to_string());
                }
                _ => {}
            }
            contents.entries.push(entry);
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
                    world.results_stored(&entries);
                    disk.append(entries);
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

/// The calls with one key.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    /// The number of calls.
    pub(super) count: u64,
    /// The number of calls that took effect.
    pub(super) done: u64,
    /// The latest stored answer.
    stored: Option<StoredResult>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoredResult {
    /// The call succeeded.
    Good,
    /// The call did not happen, or the tool reported an error.
    Failed,
    /// The outcome is unknown.
    Doubtful,
}

/// The outside world. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct World {
    chance: Chance,
    disk: Disk,
    calls: Arc<Mutex<HashMap<String, Calls>>>,
}

impl World {
    pub(super) fn new(chance: Chance, disk: Disk) -> Self {
        Self {
            chance,
            disk,
            calls: Arc::default(),
        }
    }

    /// The output of a successful call, which follows from the arguments alone.
    pub(super) fn answer(args: &Value) -> Value {
        let answer = Value::object([("made", args.clone()), ("text", Value::from("done"))]);
        // As from a server: its texts are its own, also where it repeats its arguments.
        Value::from_json(&answer.to_json()).unwrap()
    }

    pub(super) fn calls(&self, address: &str) -> Calls {
        let calls = self.calls.lock().unwrap();
        calls.get(address).cloned().unwrap_or_default()
    }

    /// A person has chosen to retry the call.
    pub(super) fn allow(&self, address: &str) {
        self.of(address, |calls| calls.stored = Some(StoredResult::Failed));
    }

    /// Records which answers are stored.
    pub(super) fn results_stored(&self, entries: &[Entry]) {
        for entry in entries {
            if let Record::Answered { at, result, .. } = &entry.record {
                let stored = match result {
                    Ok(_) => StoredResult::Good,
                    Err(error)
                        if error.retry == RetryAdvice::Uncertain
                            || error.kind == ErrorKind::Timeout =>
                    {
                        StoredResult::Doubtful
                    }
                    Err(_) => StoredResult::Failed,
                };
                self.of(&at.to_string(), |calls| calls.stored = Some(stored));
            }
        }
    }

    fn of<R>(&self, address: &str, what: impl FnOnce(&mut Calls) -> R) -> R {
        let mut calls = self.calls.lock().unwrap();
        what(calls.entry(address.to_owned()).or_default())
    }

    /// The invariants of every call that arrives.
    fn arrives(&self, call: &ToolCall, address: &str) -> u64 {
        assert!(
            self.disk.intends(address, call.context.attempt),
            "attempt {} of `{address}` was sent before its intent was stored",
            call.context.attempt
        );
        let args = call.args.as_object().unwrap();
        for (step, _) in args.iter().filter(|(key, _)| key.starts_with('s')) {
            assert!(
                self.disk.settled(step),
                "`{address}` was called before the outcome of `{step}` was stored"
            );
        }
        let repeatable = call.tool.is_repeatable();
        self.of(address, |calls| {
            assert_ne!(
                calls.stored,
                Some(StoredResult::Good),
                "`{address}` had been completed and was called again"
            );
            let may_be_first = calls.count == 0 || calls.stored == Some(StoredResult::Failed);
            assert!(
                repeatable || may_be_first,
                "`{address}` may have happened and was called again: {calls:?}"
            );
            calls.count += 1;
            calls.stored = None;
            calls.count
        })
    }
}

impl ToolBackend for World {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let address = call
                .context
                .idempotency_key()
                .split_once('/')
                .and_then(|(_, call)| call.rsplit_once(':'))
                .map(|(address, _)| address.to_owned())
                .unwrap();
            let number = self.arrives(&call, &address);
            let mut chance = self.chance.of((&address, number));
            let fate = chance.below(100);
            let takes = Duration::from_millis(chance.below(300));
            let early = chance.happens(50);
            let done = || self.of(&address, |calls| calls.done += 1);
            match fate {
                // A successful answer; the effect happens first, or last.
                0..70 => {
                    if early {
                        done();
                    }
                    tokio::time::sleep(takes).await;
                    if !early {
                        done();
                    }
                    Ok(ToolOutput::value(Self::answer(&call.args)))
                }
                70..78 => {
                    tokio::time::sleep(takes).await;
                    Err(ToolError::tool("no", Value::Null))
                }
                78..86 => {
                    tokio::time::sleep(takes).await;
                    Err(ToolError::unavailable("not there"))
                }
                86..94 => {
                    tokio::time::sleep(takes).await;
                    if early {
                        done();
                    }
                    Err(ToolError::lost("gone"))
                }
                _ => {
                    if early {
                        done();
                    }
                    std::future::pending().await
                }
            }
        })
    }
}
