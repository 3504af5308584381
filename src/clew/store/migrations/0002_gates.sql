-- Gates: what runtimes asked people, and what became of it; rules that answer for people; a policy per thread.

CREATE TABLE gates (
    id TEXT PRIMARY KEY,
    code TEXT NOT NULL,
    thread TEXT NOT NULL,
    turn TEXT NOT NULL,
    ref TEXT NOT NULL,
    asked TEXT NOT NULL,
    subject TEXT NOT NULL,
    state TEXT NOT NULL,
    warning TEXT NOT NULL,
    answer TEXT,
    answered_by TEXT,
    why TEXT NOT NULL DEFAULT '',
    card TEXT,
    surface TEXT,
    address TEXT,
    carried BIGINT NOT NULL DEFAULT 0,
    reminded BIGINT NOT NULL DEFAULT 0,
    asked_at BIGINT NOT NULL,
    answered_at BIGINT,
    sent_at BIGINT,
    closed_at BIGINT
);
CREATE UNIQUE INDEX gates_ref ON gates (ref);
CREATE INDEX gates_code ON gates (code, asked_at);
CREATE INDEX gates_turn ON gates (turn);
CREATE INDEX gates_thread ON gates (thread, id);
CREATE INDEX gates_card ON gates (card);
CREATE INDEX gates_open ON gates (asked_at, id) WHERE state = 'open';
CREATE INDEX gates_open_in ON gates (thread) WHERE state = 'open';

CREATE TABLE rules (
    id TEXT PRIMARY KEY,
    effect TEXT NOT NULL,
    kind TEXT NOT NULL,
    pattern TEXT NOT NULL,
    scope TEXT NOT NULL,
    place TEXT NOT NULL,
    until BIGINT,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL
);
CREATE INDEX rules_place ON rules (scope, place);

ALTER TABLE threads ADD COLUMN policy TEXT NOT NULL DEFAULT 'careful';

-- A delivery that rewrites an earlier one, where the surface can edit.
ALTER TABLE deliveries ADD COLUMN edits TEXT;
CREATE INDEX deliveries_edits ON deliveries (edits) WHERE state = 'pending';
