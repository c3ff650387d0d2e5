-- The tokens of leases. One sequence for all runs: the row of a lease that has ended is deleted, and no later lease has its token.
CREATE SEQUENCE lease_tokens;
SELECT setval('lease_tokens', (SELECT coalesce(max(token), 0) + 1 FROM leases));
DELETE FROM leases WHERE expires <= clock_timestamp();
