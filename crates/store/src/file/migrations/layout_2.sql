-- A decision is about the digest of a whole call, not of its arguments alone. Digests of arguments equal none of these, so that
-- decisions of before are asked for anew.
ALTER TABLE decisions RENAME COLUMN args_digest TO call_digest;

-- What belongs to the store as a whole and leaves it with no export, such as the key of seals.
CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;
