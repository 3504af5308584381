-- The policy under which a session's newest turn ran, if it may differ from the thread's: under `sandbox` a rule can make
-- a turn `careful`.
ALTER TABLE continuity ADD COLUMN policy TEXT;
