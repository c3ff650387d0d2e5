-- The whole plans that people have approved, for the runs of these plans alone.
CREATE TABLE plan_approvals (
    run INTEGER NOT NULL,
    consent TEXT NOT NULL,
    approved_by TEXT,
    approved_ns INTEGER NOT NULL,
    PRIMARY KEY (run, consent)
) STRICT, WITHOUT ROWID;

-- Requests to the process that drives a run to cancel it. Another process that drives the run later is another holder.
CREATE TABLE cancel_requests (
    run INTEGER NOT NULL PRIMARY KEY,
    holder_pid INTEGER NOT NULL,
    holder_since_ns INTEGER NOT NULL,
    requested_by TEXT,
    requested_ns INTEGER NOT NULL
) STRICT;
