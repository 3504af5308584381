-- Sessions of a runtime that were begun outside clew and taken over: a thread each, and how far its history has got here.
CREATE TABLE adoptions (
    thread TEXT PRIMARY KEY,
    runtime TEXT NOT NULL,
    session TEXT NOT NULL,
    last_turn TEXT,
    adopted_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX adoptions_session ON adoptions (runtime, session);
