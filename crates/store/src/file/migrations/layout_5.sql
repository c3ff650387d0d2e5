-- The first eight bytes of a SHA-256 over the other columns; null for entries of earlier versions.
ALTER TABLE entries ADD COLUMN checksum INTEGER;
