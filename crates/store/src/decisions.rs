//! Approval decisions about calls of runs, made by people through any process, and watchers for decisions and journal entries of other processes.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use planwright_engine::RunId;
use planwright_engine::event::Address;
use planwright_engine::journal::{Entry, Record};
use planwright_engine::{Decision, History};
use planwright_format::journal::{AddressV1, parse_value, value_json};

use crate::changes::{NewsReader, NewsWatcher};
use crate::database::{QueryError, SqlSession, params};
use crate::error::StoreError;
use crate::run::requests::PlanApproval;
use crate::run::{JournalEntries, find, unreadable};
use crate::store::Store;
use crate::values::{from_nanos, to_nanos};

/// A decision to store.
#[derive(Clone, Debug, PartialEq)]
pub struct NewDecision {
    /// The address of the step.
    pub at: Arc<Address>,
    /// The [digest](planwright_engine::approval::ApprovalRequest::digest) of the call that the person saw. The decision applies to this call only.
    pub digest: String,
    /// The decision.
    pub decision: Decision,
    /// The person who decided, as free text.
    pub by: Option<String>,
    /// The time of the decision.
    pub decided: SystemTime,
}

/// A stored decision.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredDecision {
    /// The sequence number in the store: later decisions have higher ones.
    pub number: i64,
    /// The address of the step.
    pub at: Arc<Address>,
    /// The [digest](planwright_engine::approval::ApprovalRequest::digest) of the call that it applies to.
    pub digest: String,
    /// The decision.
    pub decision: Decision,
    /// The person who decided, as free text.
    pub by: Option<String>,
    /// The time of the decision.
    pub decided: SystemTime,
}

impl Store {
    /// Stores a decision for the process that drives the run.
    ///
    /// # Errors
    ///
    /// [`StoreError::Decided`] if the same call has a decision already; [`StoreError::ChangedSecret`] if the changed arguments
    /// replace a secret or contain one in another place; those of [`Store::run`].
    pub fn decide(&self, selector: &str, new: &NewDecision) -> Result<(), StoreError> {
        let run = self.run(selector)?.id;
        self.store_decisions(&[(run, new.clone())], ExistingDecision::Keep, None)
    }

    /// Stores decisions about calls of runs: all of them, or none.
    ///
    /// # Errors
    ///
    /// Those of [`Store::decide`]. After an error, nothing is stored.
    pub fn decide_all(&self, new: &[(RunId, NewDecision)]) -> Result<(), StoreError> {
        self.store_decisions(new, ExistingDecision::Keep, None)
    }

    /// Stores the approval of the whole plan of a run, and decisions about calls that wait: all of it, or nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Store::approve_plan`] and [`Store::decide_all`]. After an error, nothing is stored.
    pub fn approve_plan_and_calls(
        &self,
        selector: &str,
        approval: &PlanApproval,
        new: &[(RunId, NewDecision)],
    ) -> Result<(), StoreError> {
        let approval = (selector.to_owned(), approval.clone());
        self.store_decisions(new, ExistingDecision::Keep, Some(approval))
    }

    /// Stores a decision, and replaces an existing one about the same call.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`].
    pub fn replace_decision(&self, selector: &str, new: &NewDecision) -> Result<(), StoreError> {
        let run = self.run(selector)?.id;
        self.store_decisions(&[(run, new.clone())], ExistingDecision::Replace, None)
    }

    /// Returns all decisions about calls of a run, the oldest first.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`].
    pub fn decisions(&self, selector: &str) -> Result<Vec<StoredDecision>, StoreError> {
        self.read(|session| {
            let (run, id) = find(session, selector)?;
            decisions_after(session, run, &id, 0)
        })
    }

    /// Checks that the changed arguments of a decision would store no secret.
    fn check_args(&self, run: &RunId, new: &NewDecision) -> Result<(), StoreError> {
        let Decision::Approve { args: Some(args) } = &new.decision else {
            return Ok(());
        };
        let entries = self
            .entries(run.as_str())?
            .collect::<Result<Vec<Entry>, StoreError>>()?;
        // The latest request, since a step may have asked several times. Only the journal has the original arguments.
        let asked = entries.iter().rev().find_map(|entry| {
            let Record::Asked { at, subject, .. } = &entry.record else {
                return None;
            };
            (**at == *new.at).then_some(subject)
        });
        // A digest of an earlier request matches no open call, so there are no arguments to compare with, and nothing will use
        // the decision.
        let asked = asked.filter(|subject| subject.digest(run, &new.at) == new.digest);
        match asked.map(|subject| subject.check_changed_args(args)) {
            Some(Err(error)) => Err(StoreError::ChangedSecret {
                run: run.clone(),
                at: new.at.to_string(),
                error,
            }),
            _ => Ok(()),
        }
    }

    /// Deletes a decision that the run has consumed, so that the same call can be submitted for approval again.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`].
    pub fn delete_decision(&self, selector: &str, digest: &str) -> Result<(), StoreError> {
        let (selector, digest) = (selector.to_owned(), digest.to_owned());
        self.writer().change(move |session| {
            let (run, _) = find(session, &selector)?;
            session.execute(
                "DELETE FROM decisions WHERE run = ?1 AND call_digest = ?2",
                params![run, digest],
            )?;
            Ok(())
        })
    }

