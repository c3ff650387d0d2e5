//! Requests of people to the process that drives a run: the approval of its whole plan, and its end.

use std::time::SystemTime;

use planwright_core::PlanConsent;
use planwright_engine::RunId;

use crate::database::{QueryError, SqlSession, params};
use crate::error::{LeaseHolder, StoreError};
use crate::run::find;
use crate::store::Store;
use crate::values::to_nanos;

/// The approval of a whole plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanApproval {
    /// The digest that it is bound to.
    pub consent: PlanConsent,
    /// The person who approved, as free text.
    pub by: Option<String>,
    /// The time of the approval.
    pub approved: SystemTime,
}

impl PlanApproval {
    /// Inserts the approval of the plan of the run `selector`.
    pub(crate) fn insert(
        &self,
        session: &dyn SqlSession,
        selector: &str,
    ) -> Result<(), QueryError> {
        let (run, id) = find(session, selector)?;
        let consent: &str = &self.consent;
        let added = session.execute(
            "INSERT INTO plan_approvals (run, consent, approved_by, approved_ns)
             VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
            params![run, consent, self.by, to_nanos(self.approved)],
        )?;
        // The first approval stands, as with decisions: the error of the second names its author.
        if added == 1 {
            return Ok(());
        }
        let by = session.single(
            "SELECT approved_by FROM plan_approvals WHERE run = ?1 AND consent = ?2",
            params![run, consent],
            |row| row.get(0),
        )?;
        Err(QueryError::Store(StoreError::PlanApproved { run: id, by }))
    }
}

impl Store {
    /// Stores the approval of the whole plan of a run.
    ///
    /// # Errors
    ///
    /// [`StoreError::PlanApproved`] if the plan was approved before; those of [`Store::run`].
    pub fn approve_plan(&self, selector: &str, new: &PlanApproval) -> Result<(), StoreError> {
        self.approve_plan_and_calls(selector, new, &[])
    }

    /// Returns true if a person has approved the plan with this digest for this run.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`].
    pub fn is_plan_approved(&self, run: &RunId, consent: &PlanConsent) -> Result<bool, StoreError> {
        self.read(|session| {
            let (run, _) = find(session, run.as_str())?;
            let consent: &str = consent;
            let sql = "SELECT 1 FROM plan_approvals WHERE run = ?1 AND consent = ?2";
            let found = session.row(sql, params![run, consent], |_| Ok(()))?;
            Ok(found.is_some())
        })
    }

    /// Asks the process that drives a run now to cancel it. Returns that process.
    ///
    /// # Errors
    ///
    /// [`StoreError::Idle`] if no process drives the run, [`StoreError::Leased`] if that process cannot be identified; those of [`Store::run`].
    pub fn request_cancel(
        &self,
        selector: &str,
        by: Option<String>,
        now: SystemTime,
    ) -> Result<LeaseHolder, StoreError> {
        let info = self.run(selector)?;
        let Some(holder) = info.holder else {
            return Err(StoreError::Idle { run: info.id });
        };
        // A request is for one process, so that the next one to resume the run is not cancelled by it; this one cannot be named.
        if holder.pid == 0 {
            return Err(StoreError::Leased {
                run: info.id,
                holder,
            });
        }
        let request = CancelRequest {
            holder_pid: holder.pid,
            holder_since_ns: to_nanos(holder.since),
            requested_ns: to_nanos(now),
        };
        self.store_cancel_request(info.id, request, by)?;
        Ok(holder)
    }

    /// Asks the next process that drives a run to cancel it without a further call. It is for a run that no process drives now; one
    /// that has ended is not affected.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`].
    pub fn request_cancel_at_resume(
        &self,
        selector: &str,
        by: Option<String>,
        now: SystemTime,
    ) -> Result<(), StoreError> {
        let request = CancelRequest {
            holder_pid: ANY_HOLDER,
            holder_since_ns: 0,
            requested_ns: to_nanos(now),
        };
        self.store_cancel_request(self.run(selector)?.id, request, by)
    }

