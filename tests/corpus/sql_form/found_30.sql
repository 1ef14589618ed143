SELECT "order" ,  x FROM b WHERE "order"  >  (SELECT avg("order") FROM b)
SELECT "order" ,  x FROM a WHERE "order"  >  (SELECT avg("order") FROM a)>  (SELECT avg("order") FROM b)