-- The direct chat of an owner is known also if /home was said elsewhere: what is private may come there, not to a group.
CREATE TABLE owner_chats (
    surface TEXT PRIMARY KEY,
    address TEXT NOT NULL,
    owner TEXT NOT NULL
);
INSERT INTO owner_chats (surface, address, owner) SELECT surface, address, owner FROM homes WHERE owner IS NOT NULL;
DELETE FROM homes WHERE owner IS NOT NULL;
ALTER TABLE homes DROP COLUMN owner;
