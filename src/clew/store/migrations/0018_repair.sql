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
UPDATE steers SET address = substr(address, 1, (length(address) - 1) / 2)
WHERE surface = 'webhook' AND substr(address, 1, (length(address) - 1) / 2) NOT LIKE '%/%'
    AND address = substr(address, 1, (length(address) - 1) / 2) || '/' || substr(address, 1, (length(address) - 1) / 2)
    AND NOT EXISTS (
        SELECT 1 FROM steers o WHERE o.surface = 'webhook' AND o.message_id = steers.message_id
            AND o.address = substr(steers.address, 1, (length(steers.address) - 1) / 2)
    );
UPDATE places SET address = substr(address, 1, (length(address) - 1) / 2)
WHERE surface = 'webhook' AND substr(address, 1, (length(address) - 1) / 2) NOT LIKE '%/%'
    AND address = substr(address, 1, (length(address) - 1) / 2) || '/' || substr(address, 1, (length(address) - 1) / 2)
    AND NOT EXISTS (
        SELECT 1 FROM places o WHERE o.surface = 'webhook'
            AND o.address = substr(places.address, 1, (length(places.address) - 1) / 2)
    );
UPDATE homes SET address = substr(address, 1, (length(address) - 1) / 2)
WHERE surface = 'webhook' AND substr(address, 1, (length(address) - 1) / 2) NOT LIKE '%/%'
    AND address = substr(address, 1, (length(address) - 1) / 2) || '/' || substr(address, 1, (length(address) - 1) / 2);
UPDATE away SET address = substr(address, 1, (length(address) - 1) / 2)
WHERE surface = 'webhook' AND substr(address, 1, (length(address) - 1) / 2) NOT LIKE '%/%'
    AND address = substr(address, 1, (length(address) - 1) / 2) || '/' || substr(address, 1, (length(address) - 1) / 2);
UPDATE handoffs SET address = substr(address, 1, (length(address) - 1) / 2)
WHERE surface = 'webhook' AND substr(address, 1, (length(address) - 1) / 2) NOT LIKE '%/%'
    AND address = substr(address, 1, (length(address) - 1) / 2) || '/' || substr(address, 1, (length(address) - 1) / 2);
UPDATE handoffs SET opened = substr(opened, 1, (length(opened) - 1) / 2)
WHERE surface = 'webhook' AND substr(opened, 1, (length(opened) - 1) / 2) NOT LIKE '%/%'
    AND opened = substr(opened, 1, (length(opened) - 1) / 2) || '/' || substr(opened, 1, (length(opened) - 1) / 2);
-- These hold the surface too, as webhook:NAME/NAME.
UPDATE handoffs SET asked_in = 'webhook:' || substr(asked_in, 9, (length(asked_in) - 9) / 2)
WHERE asked_in LIKE 'webhook:%' AND substr(asked_in, 9, (length(asked_in) - 9) / 2) NOT LIKE '%/%'
    AND asked_in = 'webhook:' || substr(asked_in, 9, (length(asked_in) - 9) / 2)
        || '/' || substr(asked_in, 9, (length(asked_in) - 9) / 2);
UPDATE handoffs SET former = 'webhook:' || substr(former, 9, (length(former) - 9) / 2)
WHERE former LIKE 'webhook:%' AND substr(former, 9, (length(former) - 9) / 2) NOT LIKE '%/%'
    AND former = 'webhook:' || substr(former, 9, (length(former) - 9) / 2)
        || '/' || substr(former, 9, (length(former) - 9) / 2);
UPDATE threads SET notify_target = 'webhook:' || substr(notify_target, 9, (length(notify_target) - 9) / 2)
WHERE notify_target LIKE 'webhook:%' AND substr(notify_target, 9, (length(notify_target) - 9) / 2) NOT LIKE '%/%'
    AND notify_target = 'webhook:' || substr(notify_target, 9, (length(notify_target) - 9) / 2)
        || '/' || substr(notify_target, 9, (length(notify_target) - 9) / 2);
