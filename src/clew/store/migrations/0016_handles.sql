-- Short names of threads. Those of older threads are made by `name_older_threads`.
ALTER TABLE threads ADD COLUMN handle TEXT;
CREATE UNIQUE INDEX threads_by_handle ON threads (handle);
CREATE TABLE handle_numbers (
    slug TEXT PRIMARY KEY,
    newest BIGINT NOT NULL -- the number of the newest thread with this slug
);
