-- Runs. `key` stands for the run in other tables and is never used again; times are nanoseconds since 1970.
CREATE TABLE runs (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    format TEXT NOT NULL,
    plan TEXT COLLATE "C",
    digest TEXT NOT NULL,
    dialect TEXT,
    created_ns BIGINT NOT NULL,
    -- How it ended; null while it has not.
    status TEXT COLLATE "C",
    -- The number of steps of the plan; the ended steps, the sent calls and the duration count once the run has ended.
    steps BIGINT NOT NULL,
    done BIGINT NOT NULL DEFAULT 0,
    calls BIGINT NOT NULL DEFAULT 0,
    duration_ns BIGINT NOT NULL DEFAULT 0,
    header TEXT NOT NULL,
    -- How many entries came with the file that the run was imported from; null for a run that began in this store.
    imported BIGINT
);
CREATE INDEX runs_by_time ON runs (created_ns);

-- The leases of runs. `token` grows with each lease of a run, so that an earlier holder can write nothing more.
CREATE TABLE leases (
    run TEXT COLLATE "C" PRIMARY KEY,
    token BIGINT NOT NULL,
    pid BIGINT NOT NULL,
    host TEXT NOT NULL,
    since_ns BIGINT NOT NULL,
    expires TIMESTAMPTZ NOT NULL
);

-- The journals of the runs, in the format that the run names. `checksum` is the first eight bytes of a SHA-256 over the other
-- columns.
CREATE TABLE entries (
    run BIGINT NOT NULL,
    number BIGINT NOT NULL,
    at_ns BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    body TEXT NOT NULL,
    checksum BIGINT,
    PRIMARY KEY (run, number)
);

-- Large values, each once, and the runs that refer to them.
CREATE TABLE blobs (
    digest BYTEA PRIMARY KEY,
    json TEXT NOT NULL
);
CREATE TABLE uses (
    run BIGINT NOT NULL,
    digest BYTEA NOT NULL,
    PRIMARY KEY (run, digest)
);
CREATE INDEX uses_by_digest ON uses (digest);

-- The decisions of people about calls, from whichever process.
CREATE TABLE decisions (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run BIGINT NOT NULL,
    address TEXT COLLATE "C" NOT NULL,
    call_digest TEXT COLLATE "C" NOT NULL,
    approved BIGINT NOT NULL,
    args TEXT,
    because TEXT,
    decided_by TEXT,
    decided_ns BIGINT NOT NULL,
    UNIQUE (run, address, call_digest)
);

-- The whole plans that people have approved, for the runs of these plans alone.
CREATE TABLE plan_approvals (
    run BIGINT NOT NULL,
    consent TEXT COLLATE "C" NOT NULL,
    approved_by TEXT,
    approved_ns BIGINT NOT NULL,
    PRIMARY KEY (run, consent)
);

-- Requests to the process that drives a run to cancel it. Another process that drives the run later is another holder.
CREATE TABLE cancel_requests (
    run BIGINT PRIMARY KEY,
    holder_pid BIGINT NOT NULL,
    holder_since_ns BIGINT NOT NULL,
    requested_by TEXT,
    requested_ns BIGINT NOT NULL
);

-- Saved plans, all versions.
CREATE TABLE plans (
    id TEXT COLLATE "C" NOT NULL UNIQUE,
    name TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    dialect TEXT,
    inputs TEXT NOT NULL,
    saved_ns BIGINT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (name, version)
);

-- The learned durations of calls.
CREATE TABLE durations (
    server TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    mean_ns BIGINT NOT NULL,
    spread_ns BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    PRIMARY KEY (server, tool)
);

-- The settings of the store as a whole, which no export contains, such as the key of seals.
CREATE TABLE settings (
    name TEXT COLLATE "C" PRIMARY KEY,
    value BYTEA NOT NULL
);

-- Servers with pinned tools, by name and identity. `accepted` is 0 while the identity of a known name waits for a person.
CREATE TABLE tool_servers (
    key BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    server TEXT COLLATE "C" NOT NULL,
    origin TEXT COLLATE "C" NOT NULL,
    accepted BIGINT NOT NULL,
    first_seen_ns BIGINT NOT NULL,
    UNIQUE (server, origin)
);

-- Their tools. `digest` is the pinned definition, `seen_digest` the latest one, if it differs. `is_new` is 1 for a tool that a
-- known server added, until a person accepts it.
CREATE TABLE tools (
    server BIGINT NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    pinned_ns BIGINT NOT NULL,
    is_new BIGINT NOT NULL,
    seen_digest TEXT COLLATE "C",
    seen_ns BIGINT,
    PRIMARY KEY (server, tool)
);
CREATE INDEX tools_that_changed ON tools (server) WHERE is_new = 1 OR seen_digest IS NOT NULL;

-- The definitions of tools as JSON, by digest.
CREATE TABLE tool_definitions (
    digest TEXT COLLATE "C" PRIMARY KEY,
    json TEXT NOT NULL
);

-- What people have accepted. `tool` is null for the identity of a server.
CREATE TABLE acceptances (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    server TEXT NOT NULL,
    origin TEXT NOT NULL,
    tool TEXT,
    digest TEXT NOT NULL,
    accepted_by TEXT,
    accepted_ns BIGINT NOT NULL
);

-- The structure of the answers that tools gave, by the digest of their definition: names and types with counts, no values.
CREATE TABLE seen_answers (
    digest TEXT COLLATE "C" PRIMARY KEY,
    tool TEXT NOT NULL,
    json TEXT NOT NULL,
    seen_ns BIGINT NOT NULL
);
