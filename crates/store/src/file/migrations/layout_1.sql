-- Runs. `key` stands for the run in other tables and is never used again; times are nanoseconds since 1970.
CREATE TABLE runs (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    format TEXT NOT NULL,
    plan TEXT,
    digest TEXT NOT NULL,
    dialect TEXT,
    created_ns INTEGER NOT NULL,
    -- How it ended; null while it has not.
    status TEXT,
    -- How many steps its plan has; how many have ended for good, how many calls were sent, how long it took: these
    -- three count as long as it has ended.
    steps INTEGER NOT NULL,
    done INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL DEFAULT 0,
    duration_ns INTEGER NOT NULL DEFAULT 0,
    header TEXT NOT NULL
) STRICT;
CREATE INDEX runs_by_time ON runs (created_ns);

-- What the runs remember, in the format that the run names.
CREATE TABLE entries (
    run INTEGER NOT NULL,
    number INTEGER NOT NULL,
    at_ns INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

-- Large values, each once, and which runs speak of them.
CREATE TABLE blobs (
    digest BLOB NOT NULL UNIQUE,
    json TEXT NOT NULL
) STRICT;
CREATE TABLE uses (
    run INTEGER NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (run, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX uses_by_digest ON uses (digest);

-- What people have decided about calls, from whichever process.
CREATE TABLE decisions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER NOT NULL,
    address TEXT NOT NULL,
    args_digest TEXT NOT NULL,
    approved INTEGER NOT NULL,
    args TEXT,
    because TEXT,
    decided_by TEXT,
    decided_ns INTEGER NOT NULL,
    UNIQUE (run, address, args_digest)
) STRICT;

-- Plans that were saved, all versions.
CREATE TABLE plans (
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    dialect TEXT,
    inputs TEXT NOT NULL,
    saved_ns INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (name, version)
) STRICT;

-- How long calls take.
CREATE TABLE durations (
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    mean_ns INTEGER NOT NULL,
    spread_ns INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (server, tool)
) STRICT, WITHOUT ROWID;
