-- The platform's id of the album that a message is a part of: its later parts go where the first one went.
ALTER TABLE inbox ADD COLUMN album TEXT;
CREATE INDEX inbox_album ON inbox (surface, address, album) WHERE album IS NOT NULL;

-- Where else something was said in a thread.
CREATE INDEX inbox_thread ON inbox (thread, received_at) WHERE thread IS NOT NULL;
