SELECT "order" FROM b WHERE "order" NOT IN (SELECT "order" FROM "c d")
SELECT "order" FROM a WHERE "order" NOT IN (SELECT "or" FROM "c d")
SELECT avg(x) FROM b