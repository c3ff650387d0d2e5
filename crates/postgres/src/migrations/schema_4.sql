-- Each gateway looks once a second for runs that have not ended: they are few, however many runs have.
CREATE INDEX runs_that_are_open ON runs (created_ns, key) WHERE status IS NULL;