    /// Deletes the decisions that the run with the id `run` has consumed, according to `history`: each decision is used once. A
    /// [leased run](crate::LeasedRun) does so when it is opened as a journal.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`].
    pub fn delete_used_decisions(&self, run: &RunId, history: &History) -> Result<(), StoreError> {
        let stored = self.decisions(run.as_str())?;
        if stored.is_empty() {
            return Ok(());
        }
        // Usually there are no decisions, and the history of a long run need not be searched.
        let used: HashSet<String> = history.used_decisions(run).collect();
        for decision in stored.iter().filter(|stored| used.contains(&stored.digest)) {
            self.delete_decision(run.as_str(), &decision.digest)?;
        }
        Ok(())
    }

    fn store_decisions(
        &self,
        new: &[(RunId, NewDecision)],
        existing: ExistingDecision,
        approval: Option<(String, PlanApproval)>,
    ) -> Result<(), StoreError> {
        let mut rows = Vec::with_capacity(new.len());
        for (run, new) in new {
            // Checked outside of the change: this reads the whole journal, which would keep the writer thread busy.
            self.check_args(run, new)?;
            let row = DecisionRow::encode(new).map_err(StoreError::Format)?;
            rows.push((run.clone(), new.at.to_string(), row));
        }
        self.writer().change(move |session| {
            for (run, at, row) in rows {
                let (number, id) = find(session, run.as_str())?;
                if let ExistingDecision::Replace = existing {
                    // In the same transaction as the insertion: a process that polls in between would see no decision.
                    row.delete_existing(session, number)?;
                }
                // Several people may decide at once. The first decision wins, and the others get an error that names its author.
                if !row.insert(session, number)? {
                    let by = row.existing_by(session, number)?;
                    return Err(QueryError::Store(StoreError::Decided { run: id, at, by }));
                }
            }
            // After the decisions: if one of them is refused, the person has not seen the current state, and the approval must
            // fail as well.
            match approval {
                Some((run, approval)) => approval.insert(session, &run),
                None => Ok(()),
            }
        })
    }
}

/// The treatment of an existing decision about the same call.
#[derive(Clone, Copy)]
enum ExistingDecision {
    Keep,
    Replace,
}

/// A row of the table `decisions`.
#[derive(Clone)]
pub(crate) struct DecisionRow {
    pub(crate) address: String,
    pub(crate) digest: String,
    pub(crate) approved: bool,
    pub(crate) args: Option<String>,
    pub(crate) because: Option<String>,
    pub(crate) by: Option<String>,
    pub(crate) decided_ns: i64,
}

impl DecisionRow {
    fn encode(new: &NewDecision) -> Result<Self, String> {
        let (approved, args, because) = match &new.decision {
            Decision::Approve { args } => (true, args.as_ref().map(value_json).transpose()?, None),
            Decision::Reject { because } => (false, None, because.clone()),
            // `Later` leaves the question open, so there is nothing that another process could apply.
            Decision::Later => return Err("a deferred call has no decision".to_owned()),
        };
        let address = serde_json::to_string(&AddressV1::encode(&new.at));
        Ok(Self {
            address: address.map_err(|error| error.to_string())?,
            digest: new.digest.clone(),
            approved,
            args,
            because,
            by: new.by.clone(),
            decided_ns: to_nanos(new.decided),
        })
    }

    /// Returns the person who made the existing decision about the same call.
    fn existing_by(
        &self,
        session: &dyn SqlSession,
        run: i64,
    ) -> Result<Option<String>, QueryError> {
        let row = session.single(
            "SELECT decided_by FROM decisions WHERE run = ?1 AND address = ?2 AND call_digest = ?3",
            params![run, self.address, self.digest],
            |row| row.get(0),
        )?;
        Ok(row)
    }

    fn delete_existing(&self, session: &dyn SqlSession, run: i64) -> Result<(), QueryError> {
        session.execute(
            "DELETE FROM decisions WHERE run = ?1 AND address = ?2 AND call_digest = ?3",
            params![run, self.address, self.digest],
        )?;
        Ok(())
    }

    /// Inserts the row, and returns false if one about the same call exists.
    pub(crate) fn insert(&self, session: &dyn SqlSession, run: i64) -> Result<bool, QueryError> {
        let added = session
            // The database decides about duplicates, since a process could insert between a query and an insertion.
            .execute("INSERT INTO decisions (run, address, call_digest, approved, args, because, decided_by, decided_ns)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING", params![
                run,
                self.address,
                self.digest,
                self.approved,
                self.args,
                self.because,
                self.by,
                self.decided_ns,
            ])?;
        Ok(added == 1)
    }

