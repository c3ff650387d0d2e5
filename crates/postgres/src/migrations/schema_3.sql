-- The client whose plan a run is, so that its limit of plans in flight holds over all processes.
ALTER TABLE leases ADD COLUMN client TEXT COLLATE "C";
CREATE INDEX leases_by_client ON leases (client) WHERE client IS NOT NULL;

-- The requests of clients over all processes: `full_us` is the time, in microseconds of the server's clock, at which the client may
-- send a whole burst again.
CREATE TABLE client_rates (
    client TEXT COLLATE "C" PRIMARY KEY,
    full_us BIGINT NOT NULL
);
