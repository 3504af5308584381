-- The order of the numbered answers of an approval: 0: no comes last but one, as on cards of earlier versions that are
-- still on somebody's screen; 1: no is always 2.
ALTER TABLE gates ADD COLUMN choice_order BIGINT NOT NULL DEFAULT 0;
