-- How a runtime stands to a thread: how it came to its newest turn, when, how often it had to come back, what was wrong.
ALTER TABLE continuity ADD COLUMN status TEXT;
ALTER TABLE continuity ADD COLUMN used_at BIGINT;
ALTER TABLE continuity ADD COLUMN restarts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE continuity ADD COLUMN trouble TEXT;
