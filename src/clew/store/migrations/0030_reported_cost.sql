-- What turns cost, as their agents report it, in millionths of a US dollar; 0: no agent reported anything.
ALTER TABLE usage_ledger ADD COLUMN cost BIGINT NOT NULL DEFAULT 0;
