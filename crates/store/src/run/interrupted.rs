//! Runs that no process drives although they have not ended.

use planwright_core::Value;
use planwright_engine::RunId;
use planwright_format::journal::parse_value;

use crate::database::params;
use crate::error::StoreError;
use crate::run::unreadable;
use crate::store::Store;
use crate::values::run_id;

/// A run that no process drives although it has not ended: its process died, was stopped, or has abandoned it.
#[derive(Clone, Debug, PartialEq)]
pub struct InterruptedRun {
    /// The id.
    pub id: RunId,
    /// The header that the run was [created](crate::NewRun::header) with, or the reason why it cannot be read.
    pub header: Result<Value, StoreError>,
    /// True if its last process was asked to cancel it, and did not.
    pub is_cancel_requested: bool,
}

impl Store {
    /// Returns the runs that no process drives although they have not ended, the oldest first, without imported ones. A run whose
    /// process ends it at this moment may be among them: its state has to be read again once it is leased.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn interrupted_runs(&self) -> Result<Vec<InterruptedRun>, StoreError> {
        self.read(|session| {
            let open: Vec<(RunId, String, bool)> = session.rows(
                "SELECT id, header, EXISTS (SELECT 1 FROM cancel_requests WHERE run = key) FROM runs
                 WHERE status IS NULL AND imported IS NULL ORDER BY created_ns, key",
                params![],
                |row| Ok((run_id(row, 0)?, row.get(1)?, row.get(2)?)),
            )?;
            let ids: Vec<&RunId> = open.iter().map(|(id, _, _)| id).collect();
            let holders = self.database().holders(session, &ids)?;
            let interrupted = open.into_iter().zip(holders);
            let interrupted = interrupted.filter(|(_, holder)| holder.is_none());
            let read = interrupted.map(|((id, header, is_cancel_requested), _)| InterruptedRun {
                header: parse_value(&header).map_err(|reason| unreadable(&id, &reason)),
                id,
                is_cancel_requested,
            });
            Ok(read.collect())
        })
    }
}
