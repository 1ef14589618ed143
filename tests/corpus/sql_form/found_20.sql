SELECT x FROM "c d" ORDER BY x ,  y
SELECT x FROM "c d" ORDER BY x %  y