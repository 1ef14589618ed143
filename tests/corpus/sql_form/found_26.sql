SELECT x FROM b WHERE "order"  =  1999 OR "or€der"  =  2000
SELECT x FROM a WHERE "order"  =  1999 OR "order"  =  2000