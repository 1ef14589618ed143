SELECT * FROM a NATURAL JOIN b
SELECT t.*, a.* FROM b AS t, a
SELECT * FROM (a JOIN "c d" USING (x)) JOIN b
not sql
