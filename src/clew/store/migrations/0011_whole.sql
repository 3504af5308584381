-- In how many messages a gate is shown whole where it is asked; 0: it is not, and cannot be allowed there.
ALTER TABLE gates ADD COLUMN whole_in BIGINT NOT NULL DEFAULT 0;
-- A card of an earlier clew that had to leave something out says so.
UPDATE gates SET whole_in = 1 WHERE state = 'open' AND card IN (
    SELECT id FROM deliveries WHERE body NOT LIKE '% characters left out %'
);
