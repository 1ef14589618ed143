SELECT x +  x FROM b GROUP BY x ,   1
 1