-- A turn knows its runtime from the beginning, and the part that it plays: '' is the thread's only role.
ALTER TABLE turns ADD COLUMN role TEXT NOT NULL DEFAULT '';
UPDATE turns SET runtime = (SELECT t.runtime FROM threads t WHERE t.id = turns.thread) WHERE runtime IS NULL;

-- Continuity is kept by thread, runtime and role: how the session began, and the thread's head after its last turn there.
CREATE TABLE continuity_by_role (
    thread TEXT NOT NULL,
    runtime TEXT NOT NULL,
    role TEXT NOT NULL DEFAULT '',
    data TEXT,
    fork_data TEXT,
    fork_turn TEXT,
    began TEXT,
    seen TEXT,
    status TEXT,
    used_at BIGINT,
    restarts BIGINT NOT NULL DEFAULT 0,
    trouble TEXT,
    PRIMARY KEY (thread, runtime, role)
);
INSERT INTO continuity_by_role (thread, runtime, data, fork_data, fork_turn, seen, status, used_at, restarts, trouble)
SELECT thread, runtime, data, fork_data, fork_turn,
    (SELECT n.node FROM turns n WHERE n.thread = b.thread AND n.runtime = b.runtime AND n.runtime_turn IS NOT NULL
        AND n.node IS NOT NULL AND b.data IS NOT NULL ORDER BY n.seq DESC LIMIT 1),
    status, used_at, restarts, trouble
FROM continuity b;
DROP TABLE continuity;
ALTER TABLE continuity_by_role RENAME TO continuity;
