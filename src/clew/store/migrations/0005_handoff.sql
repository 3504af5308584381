-- Moving: which place drives a thread, handoffs, and where things go while the person is away.

ALTER TABLE bindings ADD COLUMN drives INTEGER NOT NULL DEFAULT 0;
UPDATE bindings SET drives = 1 WHERE NOT EXISTS (
    SELECT 1 FROM bindings o WHERE o.thread = bindings.thread AND (
        o.bound_at > bindings.bound_at
        OR (o.bound_at = bindings.bound_at AND (o.surface, o.address) > (bindings.surface, bindings.address))
    )
);
CREATE UNIQUE INDEX bindings_driver ON bindings (thread) WHERE drives = 1;

CREATE TABLE handoffs (
    id TEXT PRIMARY KEY,
    thread TEXT NOT NULL,
    surface TEXT NOT NULL,
    address TEXT,                    -- where it goes, or NULL for the home of the surface
    state TEXT NOT NULL,
    owner TEXT,
    generation INTEGER NOT NULL DEFAULT 0,
    asked_by TEXT NOT NULL,
    asked_in TEXT,                   -- the conversation, or NULL for the desk
    say TEXT NOT NULL,
    quiet INTEGER NOT NULL,
    requested_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    opening_at BIGINT,               -- a fresh thread of the platform was asked for, so there may be one
    opened TEXT,                     -- the conversation that it got, as the surface names it
    displaced TEXT,                  -- the thread that was bound there before
    displaced_drove INTEGER NOT NULL DEFAULT 0,
    former TEXT,                     -- the place that drove it before
    ended_at BIGINT,
    error TEXT
);
CREATE UNIQUE INDEX handoffs_open ON handoffs (thread) WHERE state IN ('pending', 'running');

CREATE TABLE away (
    surface TEXT NOT NULL,
    address TEXT NOT NULL,
    since BIGINT NOT NULL
);
