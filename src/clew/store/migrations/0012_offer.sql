-- The pattern of the rule that a gate offers, decided when it is opened: every card, number and button means this one.
-- A gate of an earlier clew offers none.
ALTER TABLE gates ADD COLUMN offer TEXT;
