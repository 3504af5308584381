-- More settings for the next thread of a conversation.
ALTER TABLE places ADD COLUMN effort TEXT;
ALTER TABLE places ADD COLUMN policy TEXT;

-- A turn of a chat may wait a moment for more messages of the same person: until when, of whom, and of which album.
ALTER TABLE turns ADD COLUMN not_before BIGINT;
ALTER TABLE turns ADD COLUMN sender_id TEXT;
ALTER TABLE turns ADD COLUMN album TEXT;

-- The message that a delivery replies to, by the platform's id.
ALTER TABLE deliveries ADD COLUMN reply_to TEXT;

-- The new text of a message that was edited while its turn ran, until its author sends it.
CREATE TABLE edits (
    surface TEXT NOT NULL,
    address TEXT NOT NULL,
    message_id TEXT NOT NULL,
    sender_id TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (surface, address, message_id)
);
