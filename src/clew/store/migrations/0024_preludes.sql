-- What a turn's agent was told of what had happened in the thread before, byte for byte: it is stored before it is sent.
CREATE TABLE preludes (
    turn TEXT PRIMARY KEY,
    runtime TEXT NOT NULL,
    since TEXT,
    text TEXT NOT NULL,
    messages BIGINT NOT NULL,
    left_out BIGINT NOT NULL,
    at BIGINT NOT NULL
);
