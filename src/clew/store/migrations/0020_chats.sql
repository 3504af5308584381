-- More settings for the next thread of a conversation.
ALTER TABLE places ADD COLUMN effort TEXT;
ALTER TABLE places ADD COLUMN policy TEXT;
