-- What a delivery is about: the gate that a card, a copy or a part of it shows, the handoff that its first message
-- completes, and of a part its card and number. Before, these were read out of the id.

ALTER TABLE deliveries ADD COLUMN gate TEXT;
ALTER TABLE deliveries ADD COLUMN handoff TEXT;
ALTER TABLE deliveries ADD COLUMN card TEXT;
ALTER TABLE deliveries ADD COLUMN part BIGINT;

UPDATE deliveries SET gate = substr(id, 1, 26) WHERE substr(id, 1, 26) IN (SELECT id FROM gates);
UPDATE deliveries SET handoff = substr(id, 1, 26) WHERE kind = 'handoff';
UPDATE deliveries SET card = substr(id, 1, length(id) - 7), part = CAST(substr(id, length(id)) AS BIGINT)
    WHERE id LIKE '%:part:_';
UPDATE deliveries SET card = substr(id, 1, length(id) - 8), part = CAST(substr(id, length(id) - 1) AS BIGINT)
    WHERE id LIKE '%:part:__';
