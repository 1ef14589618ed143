SELECT x ,  count(*) FROM "c d"x ,  count(*) FROM "c d" GROUP BY x
SELECT t(*) DESC LIMIT 3 INTERSECT SELECT "order" FROM "c d" GROUP BY "order" ORDER BY count(*)=DESC LIMIT 3