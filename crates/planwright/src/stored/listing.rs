//! Stored runs as documents list them.

use planwright_store::{RunInfo, RunState};

use crate::format::RunListingV1;

/// Returns a run as documents list it.
pub fn listing(info: &RunInfo) -> RunListingV1 {
    let holder = info.holder.as_ref();
    // The name of a holder without a lock file is unknown.
    let known = holder.filter(|holder| holder.pid != 0);
    RunListingV1 {
        status: match (holder, info.state) {
            (Some(_), _) => "running",
            (None, RunState::Ended(status)) => status.as_str(),
            (None, RunState::Open) => "interrupted",
        },
        imported: info.imported.is_some(),
        pid: known.map(|holder| holder.pid),
        host: known.map(|holder| holder.host.clone()),
        plan: info.plan.clone(),
        digest: info.digest.clone(),
        dialect: info.dialect.clone(),
        steps: info.steps,
        // A step that was retried has ended more than once.
        done: info.done.min(info.steps),
        calls: info.calls,
        ..RunListingV1::new(info.id.clone(), info.created, info.duration)
    }
}
