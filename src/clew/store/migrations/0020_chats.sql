-- More settings for the next thread of a conversation.
ALTER TABLE places ADD COLUMN effort TEXT;
ALTER TABLE places ADD COLUMN policy TEXT;

-- A turn of a chat may wait a moment for more messages of the same person: until when, of whom, and of which album.
ALTER TABLE turns ADD COLUMN not_before BIGINT;
ALTER TABLE turns ADD COLUMN sender_id TEXT;
ALTER TABLE turns ADD COLUMN album TEXT;

-- The message that a delivery replies to, by the platform's id.
ALTER TABLE deliveries ADD COLUMN reply_to TEXT;
