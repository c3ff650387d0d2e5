-- The calls that clients of a gateway made without a plan, by session. `answer` and `error` are null for an answer that
-- is too large, and arguments that are too large are `null`. `is_exposed` is 1 if the client had read untrusted data before.
CREATE TABLE gateway_calls (
    key INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    client TEXT NOT NULL,
    began_ns INTEGER NOT NULL,
    ended_ns INTEGER NOT NULL,
    tool TEXT NOT NULL,
    args TEXT NOT NULL,
    answer TEXT,
    error TEXT,
    is_exposed INTEGER NOT NULL
) STRICT;
CREATE INDEX gateway_calls_of_sessions ON gateway_calls (session, began_ns);
CREATE INDEX gateway_calls_by_age ON gateway_calls (began_ns);
CREATE INDEX gateway_calls_of_clients ON gateway_calls (client, ended_ns);
