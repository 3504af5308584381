-- A file that the agent made and that is brought to a conversation, as JSON.

ALTER TABLE deliveries ADD COLUMN file TEXT;
