-- A thread that is parked at a usage limit: when it goes on, and how often in a row it has waited. While it is idle, a
-- `wake_at` says that its next turn may try the account that was at its limit.
ALTER TABLE threads ADD COLUMN wake_at BIGINT;
ALTER TABLE threads ADD COLUMN limit_waits BIGINT NOT NULL DEFAULT 0;
CREATE INDEX threads_parked ON threads (wake_at) WHERE suspended_by = 'limit';

-- The runtimes that could not begin this turn, separated by spaces.
ALTER TABLE turns ADD COLUMN tried TEXT;

-- What is known of the usage limits of each runtime's account: one row for each of its windows.
CREATE TABLE limits (
    runtime TEXT NOT NULL,
    name TEXT NOT NULL,
    used DOUBLE PRECISION,
    resets_at BIGINT,
    status TEXT NOT NULL,
    minutes BIGINT,
    seen_at BIGINT NOT NULL,
    asked_by TEXT, -- the thread whose turn asks the account again after a refusal, and since when
    asked_at BIGINT,
    PRIMARY KEY (runtime, name)
);
