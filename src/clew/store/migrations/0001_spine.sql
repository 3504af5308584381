-- The spine. Times are integer milliseconds, JSON is text, and $SERIAL is the dialect's own growing key,
-- so that the same file runs on SQLite and on PostgreSQL.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE threads (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    title TEXT NOT NULL,
    runtime TEXT NOT NULL,
    workspace TEXT NOT NULL,
    model TEXT,
    effort TEXT,
    head TEXT,
    created_at BIGINT NOT NULL,
    completed_at BIGINT,
    suspended_by TEXT,
    suspend_message TEXT,
    notify_target TEXT,
    forked_from TEXT,
    last_turn TEXT,
    next_seq BIGINT NOT NULL DEFAULT 1024
);
-- The two views, and the two states that are rare in them: each list is read off one of these, newest first.
CREATE INDEX threads_active ON threads (id) WHERE status IN ('idle', 'suspended');
CREATE INDEX threads_history ON threads (id) WHERE status IN ('completed', 'cancelled');
CREATE INDEX threads_suspended ON threads (id) WHERE status = 'suspended';
CREATE INDEX threads_cancelled ON threads (id) WHERE status = 'cancelled';

-- History. A node is written once and never changed.
CREATE TABLE nodes (
    hash TEXT PRIMARY KEY,
    type TEXT NOT NULL,
    prev TEXT,
    content TEXT NOT NULL
);

CREATE TABLE turns (
    id TEXT PRIMARY KEY,
    thread TEXT NOT NULL,
    seq BIGINT NOT NULL,
    state TEXT NOT NULL,
    origin TEXT NOT NULL,
    request TEXT NOT NULL,
    surface TEXT,
    address TEXT,
    owner TEXT,
    generation BIGINT NOT NULL DEFAULT 0,
    attempts BIGINT NOT NULL DEFAULT 0,
    continues TEXT,
    stop_asked BIGINT NOT NULL DEFAULT 0,
    runtime TEXT,
    runtime_turn TEXT,
    request_node TEXT,
    node TEXT,
    queued_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    problem_code TEXT,
    problem_message TEXT,
    usage TEXT
);
CREATE UNIQUE INDEX turns_in_order ON turns (thread, seq);
CREATE INDEX turns_queued ON turns (thread, seq) WHERE state = 'queued';
-- One turn at a time per thread, also if a program should ever forget it.
CREATE UNIQUE INDEX turns_live ON turns (thread) WHERE state IN ('running', 'waiting');

-- What an open turn has said and done so far. Folded into the turn's node, and gone, when it ends.
CREATE TABLE items (
    turn TEXT NOT NULL,
    item TEXT NOT NULL,
    kind TEXT NOT NULL,
    phase TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    outcome TEXT,
    exit_code BIGINT,
    folder TEXT,
    position BIGINT NOT NULL,
    PRIMARY KEY (turn, item)
);

-- What arrived, and what became of it.
CREATE TABLE inbox (
    surface TEXT NOT NULL,
    address TEXT NOT NULL,
    message_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    fate TEXT NOT NULL,
    thread TEXT,
    turn TEXT,
    words TEXT NOT NULL,
    received_at BIGINT NOT NULL,
    PRIMARY KEY (surface, address, message_id)
);

CREATE TABLE steers (
    surface TEXT NOT NULL,
    address TEXT NOT NULL,
    message_id TEXT NOT NULL,
    turn TEXT NOT NULL,
    thread TEXT NOT NULL,
    message TEXT NOT NULL,
    state TEXT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (surface, address, message_id)
);
CREATE INDEX steers_open ON steers (turn, seq) WHERE state IN ('offered', 'sent');

CREATE TABLE deliveries (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    thread TEXT NOT NULL,
    turn TEXT,
    surface TEXT,
    address TEXT,
    body TEXT NOT NULL,
    note TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    due_at BIGINT NOT NULL,
    owner TEXT,
    generation BIGINT NOT NULL DEFAULT 0,
    in_doubt BIGINT NOT NULL DEFAULT 0,
    first_sent_at BIGINT,
    message_id TEXT,
    sent_at BIGINT,
    error TEXT,
    created_at BIGINT NOT NULL
);
CREATE INDEX deliveries_by_thread ON deliveries (thread, created_at);
CREATE INDEX deliveries_due ON deliveries (surface, due_at) WHERE state = 'pending';
CREATE INDEX deliveries_open ON deliveries (thread, surface, address) WHERE state IN ('pending', 'sending');
CREATE INDEX deliveries_sending ON deliveries (id) WHERE state = 'sending';
CREATE INDEX deliveries_unsent ON deliveries (id) WHERE state IN ('pending', 'failed') AND kind = 'final';

CREATE TABLE bindings (
    surface TEXT NOT NULL,
    address TEXT NOT NULL,
    thread TEXT NOT NULL,
    bound_at BIGINT NOT NULL,
    PRIMARY KEY (surface, address)
);

-- What a runtime needs to come back to a thread: one row each, so that no runtime touches another's memory.
CREATE TABLE continuity (
    thread TEXT NOT NULL,
    runtime TEXT NOT NULL,
    data TEXT,
    fork_data TEXT,
    fork_turn TEXT,
    PRIMARY KEY (thread, runtime)
);

-- What happened, in order; feeds watchers and can be pruned. Content lives in nodes.
CREATE TABLE log (
    seq $SERIAL,
    thread TEXT NOT NULL,
    turn TEXT,
    kind TEXT NOT NULL,
    data TEXT NOT NULL,
    at BIGINT NOT NULL
);
CREATE INDEX log_by_thread ON log (thread, seq);

CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);
