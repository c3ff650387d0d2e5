-- The structure of the answers that tools gave, by the digest of their definition: names and types with counts, no values.
CREATE TABLE seen_answers (
    digest TEXT NOT NULL PRIMARY KEY,
    tool TEXT NOT NULL,
    json TEXT NOT NULL,
    seen_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
