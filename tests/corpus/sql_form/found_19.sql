SELECT "order" ,  "der" FROM "c d"
SELECT "order" ,  "order" FROM "c d"