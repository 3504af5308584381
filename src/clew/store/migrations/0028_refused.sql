-- How often the runtime of a turn refused it at once, such as at a usage limit. Each time it is sent under another id,
-- so that the record of a refused attempt is not taken for that of the next one.
ALTER TABLE turns ADD COLUMN refused BIGINT NOT NULL DEFAULT 0;
