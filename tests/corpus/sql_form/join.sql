SELECT a.y FROM a JOIN b ON a.x = b.x WHERE b."order" > 3
SELECT a.y FROM a LEFT JOIN b ON a.x = b.x
SELECT a.y FROM b, a WHERE a.x = b.x AND 3 < b."order"
