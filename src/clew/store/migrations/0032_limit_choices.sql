-- What a person chose for one thread beside the settings: who takes its turns, and how it waits at a usage limit. NULL:
-- as the settings say. `fallback` has names, separated by spaces; empty: nobody.
ALTER TABLE threads ADD COLUMN fallback TEXT;
ALTER TABLE threads ADD COLUMN on_limit TEXT;
ALTER TABLE threads ADD COLUMN most_waits BIGINT;
ALTER TABLE threads ADD COLUMN quiet_hours TEXT;

-- When the usage window ends that `limit_waits` counted last.
ALTER TABLE threads ADD COLUMN limit_window BIGINT;
