-- The parts of an answer are numbered, a copy of a question names it, and a notice that a turn was dropped names the turn.
-- Before, these were read out of the id.

UPDATE deliveries SET part = 1 WHERE kind = 'final' AND id = turn || ':final';
UPDATE deliveries SET part = CAST(substr(id, length(turn) + 8) AS BIGINT)
    WHERE kind = 'final' AND id LIKE turn || ':final:%';
UPDATE deliveries SET card = substr(id, 1, length(id) - 5) WHERE kind = 'notice' AND id LIKE turn || ':%:copy';
UPDATE deliveries SET card = substr(id, 1, length(id) - 7) WHERE kind = 'notice' AND id LIKE turn || ':%:copy:_';
UPDATE deliveries SET turn = substr(id, 1, 26)
    WHERE turn IS NULL AND id LIKE '%:dropped' AND substr(id, 1, 26) IN (SELECT id FROM turns);

DROP INDEX deliveries_unsent;
DROP INDEX deliveries_edits;
CREATE INDEX deliveries_unsent ON deliveries (turn, part) WHERE state IN ('pending', 'failed') AND kind = 'final';
CREATE INDEX deliveries_edits ON deliveries (edits) WHERE edits IS NOT NULL;
CREATE INDEX deliveries_of_turn ON deliveries (turn, created_at) WHERE kind = 'final' OR kind = 'ask';
CREATE INDEX deliveries_files ON deliveries (id) WHERE state IN ('pending', 'sending', 'failed') AND kind = 'file';
