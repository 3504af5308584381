-- What turns have used, added up when each ends: by scope (day, account, person, thread) and day; an empty day is the
-- whole life of a thread. Limits that a person set or raised, and turns that a person let run above a budget.
CREATE TABLE usage_ledger (
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    day TEXT NOT NULL,
    runtime TEXT NOT NULL,
    model TEXT NOT NULL,
    turns BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    cached_input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    time BIGINT NOT NULL, -- milliseconds
    PRIMARY KEY (scope, name, day, runtime, model)
);
CREATE INDEX usage_ledger_by_day ON usage_ledger (scope, day);

CREATE TABLE budget_limits (
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    day TEXT NOT NULL,
    measure TEXT NOT NULL,
    value BIGINT NOT NULL,
    set_by TEXT NOT NULL,
    set_at BIGINT NOT NULL,
    PRIMARY KEY (scope, name, day, measure)
);

CREATE TABLE budget_passes (
    turn TEXT PRIMARY KEY,
    set_by TEXT NOT NULL,
    set_at BIGINT NOT NULL
);
