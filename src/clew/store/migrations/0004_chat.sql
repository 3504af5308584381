-- Chat: who may speak where, what a conversation has set for itself, and buttons.

CREATE TABLE people (
    surface TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    added_at BIGINT NOT NULL,
    added_by TEXT NOT NULL,
    PRIMARY KEY (surface, id)
);

CREATE TABLE pairings (
    surface TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    address TEXT NOT NULL,
    code TEXT NOT NULL,
    asked_at BIGINT NOT NULL,
    PRIMARY KEY (surface, id)
);

CREATE TABLE places (
    surface TEXT NOT NULL,
    address TEXT NOT NULL,
    runtime TEXT,
    model TEXT,
    workspace TEXT,
    PRIMARY KEY (surface, address)
);

CREATE TABLE homes (
    surface TEXT PRIMARY KEY,
    address TEXT NOT NULL
);

-- What can be pressed, as JSON.
ALTER TABLE deliveries ADD COLUMN buttons TEXT NOT NULL DEFAULT '[]';
CREATE INDEX deliveries_receipt ON deliveries (surface, address, message_id) WHERE message_id IS NOT NULL;
