-- When something last happened in a thread: a message, the end of a turn, a question, an answer, a change of status.
-- Lists are sorted by it.
ALTER TABLE threads ADD COLUMN active_at BIGINT NOT NULL DEFAULT 0;
UPDATE threads SET active_at = created_at;
UPDATE threads SET active_at = completed_at WHERE completed_at > active_at;
UPDATE threads SET active_at = (SELECT t.ended_at FROM turns t WHERE t.id = threads.last_turn)
    WHERE (SELECT t.ended_at FROM turns t WHERE t.id = threads.last_turn) > active_at;

-- The lists, by activity. `threads_active`, by id, stays: the check at every start walks it.
CREATE INDEX threads_active_by_activity ON threads (active_at, id) WHERE status NOT IN ('completed', 'cancelled');
DROP INDEX threads_history;
CREATE INDEX threads_history ON threads (active_at, id) WHERE status IN ('completed', 'cancelled');
DROP INDEX threads_suspended;
CREATE INDEX threads_suspended ON threads (active_at, id) WHERE status = 'suspended';
DROP INDEX threads_cancelled;
CREATE INDEX threads_cancelled ON threads (active_at, id) WHERE status = 'cancelled';
