-- The item under which an item is shown: what a sub-agent does is under the call that began it.
ALTER TABLE items ADD COLUMN parent TEXT;