    fn store_cancel_request(
        &self,
        id: RunId,
        request: CancelRequest,
        by: Option<String>,
    ) -> Result<(), StoreError> {
        self.writer().change(move |session| {
            let (run, _) = find(session, id.as_str())?;
            session.execute(
                "INSERT INTO cancel_requests (run, holder_pid, holder_since_ns, requested_by, requested_ns)
                 VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (run) DO UPDATE SET holder_pid = excluded.holder_pid,
                     holder_since_ns = excluded.holder_since_ns, requested_by = excluded.requested_by,
                     requested_ns = excluded.requested_ns",
                params![run, request.holder_pid, request.holder_since_ns, by, request.requested_ns],
            )?;
            Ok(())
        })
    }

    /// Returns true if the process `holder`, which drives a run, was asked to cancel it.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`].
    pub fn is_cancel_requested(
        &self,
        run: &RunId,
        holder: &LeaseHolder,
    ) -> Result<bool, StoreError> {
        let pending = self.pending_requests(run, holder, None)?;
        Ok(pending.is_cancelled)
    }

    /// Returns the requests to the process `holder`, which drives a run. `consent` is the digest of its plan, or `None` if the plan
    /// cannot be approved as a whole.
    ///
    /// # Errors
    ///
    /// Those of [`Store::run`].
    pub fn pending_requests(
        &self,
        run: &RunId,
        holder: &LeaseHolder,
        consent: Option<&PlanConsent>,
    ) -> Result<PendingRequests, StoreError> {
        let consent: Option<&str> = consent.map(|consent| &**consent);
        // The system gives the id of a process to others later, so the start of the lease is compared as well.
        let since = to_nanos(holder.since);
        self.read(|session| {
            let found = session.row(
                "SELECT EXISTS (SELECT 1 FROM cancel_requests WHERE run = key
                     AND (holder_pid = ?2 OR holder_pid = ?3 AND holder_since_ns = ?4)),
                 EXISTS (SELECT 1 FROM plan_approvals WHERE run = key AND consent = ?5)
                 FROM runs WHERE id = ?1",
                params![run.as_str(), ANY_HOLDER, holder.pid, since, consent],
                |row| {
                    Ok(PendingRequests {
                        is_cancelled: row.get(0)?,
                        is_plan_approved: row.get(1)?,
                    })
                },
            )?;
            found.ok_or_else(|| {
                QueryError::Store(StoreError::Missing {
                    what: "run",
                    selector: run.to_string(),
                })
            })
        })
    }
}

/// The requests to the process that drives a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingRequests {
    /// True if the process was asked to cancel the run.
    pub is_cancelled: bool,
    /// True if a person has approved the whole plan.
    pub is_plan_approved: bool,
}

/// The process id in a request to any process that drives the run. No process has it.
const ANY_HOLDER: u32 = 0;

/// A request to cancel a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct CancelRequest {
    holder_pid: u32,
    holder_since_ns: i64,
    requested_ns: i64,
}

/// Returns the last request to cancel a run.
pub(super) fn cancel_request(
    session: &dyn SqlSession,
    run: i64,
) -> Result<Option<CancelRequest>, QueryError> {
    session.row(
        "SELECT holder_pid, holder_since_ns, requested_ns FROM cancel_requests WHERE run = ?1",
        params![run],
        |row| {
            Ok(CancelRequest {
                holder_pid: row.get(0)?,
                holder_since_ns: row.get(1)?,
                requested_ns: row.get(2)?,
            })
        },
    )
}

impl CancelRequest {
    /// Deletes this request, but no later one.
    pub(super) fn delete(self, session: &dyn SqlSession, run: i64) -> Result<(), QueryError> {
        session.execute(
            // A request that was made since must stay.
            "DELETE FROM cancel_requests WHERE run = ?1 AND holder_pid = ?2 AND holder_since_ns = ?3 AND requested_ns = ?4",
            params![run, self.holder_pid, self.holder_since_ns, self.requested_ns],
        )?;
        Ok(())
    }
}
