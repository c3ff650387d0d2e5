-- How many entries of a run came with the file that it was imported from; null for a run that began in this store.
ALTER TABLE runs ADD COLUMN imported INTEGER;
