SELECT x FROM "c d" WHERE y  <=  ( SELECT avg(y) FROM "c d" )
SELECT x FROM "c d" WHERE y  ==  ( SELECT avg(y) FROM "c d" )