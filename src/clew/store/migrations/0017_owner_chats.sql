-- The person whose direct chat this is, if nobody said /home: then it is the home only as long as nothing else is.
ALTER TABLE homes ADD COLUMN owner TEXT;
