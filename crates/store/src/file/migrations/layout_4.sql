-- Servers whose tools are pinned, by name and identity. `accepted` is 0 while the identity of a known name waits for a person.
CREATE TABLE tool_servers (
    key INTEGER PRIMARY KEY,
    server TEXT NOT NULL,
    origin TEXT NOT NULL,
    accepted INTEGER NOT NULL,
    first_seen_ns INTEGER NOT NULL,
    UNIQUE (server, origin)
) STRICT;

-- Their tools. `digest` is the pinned definition, `seen_digest` the latest one, where it differs. `is_new` is 1 for a tool
-- that a known server added, until a person accepts it.
CREATE TABLE tools (
    server INTEGER NOT NULL,
    tool TEXT NOT NULL,
    digest TEXT NOT NULL,
    pinned_ns INTEGER NOT NULL,
    is_new INTEGER NOT NULL,
    seen_digest TEXT,
    seen_ns INTEGER,
    PRIMARY KEY (server, tool)
) STRICT, WITHOUT ROWID;
CREATE INDEX tools_that_changed ON tools (server) WHERE is_new = 1 OR seen_digest IS NOT NULL;

-- What the definitions say, apart from the rows that are read each time.
CREATE TABLE tool_definitions (
    digest TEXT NOT NULL UNIQUE,
    json TEXT NOT NULL
) STRICT;

-- What people have accepted. `tool` is null for the identity of a server.
CREATE TABLE acceptances (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    server TEXT NOT NULL,
    origin TEXT NOT NULL,
    tool TEXT,
    digest TEXT NOT NULL,
    accepted_by TEXT,
    accepted_ns INTEGER NOT NULL
) STRICT;
