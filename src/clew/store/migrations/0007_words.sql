-- In which language clew speaks in a conversation: that of what was said there last.
ALTER TABLE places ADD COLUMN language TEXT;

-- Whether it was a button or a reaction: those are no messages of the platform that one could read on from.
ALTER TABLE inbox ADD COLUMN pressed BIGINT NOT NULL DEFAULT 0;

-- Strangers who were told so, each once in a while.
CREATE TABLE strangers (
    surface TEXT NOT NULL,
    id TEXT NOT NULL,
    told_at BIGINT NOT NULL,
    PRIMARY KEY (surface, id)
);
CREATE INDEX strangers_old ON strangers (told_at);
