//! Decisions of people, from whichever process, about calls of runs.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use planwright_engine::event::Address;
use planwright_engine::journal::{Entry, Record};
use planwright_engine::{Decision, History};
use rusqlite::{Connection, Row, params};

use crate::error::{Fault, StoreError};
use crate::format::{AddressV1, parse_value, value_json};
use crate::run::{find, unreadable};
use crate::store::Store;
use crate::times::{from_nanos, to_nanos};

/// A decision about a call.
#[derive(Clone, Debug, PartialEq)]
pub struct NewDecision {
    /// Who wants to call.
    pub at: Arc<Address>,
    /// The [digest](planwright_engine::approval::ApprovalRequest::digest) of the call that was shown. The decision is about this call and no other.
    pub digest: String,
    /// What was decided.
    pub decision: Decision,
    /// Who decided, in words.
    pub by: Option<String>,
    /// When.
    pub decided: SystemTime,
}

/// A decision, as the store has it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredDecision {
    /// Later decisions of a store have higher numbers.
    pub number: i64,
    /// Who wants to call.
    pub at: Arc<Address>,
    /// The [digest](planwright_engine::approval::ApprovalRequest::digest) of the call that it is about.
    pub digest: String,
    /// What was decided.
    pub decision: Decision,
    /// Who decided, in words.
    pub by: Option<String>,
    /// When.
    pub decided: SystemTime,
}

impl Store {
    /// Keeps a decision for whichever process has the run.
    ///
    /// # Errors
    ///
    /// [`StoreError::Decided`] where the same call has been decided about before; [`StoreError::ChangedSecret`] if changed arguments have something
    /// else in place of a secret, or a secret in another place; those of [`Store::run`].
    pub fn decide(&self, selector: &str, new: &NewDecision) -> Result<(), StoreError> {
        self.keep_decision(selector, new, Earlier::Stands)
    }

    /// Keeps a decision in the place of an earlier one about the same call, where there is one.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`].
    pub fn decide_anew(&self, selector: &str, new: &NewDecision) -> Result<(), StoreError> {
        self.keep_decision(selector, new, Earlier::Falls)
    }

    /// All decisions about calls of a run, the oldest first.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`].
    pub fn decisions(&self, selector: &str) -> Result<Vec<StoredDecision>, StoreError> {
        self.read(|connection| {
            let (run, id) = find(connection, selector)?;
            decisions_after(connection, run, &id, 0)
        })
    }

    /// Checks that no secret would be stored with the arguments of a decision.
    fn check_args(&self, selector: &str, new: &NewDecision) -> Result<(), StoreError> {
        let Decision::Approve { args: Some(args) } = &new.decision else {
            return Ok(());
        };
        let run = self.run(selector)?.id;
        let entries = self
            .entries(&run)?
            .collect::<Result<Vec<Entry>, StoreError>>()?;
        let asked = entries.iter().rev().find_map(|entry| match &entry.record {
            Record::Asked { at, subject, .. } if **at == *new.at => Some(subject),
            _ => None,
        });
        let asked = asked.filter(|subject| subject.digest(&run, &new.at) == new.digest);
        match asked.map(|subject| subject.check_changed_args(args)) {
            Some(Err(error)) => Err(StoreError::ChangedSecret {
                run,
                at: new.at.to_string(),
                error,
            }),
            _ => Ok(()),
        }
    }

    /// Forgets a decision that the run has taken in, so that the same question can be asked once more.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`].
    pub fn forget_decision(&self, selector: &str, digest: &str) -> Result<(), StoreError> {
        let (selector, digest) = (selector.to_owned(), digest.to_owned());
        self.writer().change(move |connection| {
            let (run, _) = find(connection, &selector)?;
            connection
                .prepare_cached("DELETE FROM decisions WHERE run = ?1 AND call_digest = ?2")?
                .execute(params![run, digest])?;
            Ok(())
        })
    }

    /// Forgets the decisions that the journal of the run with the id `run` has taken in, as `history` was read from it: each decision
    /// counts once. A [held run](crate::HeldRun) does so when it is opened as a journal.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`].
    pub fn forget_used_decisions(&self, run: &str, history: &History) -> Result<(), StoreError> {
        let stored = self.decisions(run)?;
        if stored.is_empty() {
            return Ok(());
        }
        let used: HashSet<String> = history.used_decisions(run).collect();
        for decision in stored.iter().filter(|stored| used.contains(&stored.digest)) {
            self.forget_decision(run, &decision.digest)?;
        }
        Ok(())
    }

