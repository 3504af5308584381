-- Rows that no version can read, which `clew repair` has taken out of their tables, as they were.
CREATE TABLE set_aside (
    seq $SERIAL,
    source TEXT NOT NULL, -- the table
    name TEXT NOT NULL, -- the key of the row
    thread TEXT,
    reason TEXT NOT NULL,
    content TEXT NOT NULL,
    at BIGINT NOT NULL
);

-- The id that the asker of a handoff chose: asked again with it, it is the same handoff.
ALTER TABLE handoffs ADD COLUMN message_id TEXT;
CREATE UNIQUE INDEX handoffs_message ON handoffs (message_id) WHERE message_id IS NOT NULL;

-- A thread with a status that no version knows is listed with the active ones.
DROP INDEX threads_active;
CREATE INDEX threads_active ON threads (id) WHERE status NOT IN ('completed', 'cancelled');

-- A webhook's conversation that is named like the webhook itself is the place of `--notify webhook:NAME`. What was said
-- there had the address NAME/NAME, and has NAME now.
UPDATE bindings SET address = substr(address, 1, (length(address) - 1) / 2)
WHERE surface = 'webhook' AND substr(address, 1, (length(address) - 1) / 2) NOT LIKE '%/%'
    AND address = substr(address, 1, (length(address) - 1) / 2) || '/' || substr(address, 1, (length(address) - 1) / 2)
    AND NOT EXISTS (
        SELECT 1 FROM bindings o WHERE o.surface = 'webhook'
            AND o.address = substr(bindings.address, 1, (length(bindings.address) - 1) / 2)
    );
UPDATE inbox SET address = substr(address, 1, (length(address) - 1) / 2)
WHERE surface = 'webhook' AND substr(address, 1, (length(address) - 1) / 2) NOT LIKE '%/%'
    AND address = substr(address, 1, (length(address) - 1) / 2) || '/' || substr(address, 1, (length(address) - 1) / 2)
    AND NOT EXISTS (
        SELECT 1 FROM inbox o WHERE o.surface = 'webhook' AND o.message_id = inbox.message_id
            AND o.address = substr(inbox.address, 1, (length(inbox.address) - 1) / 2)
    );
UPDATE turns SET address = substr(address, 1, (length(address) - 1) / 2)
WHERE surface = 'webhook' AND substr(address, 1, (length(address) - 1) / 2) NOT LIKE '%/%'
    AND address = substr(address, 1, (length(address) - 1) / 2) || '/' || substr(address, 1, (length(address) - 1) / 2);
UPDATE deliveries SET address = substr(address, 1, (length(address) - 1) / 2)
WHERE surface = 'webhook' AND substr(address, 1, (length(address) - 1) / 2) NOT LIKE '%/%'
    AND address = substr(address, 1, (length(address) - 1) / 2) || '/' || substr(address, 1, (length(address) - 1) / 2);
UPDATE gates SET address = substr(address, 1, (length(address) - 1) / 2)
WHERE surface = 'webhook' AND substr(address, 1, (length(address) - 1) / 2) NOT LIKE '%/%'
    AND address = substr(address, 1, (length(address) - 1) / 2) || '/' || substr(address, 1, (length(address) - 1) / 2);
