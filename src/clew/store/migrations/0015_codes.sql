-- Sentences of clew that were stored in English become codes with arguments. The rows are rewritten by store/recode.py,
-- which compares them with 0015_codes.json; a text that is not in it stays as it is. Nodes of history are not touched.
SELECT 1;