    fn keep_decision(
        &self,
        selector: &str,
        new: &NewDecision,
        earlier: Earlier,
    ) -> Result<(), StoreError> {
        self.check_args(selector, new)?;
        let written = Written::of(new).map_err(StoreError::Format)?;
        let (selector, at) = (selector.to_owned(), new.at.to_string());
        self.writer().change(move |connection| {
            let (run, id) = find(connection, &selector)?;
            if let Earlier::Falls = earlier {
                written.remove_earlier(connection, run)?;
            }
            if written.insert(connection, run)? {
                return Ok(());
            }
            let by = written.by_whom(connection, run)?;
            Err(Fault::Store(StoreError::Decided { run: id, at, by }))
        })
    }
}

/// What becomes of an earlier decision about the same call.
#[derive(Clone, Copy)]
enum Earlier {
    Stands,
    Falls,
}

/// A decision as a row has it.
#[derive(Clone)]
pub(crate) struct Written {
    pub(crate) address: String,
    pub(crate) digest: String,
    pub(crate) approved: bool,
    pub(crate) args: Option<String>,
    pub(crate) because: Option<String>,
    pub(crate) by: Option<String>,
    pub(crate) decided_ns: i64,
}

impl Written {
    fn of(new: &NewDecision) -> Result<Self, String> {
        let (approved, args, because) = match &new.decision {
            Decision::Approve { args } => (true, args.as_ref().map(value_json).transpose()?, None),
            Decision::Reject { because } => (false, None, because.clone()),
            Decision::Later => return Err("to put a call off is no decision".to_owned()),
        };
        let address = serde_json::to_string(&AddressV1::of(&new.at));
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

    /// Who made the earlier decision about the same call.
    fn by_whom(&self, connection: &Connection, run: i64) -> Result<Option<String>, Fault> {
        let row = connection
            .prepare_cached(
                "SELECT decided_by FROM decisions WHERE run = ?1 AND address = ?2 AND call_digest = ?3",
            )?
            .query_row(params![run, self.address, self.digest], |row| row.get(0))?;
        Ok(row)
    }

    fn remove_earlier(&self, connection: &Connection, run: i64) -> Result<(), Fault> {
        connection
            .prepare_cached(
                "DELETE FROM decisions WHERE run = ?1 AND address = ?2 AND call_digest = ?3",
            )?
            .execute(params![run, self.address, self.digest])?;
        Ok(())
    }

    /// Adds the row, unless there is one about the same call.
    pub(crate) fn insert(&self, connection: &Connection, run: i64) -> Result<bool, Fault> {
        let added = connection
            .prepare_cached(
                "INSERT INTO decisions (run, address, call_digest, approved, args, because, decided_by, decided_ns)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
            )?
            .execute(params![
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

    /// Whether it makes sense.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.clone().read(0).map(drop)
    }

    fn read(self, number: i64) -> Result<StoredDecision, String> {
        let address: AddressV1 =
            serde_json::from_str(&self.address).map_err(|error| error.to_string())?;
        let args = self.args.as_deref().map(parse_value).transpose()?;
        Ok(StoredDecision {
            number,
            at: address.read()?,
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

/// The decisions about calls of a run that have a higher number than `number`, in order.
pub(crate) fn decisions_after(
    connection: &Connection,
    run: i64,
    id: &str,
    number: i64,
) -> Result<Vec<StoredDecision>, Fault> {
    let rows = rows_after(connection, run, number)?;
    let read = rows.into_iter().map(|(number, written)| {
        written.read(number).map_err(|reason| {
            let reason = format!("a decision about it makes no sense: {reason}");
            unreadable(id, &reason).into()
        })
    });
    read.collect()
}

/// The rows of decisions about calls of a run that have a higher number than `number`.
pub(crate) fn rows_after(
    connection: &Connection,
    run: i64,
    number: i64,
) -> Result<Vec<(i64, Written)>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT number, address, call_digest, approved, args, because, decided_by, decided_ns
         FROM decisions WHERE run = ?1 AND ?2 < number ORDER BY number",
    )?;
    let rows = statement.query_map([run, number], |row: &Row<'_>| {
        let written = Written {
            address: row.get(1)?,
            digest: row.get(2)?,
            approved: row.get(3)?,
            args: row.get(4)?,
            because: row.get(5)?,
            by: row.get(6)?,
            decided_ns: row.get(7)?,
        };
        Ok((row.get(0)?, written))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
