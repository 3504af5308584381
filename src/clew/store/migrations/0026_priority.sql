-- Which threads go first in the queue: high, normal or low.
ALTER TABLE threads ADD COLUMN priority TEXT NOT NULL DEFAULT 'normal';
CREATE INDEX threads_priority ON threads (id) WHERE priority <> 'normal';
