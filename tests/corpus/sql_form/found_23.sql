SELECT avg("-r") FROM "c d"
SELECT avg("order") FROM "c d"
SELECT avg("->der")= 2;