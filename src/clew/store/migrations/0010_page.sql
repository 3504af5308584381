-- What the page looks at: how the last day went, and where a thread is bound.
CREATE INDEX turns_ended ON turns (ended_at, started_at, queued_at, state) WHERE ended_at IS NOT NULL;
CREATE INDEX gates_closed ON gates (closed_at, asked_at, answered_at) WHERE closed_at IS NOT NULL;
CREATE INDEX bindings_thread ON bindings (thread);