    /// Fails if the row cannot be decoded.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.clone().decode(0).map(drop)
    }

    fn decode(self, number: i64) -> Result<StoredDecision, String> {
        let address: AddressV1 =
            serde_json::from_str(&self.address).map_err(|error| error.to_string())?;
        let args = self.args.as_deref().map(parse_value).transpose()?;
        Ok(StoredDecision {
            number,
            at: address.decode()?,
            digest: self.digest,
            decision: if self.approved {
                Decision::Approve { args }
            } else {
                Decision::Reject {
                    because: self.because,
                }
            },
            by: self.by,
            decided: from_nanos(self.decided_ns),
        })
    }
}

/// Returns the decisions about calls of a run with a number above `number`, in order.
fn decisions_after(
    session: &dyn SqlSession,
    run: i64,
    id: &RunId,
    number: i64,
) -> Result<Vec<StoredDecision>, QueryError> {
    let rows = rows_after(session, run, number)?;
    let decisions = rows.into_iter().map(|(number, row)| {
        row.decode(number).map_err(|reason| {
            let reason = format!("a decision about it is invalid: {reason}");
            unreadable(id, &reason).into()
        })
    });
    decisions.collect()
}

/// Returns the rows of decisions about calls of a run with a number above `number`, in order.
pub(crate) fn rows_after(
    session: &dyn SqlSession,
    run: i64,
    number: i64,
) -> Result<Vec<(i64, DecisionRow)>, QueryError> {
    session.rows(
        "SELECT number, address, call_digest, approved, args, because, decided_by, decided_ns
         FROM decisions WHERE run = ?1 AND ?2 < number ORDER BY number",
        params![run, number],
        |row| {
            let decision = DecisionRow {
                address: row.get(1)?,
                digest: row.get(2)?,
                approved: row.get(3)?,
                args: row.get(4)?,
                because: row.get(5)?,
                by: row.get(6)?,
                decided_ns: row.get(7)?,
            };
            Ok((row.get(0)?, decision))
        },
    )
}

/// A watcher for decisions about calls of one run, made by any process.
#[derive(Debug)]
pub struct DecisionWatcher(NewsWatcher<DecisionReader>);

/// A reader of the decisions about calls of one run.
#[derive(Debug)]
struct DecisionReader {
    store: Store,
    run: i64,
    id: RunId,
    /// The number of the last decision that was returned.
    last: i64,
}

impl NewsReader for DecisionReader {
    type Item = StoredDecision;

    /// A hundred runs may wait beside one that stores entries all the time, and a person does not notice a tenth of a second.
    const PAUSE: Duration = Duration::from_millis(75);

    fn read(&mut self) -> (Vec<StoredDecision>, Option<QueryError>) {
        let (run, id, last) = (self.run, &self.id, self.last);
        match self
            .store
            .query(|session| decisions_after(session, run, id, last))
        {
            Ok(new) => {
                // Numbers only grow, so a decision that replaces another one is returned as well.
                self.last = new.last().map_or(last, |newest| newest.number);
                (new, None)
            }
            Err(error) => (Vec::new(), Some(error)),
        }
    }
}

impl Store {
    /// Watches for decisions about calls of a run. The existing ones are returned first.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`].
    pub fn watch_decisions(&self, selector: &str) -> Result<DecisionWatcher, StoreError> {
        let (run, id) = self.read(|session| find(session, selector))?;
        let reader = DecisionReader {
            store: self.clone(),
            run,
            id,
            // From the first decision on, since one may have been stored before the run began to wait.
            last: 0,
        };
        Ok(DecisionWatcher(NewsWatcher::new(
            self.watch_changes()?,
            self.path(),
            reader,
        )))
    }
}

impl DecisionWatcher {
    /// Waits for new decisions, and returns at least one, in the order in which they were made. Cancel-safe. It has to be called in
    /// a tokio runtime with a clock.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`] and [`StoreError::Format`].
    pub async fn next(&mut self) -> Result<Vec<StoredDecision>, StoreError> {
        self.0.next().await
    }
}

/// A watcher for the journal entries of one run, written by any process.
#[derive(Debug)]
pub struct EntryWatcher(NewsWatcher<JournalEntries>);

impl NewsReader for JournalEntries {
    type Item = Entry;

    const PAUSE: Duration = Duration::ZERO;

    fn read(&mut self) -> (Vec<Entry>, Option<QueryError>) {
        self.read_new()
    }
}

impl Store {
    /// Watches for the journal entries of a run, from the first one on.
    ///
    /// # Errors
    ///
    /// Those of [`Store::entries`].
    pub fn watch_entries(&self, selector: &str) -> Result<EntryWatcher, StoreError> {
        self.entries(selector)?.watch()
    }
}

impl JournalEntries {
    /// Watches for the entries that were not read yet.
    ///
    /// # Errors
    ///
    /// Those of [`Store::watch_changes`].
    pub fn watch(self) -> Result<EntryWatcher, StoreError> {
        let changes = self.store().watch_changes()?;
        let location = self.store().path().to_owned();
        Ok(EntryWatcher(NewsWatcher::new(changes, &location, self)))
    }
}

impl EntryWatcher {
    /// Waits for new entries, and returns at least one, in order. Cancel-safe. It has to be called in a tokio runtime with a clock.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`] and [`StoreError::Format`].
    pub async fn next(&mut self) -> Result<Vec<Entry>, StoreError> {
        self.0.next().await
    }
}
