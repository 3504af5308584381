-- What a request with an Idempotency-Key was answered, for a day.
CREATE TABLE answers (
    key TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    status BIGINT NOT NULL,
    media_type TEXT NOT NULL,
    body TEXT NOT NULL,
    at BIGINT NOT NULL
);
CREATE INDEX answers_old ON answers (at);
